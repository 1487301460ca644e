"""Interleaved timing, and ratios with their spread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Run = Callable[[], Any]
Times = list[list[float]]  # for each round the (wall, processor) seconds


@dataclass(frozen=True)
class Rounds:
    """How often to time: a number of seconds, with a lower and an upper bound on the number of rounds."""

    seconds: float
    least: int = 5
    most: int = 500


def interleaved(runs: Mapping[str, Run], rounds: Rounds) -> dict[str, Times]:
    """Times all runs in turn, again and again, so that other load on the machine affects all of them equally."""
    for run in runs.values():
        run(), run()  # traces, compiles, and fills the caches
    times: dict[str, Times] = {name: [] for name in runs}
    start = time.perf_counter()
    for done in range(rounds.most):
        if done >= rounds.least and time.perf_counter() - start > rounds.seconds:
            break
        for name, run in runs.items():
            times[name].append(timed(run))
    return times


def timed(run: Run) -> list[float]:
    """Returns the wall and processor seconds of one call."""
    wall, processor = time.perf_counter(), time.process_time()
    run()
    return [time.perf_counter() - wall, time.process_time() - processor]


def summary(times: Times, base: Times) -> dict[str, Any]:
    """Returns medians and quartiles of the time, and of the ratio to `base` in the same round."""
    result: dict[str, Any] = {"rounds": len(times)}
    for k, clock in enumerate(("wall", "processor")):
        seconds = [t[k] for t in times]
        ratios = [t[k] / max(b[k], 1e-9) for t, b in zip(times, base)]
        result[clock] = {"ms": quartiles([1e3 * s for s in seconds]), "best_ms": 1e3 * min(seconds)}
        result[clock]["ratio"] = quartiles(ratios)
        result[clock]["best_ratio"] = min(seconds) / max(min(b[k] for b in base), 1e-9)
    return result


def quartiles(values: list[float]) -> list[float]:
    """Returns the first quartile, the median and the third, with four digits."""
    return [float(f"{q:.4g}") for q in statistics.quantiles(values, n=4, method="inclusive")]
