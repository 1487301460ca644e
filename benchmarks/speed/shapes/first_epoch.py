"""The first epoch of a small `fit` in a new process: mostly tracing and compiling."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from benchmarks.speed.losses import BASE
from benchmarks.speed.measurements import in_own_process
from benchmarks.speed.shapes.plan import AREA, EVERY, ONE, SEVERAL
from benchmarks.speed.timing import summary, timed

NAMES = (BASE, ONE, SEVERAL, AREA)
LIMITS = {False: (1.4, 1.7, 1.8), True: (1.2, 1.4, 1.6)}  # of the three losses, by `jit_compile`


def run(rounds: int) -> dict[str, Any]:
    """Returns the times of all losses in turn, and their ratios to cross-entropy, uncompiled and compiled."""
    found: dict[str, Any] = {}
    for compiled in LIMITS:
        times: dict[str, Any] = {name: [] for name in NAMES}
        for _ in range(rounds):
            for name in NAMES:
                times[name].append(in_own_process(first_epoch, (name, compiled)))
        found[title(compiled)] = {name: summary(times[name], times[BASE]) for name in NAMES}
    return found


def title(compiled: bool) -> str:
    """The heading of its table."""
    return f"first epoch in a new process, jit_compile={compiled}"


def first_epoch(case: tuple[str, bool]) -> list[float]:
    """Returns the wall and processor seconds of ten batches of 100, from a model that is built but not traced."""
    name, compiled = case
    random = np.random.default_rng(0)
    x, y = random.normal(size=(1000, 20)).astype("float32"), (random.random((1000, 1)) < 0.2).astype("float32")
    loss = EVERY[name].make(**EVERY[name].arguments)
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1, "sigmoid")])
    model.compile("adam", loss=loss, jit_compile=compiled)
    return timed(lambda: model.fit(x, y, 100, verbose=0))
