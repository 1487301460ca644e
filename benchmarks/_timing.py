"""Shared by the benchmarks: interleaved timing, ratios with spread, peak memory, and what machine it was."""

from __future__ import annotations

import ctypes
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

Run = Callable[[], Any]
PACKAGES = ("keras", "tensorflow", "numpy", "torch", "torch-btg", "ap-perf")


def interleaved(
    cases: dict[str, Run], *, seconds: float, most: int = 200, least: int = 5
) -> dict[str, list[list[float]]]:
    """Times all cases in turn, again and again, so that what else the machine does meets them all alike.

    Returns:
        For each case its (wall, processor) seconds in each round.
    """
    for run in cases.values():
        run(), run()  # traces, compiles, and fills the caches
    times: dict[str, list[list[float]]] = {name: [] for name in cases}
    start = time.perf_counter()
    for done in range(most):
        if done >= least and time.perf_counter() - start > seconds:
            break
        for name, run in cases.items():
            times[name].append(timed(run))
    return times


def timed(run: Run) -> list[float]:
    """Wall and processor seconds of one call."""
    wall, processor = time.perf_counter(), time.process_time()
    run()
    return [time.perf_counter() - wall, time.process_time() - processor]


def summary(times: list[list[float]], base: list[list[float]]) -> dict[str, Any]:
    """Medians and quartiles of the time, and of the ratio to `base` in the same round."""
    result: dict[str, Any] = {"rounds": len(times)}
    for k, clock in enumerate(("wall", "processor")):
        seconds = [t[k] for t in times]
        ratios = [t[k] / max(b[k], 1e-9) for t, b in zip(times, base)]
        result[clock] = {"ms": _quartiles([1e3 * s for s in seconds]), "best_ms": 1e3 * min(seconds)}
        result[clock]["ratio"] = _quartiles(ratios)
        result[clock]["best_ratio"] = min(seconds) / max(min(b[k] for b in base), 1e-9)
    return result


def _quartiles(values: list[float]) -> list[float]:
    return [float(f"{q:.4g}") for q in statistics.quantiles(values, n=4, method="inclusive")]


def peak_memory(run: Run, repetitions: int = 3) -> int:
    """Bytes that a warmed-up call needs on top of what lives already; 0 where the system does not tell (not Linux)."""
    run()
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    except OSError:
        return 0
    before = _status("VmRSS")
    for _ in range(repetitions):
        run()
    return max(_status("VmHWM") - before, 0)


def _status(field: str) -> int:
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field))
    return 1024 * int(line.split()[1])


def machine() -> dict[str, Any]:
    """Versions, processor, and how busy the machine is."""
    return {
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_at_start": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "date": time.strftime("%Y-%m-%d"),
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def write(path: Path, results: dict[str, Any]) -> None:
    """Writes what there is so far."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def progress(items: Iterable[Any], label: str) -> Iterator[Any]:
    """A progress bar, if tqdm is there."""
    items = list(items)
    try:
        from tqdm import tqdm
    except ImportError:
        for k, item in enumerate(items):
            print(f"{label} {k + 1}/{len(items)}: {item}", flush=True)
            yield item
        return
    yield from tqdm(items, desc=label)
