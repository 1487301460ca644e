"""What is measured: functions of a group of cases, or of one case in a separate process."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import tensorflow as tf

from benchmarks.speed.cases import Case, Group
from benchmarks.speed.timing import Rounds, Run, Times, interleaved


def choose_device(name: str) -> None:
    """Hides the GPUs for `"cpu"`, also from processes that are started later; refuses `"gpu"` if there is none."""
    if name == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        tf.config.set_visible_devices([], "GPU")
    if name == "gpu" and not tf.config.list_physical_devices("GPU"):
        raise SystemExit("--device gpu needs a GPU that TensorFlow sees. Received: none")


def step_times(group: Group, rounds: Rounds) -> dict[str, Times]:
    """Returns the times of a group's cases that can run, measured in turn."""
    steps = {name: case.step() for name, case in group.cases.items()}
    return interleaved({name: step for name, step in steps.items() if step is not None}, group.rounds or rounds)


def memory(case: Case) -> float | None:
    """Returns the peak in float32 arrays as large as the labels, one of which is the gradient; `None` if unknown."""
    step = case.step()
    needed = peak_memory(step) if step else None
    if needed is None or needed < 4 * case.batch.size:
        return None  # less than the gradient alone: an allocator kept freed memory, and the peak was not seen
    return round(needed / (4 * case.batch.size), 2)


def in_own_process(measurement: Callable[[Any], Any], case: Any) -> Any:
    """Returns a measurement in a new process, where nothing else was traced, compiled or allocated.

    oneDNN is off: its allocator keeps freed memory, which hides the peak, and compiled losses do not need it.
    """
    with (
        mock.patch.dict(os.environ, TF_ENABLE_ONEDNN_OPTS="0"),
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        return pool.submit(measurement, case).result()


def peak_memory(run: Run, repetitions: int = 3) -> int | None:
    """Returns the bytes that a warmed-up call needs on top of what is already allocated; `None` except on Linux."""
    run()
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    except OSError:
        return None
    before = _status("VmRSS")
    for _ in range(repetitions):
        run()
    return max(_status("VmHWM") - before, 0)


def resident_memory() -> int | None:
    """Returns the bytes that the process has in memory; `None` except on Linux."""
    return _status("VmRSS") if Path("/proc/self/status").exists() else None


def _status(field: str) -> int:
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field))
    return 1024 * int(line.split()[1])
