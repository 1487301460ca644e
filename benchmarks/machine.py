"""What a benchmark ran on: versions of packages, and the processor."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path


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
