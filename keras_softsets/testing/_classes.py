"""The kit for scores of the c x c matrix."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsets import scores
from keras_softsets.losses import SoftSetLoss
from keras_softsets.metrics import SoftSetMetric
from keras_softsets.multiclass import MulticlassMatrix, multiclass_confusion_matrix
from keras_softsets.testing._kit import Check, Kit, differ

CLASSES = 3


class ClassesKit(Kit):
    """The checks on a score of a `MulticlassMatrix`; labels are class ids."""

    def __init__(self, score: scores.Score) -> None:
        super().__init__(score)
        self.loss = SoftSetLoss(score)
        self.metric = SoftSetMetric(score, heaviside="linear")
        random = np.random.default_rng(0)
        self.y = (np.arange(24) % CLASSES).astype("float32")
        p = random.dirichlet(np.ones(CLASSES), 24) + 0.8 * self._one_hot(self.y)
        self.p = (p / p.sum(1, keepdims=True)).astype("float32")
        self.w = random.uniform(0.5, 2.0, 24).astype("float32")

    def checks_of_values(self) -> dict[str, Check]:
        """Checks of what the score returns."""
        return {
            "gives a single number": self.shape,
            "floating-point values, also for float64 counts": self.floating,
            "perfect predictions beat constant ones": self.perfect,
            "better logits never lower the score": self.monotone,
            "counts add up to the class totals": self.conserved,
        }

    def checks_of_labels(self) -> dict[str, Check]:
        """Checks of what must not matter about labels."""
        return {"class ids and one-hot labels agree": self.one_hot}

    def shape(self) -> str | None:
        shape = tuple(self.score(multiclass_confusion_matrix(self.y, self.p)).shape)
        return None if shape == () else f"{shape} instead of ()"

    def floating(self) -> str | None:
        value = self.score(MulticlassMatrix(tf.ones((CLASSES, CLASSES), tf.float64)))  # as in metrics; raises
        return None if value.dtype == tf.float64 else f"{value.dtype.name}"

    def perfect(self) -> str | None:
        best = self._score(self._one_hot(self.y))
        constants = [*np.eye(CLASSES), np.full(CLASSES, 1 / CLASSES)]
        worst = max(self._score(np.tile(constant, (24, 1))) for constant in constants)
        return None if best > worst - 1e-6 else f"{best:.4g} < {worst:.4g}"

    def monotone(self) -> str | None:
        loss, logits = SoftSetLoss(self.score, from_logits=True), tf.math.log(self.p)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = loss(self.y, logits)
        gradient = tape.gradient(value, logits, unconnected_gradients="zero").numpy()
        wrong = gradient[self._one_hot(self.y) > 0]  # of the loss, which must fall
        return None if wrong.max() < 1e-6 else f"gradient of the score has the wrong sign, by {wrong.max():.4g}"

    def conserved(self) -> str | None:
        matrix = multiclass_confusion_matrix(self.y, self.p, self.w)
        return differ(matrix.true, np.bincount(self.y.astype(int), self.w, CLASSES), 1e-5)

    def extreme_batches(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Batches with one class, one sample, no sample, saturated p and zero weights."""
        y, p, right = self.y, self.p, self._one_hot(self.y)
        batches = [(0 * y, p, None), (y, p, 0 * self.w), (y[:0], p[:0], None)]
        batches += [(y[i : i + 1], q[i : i + 1], None) for q in (p, right, right[::-1]) for i in range(CLASSES)]
        batches += [(y, right, None), (y, right[:, ::-1], None), (0 * y, right[:1].repeat(24, 0), None)]
        return batches + [(y, np.full_like(p, value), None) for value in (0.0, 1e-30, 1.0)]

    def one_hot(self) -> str | None:
        return differ(self._loss(self._one_hot(self.y), self.p), self._loss(self.y, self.p), 1e-6)

    def _one_hot(self, ids: np.ndarray) -> np.ndarray:
        return np.eye(CLASSES, dtype="float32")[ids.astype(int)]
