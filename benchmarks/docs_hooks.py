"""Hooks of mkdocs: the version beside the site's name, and the names that packages re-export on the API page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def on_config(config: Any) -> Any:
    """Adds the version, which is stated only in `keras_softsets/__init__.py`, to the name that every page shows."""
    text = (ROOT / "keras_softsets/__init__.py").read_text()
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found, "keras_softsets/__init__.py must state __version__"
    config["site_name"] += f" {found.group(1)}"
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lists the members of each package: mkdocstrings leaves out what is imported from private modules."""
    return re.sub(r"^::: (keras_softsets\.\w+)$", lambda found: with_members(found.group(1)), markdown, flags=re.M)


def with_members(module: str) -> str:
    """Returns the directive for a module, with the names that its `__init__.py` re-exports as `X as X`."""
    path = ROOT / module.replace(".", "/") / "__init__.py"
    names = re.findall(r"^from \S+ import (\w+) as \1$", path.read_text(), re.MULTILINE) if path.exists() else []
    return f"::: {module}" + (f"\n    options:\n      members: [{', '.join(names)}]" if names else "")
