"""Speed of training: epochs of the paper's MLP at credit-card size with different losses and metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from tqdm import tqdm

from benchmarks.speed import timing
from benchmarks.speed.losses import NINE
from benchmarks.speed.results import Results, made_on
from keras_softsets import SoftAUROC, SoftF1, confusion_matrix, metrics, models, scores

POSITIVE_RATE = 0.0017
GOAL = 0.6
MOST = 1.15
BCE, F1, AUROC = "BinaryCrossentropy", "SoftF1", "SoftAUROC"
WITH_AUC, WITH_NINE = "SoftF1, keras.metrics.AUC", "SoftF1, metrics.F1 at nine thresholds"
SETUPS: dict[str, Callable[[], dict[str, Any]]] = {  # what `compile` is given
    BCE: lambda: {"loss": keras.losses.BinaryCrossentropy()},
    F1: lambda: {"loss": SoftF1()},
    AUROC: lambda: {"loss": SoftAUROC()},
    WITH_AUC: lambda: {"loss": SoftF1(), "metrics": [keras.metrics.AUC()]},
    WITH_NINE: lambda: {"loss": SoftF1(), "metrics": [metrics.F1(threshold=NINE)]},
}
TARGETS = {
    "epoch of SoftF1 against BinaryCrossentropy": (F1, BCE),
    "nine-threshold metric against AUC": (WITH_NINE, WITH_AUC),
}


class Scale(NamedTuple):
    """How much is trained."""

    samples: int = 182_000
    batch_size: int = 1024
    epochs: int = 12


QUICK = Scale(samples=640, batch_size=64, epochs=2)


def run(scale: Scale) -> Results:
    """Trains all setups; returns their times, their ratios, and how soon they reached the goal."""
    made = made_on()
    runs = train(scale)
    results: Results = {"machine": made, "goal": GOAL, "setups": {}, "targets": {}}
    for setup, found in runs.items():
        results["setups"][setup] = timing.summary(found["times"], runs[BCE]["times"])
        results["setups"][setup] |= {"validation_f1": found["f1"], "seconds_to_goal": seconds_to(GOAL, found)}
    for name, (ours, other) in TARGETS.items():
        results["targets"][name] = timing.summary(runs[ours]["times"], runs[other]["times"])
    return results


def train(scale: Scale) -> dict[str, dict[str, Any]]:
    """One epoch of each setup in turn, so that all see the same machine load; validation is not timed."""
    n, batch_size = scale.samples, scale.batch_size
    x, x_val, y, y_val = (part for a in data(n + n // 4) for part in (a[:n], a[n:]))
    networks = {setup: model(setup) for setup in SETUPS}
    for network in networks.values():  # traces and compiles, for the full and for the last, partial batch
        weights, few = network.get_weights(), batch_size + n % batch_size
        network.fit(x[:few], y[:few], batch_size, verbose=0)
        network.set_weights(weights)
    runs: dict[str, dict[str, Any]] = {setup: {"times": [], "f1": []} for setup in SETUPS}
    for _ in tqdm(range(scale.epochs), "epochs"):
        for setup, network in networks.items():
            clock = timing.timed(lambda network=network: network.fit(x, y, batch_size, verbose=0))
            runs[setup]["times"].append(clock)
            cells = confusion_matrix(y_val, network.predict(x_val, 8192, verbose=0), heaviside="step")
            runs[setup]["f1"].append(round(float(scores.f1(cells)[0, 0]), 4))
    return runs


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Made-up transactions: 29 features, one in six hundred is fraud, which moves six of them by two."""
    rng = np.random.default_rng(0)
    y = (rng.random((n, 1)) < POSITIVE_RATE).astype("float32")
    x = rng.normal(size=(n, 29)).astype("float32")
    x[:, :6] += 2 * y
    return x, y


def model(setup: str) -> keras.Model:
    """Returns the compiled network of a setup, with the same initial weights as the others."""
    keras.utils.set_random_seed(0)
    network = models.mlp(29, positive_rate=POSITIVE_RATE)
    network.compile(keras.optimizers.Adam(1e-3), **SETUPS[setup]())
    return network


def seconds_to(goal: float, run: dict[str, Any]) -> float | None:
    """Training time until the validation F1 first reached the goal."""
    for k, value in enumerate(run["f1"]):
        if value >= goal:
            return round(sum(wall for wall, _ in run["times"][: k + 1]), 2)
    return None
