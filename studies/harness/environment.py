"""What the results were measured with; written beside them by every run."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from pathlib import Path

from benchmarks.speed import results

FILE = "environment.json"
_PACKAGES = ("tensorflow", "keras", "keras-softsets", "numpy", "scikit-learn")
_ADVERSARIAL = ("ap-perf", "torch")  # only if they are installed


def read(folder: Path) -> dict[str, str]:
    """Returns what was written to `folder`; an empty dict if nothing was."""
    path = folder / FILE
    return json.loads(path.read_text()) if path.exists() else {}


def write(folder: Path) -> None:
    """Writes versions and the machine to `folder`; keeps the versions of packages that only an earlier run had."""
    earlier = {name: version for name, version in read(folder).items() if name in _ADVERSARIAL}
    now = {name: version for name in _ADVERSARIAL if (version := results.version(name))}
    facts = {"Python": platform.python_version()}
    facts |= {name: importlib.metadata.version(name) for name in _PACKAGES} | earlier | now
    facts["machine:"] = f"{os.cpu_count()} CPU cores, {results.processor()}, shared with other jobs"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(json.dumps(facts, indent=2) + "\n")
