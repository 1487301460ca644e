"""Results on disk: one JSON file for each benchmark, with the machine that made it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

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
        "packages": {name: version(name) for name in PACKAGES},
        "processor": processor(),
        "cores": os.cpu_count(),
        "device": graphics() or processor(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "date": time.strftime("%Y-%m-%d"),
    }


def version(package: str) -> str | None:
    """Returns the version of a package, if it is installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """Returns the name of the processor; its kind if the system does not name it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def graphics() -> str | None:
    """Returns the name of the first GPU that TensorFlow sees."""
    import tensorflow as tf

    devices = tf.config.get_visible_devices("GPU")
    return str(tf.config.experimental.get_device_details(devices[0]).get("device_name", "GPU")) if devices else None
