"""A hook of mkdocs: the site's name carries the version, which is written in `keras_softsets/__init__.py` alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1] / "keras_softsets/__init__.py"


def on_config(config: Any) -> Any:
    """Adds the version to the name that every page shows."""
    found = re.search(r'^__version__ = "(.+)"$', PACKAGE.read_text(), re.MULTILINE)
    assert found, f"{PACKAGE} must state __version__"
    config["site_name"] += f" {found.group(1)}"
    return config
