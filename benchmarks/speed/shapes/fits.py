"""What is timed in whole fits: the first epoch in a new process, and scores of the same cells; and the tuner."""

from __future__ import annotations

import time
from typing import Any

import keras
import numpy as np

from benchmarks.speed import measurements
from benchmarks.speed.cases import BASE, Batch
from benchmarks.speed.shapes.plan import AREA, EVERY, ONE, SEVERAL
from benchmarks.speed.timing import Rounds, Run, interleaved, summary, timed
from keras_softsets import metrics, tune_threshold

NAMES = (BASE, ONE, SEVERAL, AREA)
FIRST_EPOCH_LIMITS = {False: (1.4, 1.7, 1.8), True: (1.2, 1.4, 1.6)}  # of the three losses, by `jit_compile`


def first_epochs(rounds: int) -> dict[str, Any]:
    """Returns the times of all losses in turn, and their ratios to cross-entropy, uncompiled and compiled."""
    found: dict[str, Any] = {}
    for compiled in FIRST_EPOCH_LIMITS:
        times: dict[str, Any] = {name: [] for name in NAMES}
        for _ in range(rounds):
            for name in NAMES:
                times[name].append(measurements.in_own_process(first_epoch, (name, compiled)))
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


METRICS_LIMITS = {"five metrics": 1.2, "metrics.Scores of five": 1.15}
TUNER_LIMITS = {"seconds": 3.0, "GB": 1.0}
NONE, FIVE, SHARED = "no metric", "five metrics", "metrics.Scores of five"
_SCORES = ("f1", "precision", "recall", "accuracy", "specificity")
_MAKE: dict[str, Any] = {
    NONE: lambda: [],
    FIVE: lambda: [metrics.SoftSetMetric(score) for score in _SCORES],
    SHARED: lambda: [metrics.Scores(list(_SCORES))],
}


def five_metrics(samples: int, rounds: Rounds) -> dict[str, Any]:
    """Returns the times of an epoch, and their ratios to one without metrics."""
    random = np.random.default_rng(0)
    x = random.normal(size=(samples, 20)).astype("float32")
    y = (random.random((samples, 1)) < 0.2).astype("float32")
    times = interleaved({name: _epoch(name, x, y) for name in _MAKE}, rounds)
    return {name: summary(found, times[NONE]) for name, found in times.items()}


def tuner(samples: int) -> dict[str, Any]:
    """Returns the seconds and the gigabytes that `tune_threshold` takes, in a process of its own."""
    return measurements.in_own_process(_tuned, samples)


def _tuned(samples: int) -> dict[str, Any]:
    y, p = (x[:, 0] for x in Batch(samples).arrays())
    tune_threshold(y[:1000], p[:1000])
    seconds: list[float] = []

    def tune() -> float:
        start = time.perf_counter()
        score = tune_threshold(y, p).score
        seconds.append(time.perf_counter() - start)
        return float(score)

    needed = measurements.peak_memory(tune, repetitions=1)
    found = {"samples": samples, "seconds": round(min(seconds), 2)}
    return found if needed is None else {**found, "GB": round(needed / 2**30, 2)}


def _epoch(name: str, x: np.ndarray, y: np.ndarray) -> Run:
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(1, "sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=_MAKE[name]())
    return lambda: model.fit(x, y, 256, verbose=0)
