"""A `Batch`: how many samples and classes, with or without weights and soft labels; and its arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Batch:
    """A kind of batch.

    Attributes:
        samples: Number of samples.
        classes: Number of classes; arrays have the shape (samples, classes).
        weighted: Whether samples have weights.
        soft_labels: Whether labels are smoothed, 0.05 and 0.95 instead of 0 and 1.
        sides: Of images, between samples and classes.
        exclusive: Whether each sample is of one class, with probabilities that add up to 1.
    """

    samples: int
    classes: int = 1
    weighted: bool = False
    soft_labels: bool = False
    sides: tuple[int, ...] = ()
    exclusive: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of labels and probabilities."""
        return (self.samples, *self.sides, self.classes)

    @property
    def size(self) -> int:
        """Number of labels."""
        return math.prod(self.shape)

    def arrays(self) -> list[np.ndarray]:
        """Returns labels (10 % positive), probabilities and perhaps weights, the same in every call."""
        rng, shape = np.random.default_rng(0), self.shape
        if self.exclusive:
            scores = np.exp(rng.normal(size=shape))
            p = (scores / scores.sum(-1, keepdims=True)).astype("float32")
            return [np.eye(self.classes, dtype="float32")[rng.integers(0, self.classes, shape[:-1])], p]
        y = (rng.random(shape) < 0.1).astype("float32")
        p = np.clip(rng.beta(1, 3, shape) + 0.2 * y, 0, 1).astype("float32")
        w = [rng.uniform(0.5, 1.5, (*shape[:-1], 1)).astype("float32")] if self.weighted else []
        return [0.9 * y + 0.05 if self.soft_labels else y, p, *w]
