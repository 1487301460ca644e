"""The kit for scores of cells, each class against the rest."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsets import scores
from keras_softsets.confusion import ConfusionMatrix, confusion_matrix
from keras_softsets.losses import SoftSetLoss
from keras_softsets.metrics import SoftSetMetric
from keras_softsets.testing._kit import Check, Kit, differ

THRESHOLDS = (0.25, 0.5, 0.75)


class CellsKit(Kit):
    """The checks on a score of a `ConfusionMatrix`."""

    def __init__(self, score: scores.Score) -> None:
        super().__init__(score)
        self.loss = SoftSetLoss(score, threshold=THRESHOLDS)
        self.metric = SoftSetMetric(score, threshold=THRESHOLDS, heaviside="linear")
        random = np.random.default_rng(0)
        self.y = (np.arange(24) % 3 == 0).astype("float32")
        self.p = np.clip(0.25 + 0.4 * self.y + random.uniform(-0.25, 0.25, 24), 0.01, 0.99).astype("float32")
        self.w = random.uniform(0.5, 2.0, 24).astype("float32")

    def checks_of_values(self) -> dict[str, Check]:
        """Checks of what the score returns."""
        return {
            "keeps the shape (thresholds, classes)": self.shape,
            "floating-point values, also for float64 cells": self.floating,
            "perfect predictions beat constant ones": self.perfect,
            "better probabilities never lower the score": self.monotone,
            "cells add up to the class totals": self.conserved,
        }

    def checks_of_labels(self) -> dict[str, Check]:
        """Checks of what must not matter about labels."""
        return {"classes do not mix": self.classes}

    def shape(self) -> str | None:
        cells = confusion_matrix(self._classes(self.y), self._classes(self.p), threshold=THRESHOLDS)
        shape = tuple(self.score(cells).shape)
        expected = (2,) if self.score.curve else (len(THRESHOLDS), 2)
        return None if shape == expected else f"{shape} instead of {expected}"

    def floating(self) -> str | None:
        value = self.score(ConfusionMatrix(*tf.ones((4, len(THRESHOLDS), 1), tf.float64)))  # as in metrics; raises
        return None if value.dtype == tf.float64 else f"{value.dtype.name}"

    def perfect(self) -> str | None:
        best = self._score(self.y)
        worst = max(self._score(np.full_like(self.y, constant)) for constant in (0.0, 0.3, 0.5, 0.7, 1.0))
        return None if best > worst - 1e-6 else f"{best:.4g} < {worst:.4g}"

    def monotone(self) -> str | None:
        wrong = self._gradient(self.p) * np.where(self.y > 0, 1, -1)  # of the loss, which must fall
        return None if wrong.max() < 1e-6 else f"gradient of the score has the wrong sign, by {wrong.max():.4g}"

    def conserved(self) -> str | None:
        cells = confusion_matrix(self.y, self.p, self.w, threshold=THRESHOLDS)
        totals = np.array([np.sum(self.w * self.y), np.sum(self.w * (1 - self.y))])
        return differ(np.array([cells.positives[0, 0], cells.negatives[0, 0]]), totals, 1e-5)

    def extreme_batches(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Batches with one class, one sample, no sample, saturated p and zero weights."""
        p = np.array([0.0, 1.0, 0.5, 0.25, 0.75, 1e-30, 1 - 1e-7, 0.125], "float32")
        batches = [(np.zeros_like(p), p, None), (np.ones_like(p), p, None), (p > 0.4, p, 0 * p), (p[:0], p[:0], None)]
        batches += [(label * np.ones(1), p[i : i + 1], None) for label in (0, 1) for i in range(len(p))]
        return batches + [(np.arange(8) % 2, np.full(8, value, "float32"), None) for value in (0.0, 1e-30, 1.0)]

    def classes(self) -> str | None:
        loss = SoftSetLoss(self.score, threshold=THRESHOLDS, average=None, reduction=None)
        both = loss(self._classes(self.y), self._classes(self.p))
        return differ(both, [self._loss(self.y, self.p), self._loss(1 - self.y, 1 - self.p)], 1e-5)

    def _classes(self, x: np.ndarray) -> np.ndarray:
        return np.stack([x, 1 - x], 1)
