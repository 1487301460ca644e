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
    """Returns what the processor is called; its kind where the system does not say."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def graphics() -> str | None:
    """Returns what the first GPU that TensorFlow sees is called."""
    import tensorflow as tf

    devices = tf.config.get_visible_devices("GPU")
    return str(tf.config.experimental.get_device_details(devices[0]).get("device_name", "GPU")) if devices else None
