"""Five scores of the same cells in `fit`: as five metrics, and as one `metrics.Scores`."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from benchmarks.speed.timing import Rounds, Run, interleaved, summary
from keras_softsets import metrics

NONE, FIVE, SHARED = "no metric", "five metrics", "metrics.Scores of five"
_SCORES = ("f1", "precision", "recall", "accuracy", "specificity")
_MAKE: dict[str, Any] = {
    NONE: lambda: [],
    FIVE: lambda: [metrics.SoftSetMetric(score) for score in _SCORES],
    SHARED: lambda: [metrics.Scores(list(_SCORES))],
}


def run(samples: int, rounds: Rounds) -> dict[str, Any]:
    """Returns the times of an epoch, and their ratios to one without metrics."""
    random = np.random.default_rng(0)
    x = random.normal(size=(samples, 20)).astype("float32")
    y = (random.random((samples, 1)) < 0.2).astype("float32")
    times = interleaved({name: _epoch(name, x, y) for name in _MAKE}, rounds)
    return {name: summary(found, times[NONE]) for name, found in times.items()}


def _epoch(name: str, x: np.ndarray, y: np.ndarray) -> Run:
    model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(1, "sigmoid")])
    model.compile("adam", "binary_crossentropy", metrics=_MAKE[name]())
    return lambda: model.fit(x, y, 256, verbose=0)
