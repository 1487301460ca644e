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
