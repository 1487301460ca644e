"""The losses that `loss_speed.py` compares, by name, each as forward + gradient on one batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_softsets import LinearHeaviside, SigmoidHeaviside, SoftF1, TabulatedHeaviside

NINE = [k / 10 for k in range(1, 10)]
MANY = [k / 100 for k in range(1, 100)]
UNEVEN = [0.013, 0.0971, 0.2017, 0.31, 0.4423, 0.5551, 0.6713, 0.8117, 0.953]
BASE = "Keras BinaryCrossentropy"

LOSSES: dict[str, Callable[[], keras.losses.Loss]] = {
    BASE: keras.losses.BinaryCrossentropy,
    "Keras Dice": keras.losses.Dice,
    "linear, 1 threshold": SoftF1,
    "linear, 9 thresholds": lambda: SoftF1(threshold=NINE),
    "linear, 9 uneven thresholds": lambda: SoftF1(threshold=UNEVEN),
    "linear, 99 thresholds": lambda: SoftF1(threshold=MANY),
    "sigmoid, 1 threshold": lambda: SoftF1(heaviside=SigmoidHeaviside()),
    "sigmoid, 9 thresholds": lambda: SoftF1(threshold=NINE, heaviside=SigmoidHeaviside()),
    "sigmoid, 99 thresholds": lambda: SoftF1(threshold=MANY, heaviside=SigmoidHeaviside()),
    "tabulated, 1 threshold": lambda: SoftF1(heaviside=TabulatedHeaviside(LinearHeaviside())),
    "tabulated, 9 thresholds": lambda: SoftF1(threshold=NINE, heaviside=TabulatedHeaviside(LinearHeaviside())),
    "tabulated, 99 thresholds": lambda: SoftF1(threshold=MANY, heaviside=TabulatedHeaviside(LinearHeaviside())),
}


def batch(n: int, *, weighted: bool = False, soft: bool = False) -> list[np.ndarray]:
    """Labels (10 % positive, or smoothed), probabilities and perhaps weights, of shape (n, 1)."""
    rng = np.random.default_rng(0)
    y = (rng.random((n, 1)) < 0.1).astype("float32")
    p = np.clip(rng.beta(1, 3, (n, 1)) + 0.2 * y, 0, 1).astype("float32")
    w = [rng.uniform(0.5, 1.5, (n, 1)).astype("float32")] if weighted else []
    return [0.9 * y + 0.05 if soft else y, p, *w]


def runner(name: str, arrays: list[np.ndarray], *, compiled: bool) -> Callable[[], Any]:
    """One training step's share of a loss: its value and its gradient in p, waited for."""
    loss = LOSSES[name]()

    @tf.function(jit_compile=compiled)
    def step(y: Any, p: Any, *w: Any) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            tape.watch(p)
            value = loss(y, p, *w)
        return value, tape.gradient(value, p)

    tensors = [tf.constant(x) for x in arrays]

    def run() -> float:
        value, _ = step(*tensors)
        return float(value)  # on a CPU the gradient is ready as well

    return run
