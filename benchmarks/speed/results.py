"""Results on disk: one JSON file for each benchmark, with the machine that made it."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import machine

FOLDER = Path(__file__).parents[1] / "results"
PACKAGES = ("keras", "tensorflow", "numpy", "torch", "torch-btg", "ap-perf")
Results = dict[str, Any]


def read(name: str, folder: Path = FOLDER) -> Results:
    """Returns the results of a benchmark."""
    return json.loads((folder / f"{name}.json").read_text())


def write(name: str, results: Results, folder: Path = FOLDER) -> None:
    """Writes the results of a benchmark."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")


def made_on() -> dict[str, Any]:
    """Returns versions, the processor, and how busy the machine is."""
    return {
        "command": " ".join(["python -m benchmarks.speed", *sys.argv[1:]]),
        "python": platform.python_version(),
        "packages": {name: machine.version(name) for name in PACKAGES},
        "processor": machine.processor(),
        "cores": os.cpu_count(),
        "device": machine.graphics() or machine.processor(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "date": time.strftime("%Y-%m-%d"),
    }
