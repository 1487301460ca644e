"""The losses that are compared, by name, each as forward + gradient on one batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import keras
import tensorflow as tf

from benchmarks.speed.batch import Batch
from benchmarks.speed.timing import Run
from keras_softsets import LinearHeaviside, SigmoidHeaviside, SoftF1, TabulatedHeaviside

NINE = [k / 10 for k in range(1, 10)]
MANY = [k / 100 for k in range(1, 100)]
UNEVEN = [0.013, 0.0971, 0.2017, 0.31, 0.4423, 0.5551, 0.6713, 0.8117, 0.953]
BASE = "Keras BinaryCrossentropy"


@dataclass(frozen=True)
class Loss:
    """A Keras loss with its arguments.

    Attributes:
        name: What tables call it.
        make: Its class.
        arguments: What its class is called with.
    """

    name: str
    make: Callable[..., keras.losses.Loss]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def step(self, batch: Batch, compiled: bool) -> Run:
        """Returns the loss's share of a training step: its value and its gradient with respect to p, waited for."""
        loss = self.make(**self.arguments)

        @tf.function(jit_compile=compiled)
        def step(y: Any, p: Any, *w: Any) -> tuple[Any, Any]:
            with tf.GradientTape() as tape:
                tape.watch(p)
                value = loss(y, p, *w)
            return value, tape.gradient(value, p)

        tensors = [tf.constant(x) for x in batch.arrays()]

        def run() -> float:
            value = float(step(*tensors)[0])  # on a CPU the gradient is ready as well
            if tf.config.list_logical_devices("GPU"):
                tf.test.experimental.sync_devices()
            return value

        return run


_SIGMOID, _TABLE = SigmoidHeaviside(), TabulatedHeaviside(LinearHeaviside())

LOSSES = {
    loss.name: loss
    for loss in (
        Loss(BASE, keras.losses.BinaryCrossentropy),
        Loss("Keras Dice", keras.losses.Dice),
        Loss("linear, 1 threshold", SoftF1),
        Loss("linear, 9 thresholds", SoftF1, {"threshold": NINE}),
        Loss("linear, 9 uneven thresholds", SoftF1, {"threshold": UNEVEN}),
        Loss("linear, 99 thresholds", SoftF1, {"threshold": MANY}),
        Loss("sigmoid, 1 threshold", SoftF1, {"heaviside": _SIGMOID}),
        Loss("sigmoid, 9 thresholds", SoftF1, {"heaviside": _SIGMOID, "threshold": NINE}),
        Loss("sigmoid, 99 thresholds", SoftF1, {"heaviside": _SIGMOID, "threshold": MANY}),
        Loss("tabulated, 1 threshold", SoftF1, {"heaviside": _TABLE}),
        Loss("tabulated, 9 thresholds", SoftF1, {"heaviside": _TABLE, "threshold": NINE}),
        Loss("tabulated, 99 thresholds", SoftF1, {"heaviside": _TABLE, "threshold": MANY}),
    )
}


def named(*names: str) -> tuple[Loss, ...]:
    """Returns losses by their names."""
    return tuple(LOSSES[name] for name in names)
