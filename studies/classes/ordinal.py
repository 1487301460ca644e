"""Baselines for classes with an order: one number for each sample, cut into grades.

Both heads end in logits, so that they are decided like a softmax. For regression these are -(f - k)^2 / 2: the largest
is that of the grade nearest to f, and offsets move the points at which f is cut.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops


class Grades(keras.layers.Layer):
    """Logits whose argmax is the nearest grade, from a prediction of the grade itself."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes = classes

    def call(self, grade: Any) -> Any:
        """Returns (samples, classes)."""
        return -ops.square(grade - ops.arange(self.classes, dtype=grade.dtype)) / 2


class CumulativeLink(keras.layers.Layer):
    """Log-probabilities of grades: P(grade <= k) = sigmoid(b_k - f), with b_0 < b_1 < ..."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes = classes

    def build(self, shape: Any) -> None:
        """Makes the first cut and the logarithms of the distances between cuts."""
        self.cuts = self.add_weight((self.classes - 1,), "zeros", name="cuts")
        self.cuts.assign(np.append(1 - self.classes / 2, np.zeros(self.classes - 2)))

    def call(self, f: Any) -> Any:
        """Returns (samples, classes)."""
        cuts = ops.convert_to_tensor(self.cuts)
        cuts = ops.cumsum(ops.concatenate([cuts[:1], ops.exp(cuts[1:])]))
        below = ops.pad(ops.sigmoid(cuts - f), ((0, 0), (1, 0)))
        above = ops.pad(below[:, 1:], ((0, 0), (0, 1)), constant_values=1.0)
        return ops.log(ops.maximum(above - below, 1e-7))


def squared_error(y_true: Any, logits: Any) -> Any:
    """The squared error of the grade that `Grades` was given: f = logits[1] - logits[0] + 1/2."""
    grade = logits[:, 1] - logits[:, 0] + 0.5
    return ops.square(ops.cast(ops.reshape(y_true, ops.shape(grade)), grade.dtype) - grade)


HEADS = {"regression": Grades, "cumulative": CumulativeLink}


def network_end(method: str, classes: int) -> list[keras.layers.Layer]:
    """Returns the last layers for a method: of an ordinal one, which end in logits, or a softmax."""
    if method in HEADS:
        return [keras.layers.Dense(1), HEADS[method](classes)]
    return [keras.layers.Dense(classes, "softmax")]


def loss(method: str) -> Any:
    """Returns what an ordinal method is trained on."""
    if method == "regression":
        return squared_error
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)
