"""What the kits for both kinds of scores share: checks that need only a loss, a metric and a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._backend import Tensor, compiled, derivative
from keras_softsets.losses import SoftSetLoss
from keras_softsets.metrics import SoftSetMetric

Check = Callable[[], str | None]
LARGEST_GRADIENT = 1e7


class Kit:
    """The checks on one score; each returns None, or what is wrong in a few words.

    Attributes:
        loss: The loss of the score.
        metric: The soft metric of the score, so that its result is 1 - loss.
        y: 24 labels, float32.
        p: Probabilities that are correlated with the labels.
        w: Weights.
    """

    loss: SoftSetLoss
    metric: SoftSetMetric
    y: np.ndarray
    p: np.ndarray
    w: np.ndarray

    def __init__(self, score: scores.Score) -> None:
        self.score = score

    def checks(self) -> dict[str, Check]:
        """All checks, by what they check."""
        return {
            **self.checks_of_values(),
            "finite on one class, one sample, no sample, saturated p, zero weights": self.finite,
            "half precision": self.half_precision,
            "eager, graph and XLA agree": self.modes,
            "order of samples": self.order,
            "weight 2 is two copies": self.copies,
            "weight 0 is absence": self.absence,
            **self.checks_of_labels(),
            "metric over batches is the score of all": self.batches,
            "survives saving": self.saving,
        }

    def checks_of_values(self) -> dict[str, Check]:
        """Checks of what a score must return, for cells or for a c x c matrix."""
        raise NotImplementedError

    def checks_of_labels(self) -> dict[str, Check]:
        """Checks of what must not matter about labels."""
        raise NotImplementedError

    def monotone(self) -> str | None:
        """The check that `monotone=False` leaves out."""
        raise NotImplementedError

    def extreme_batches(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Labels, probabilities and weights of batches in which something is missing or saturated."""
        raise NotImplementedError

    def finite(self) -> str | None:
        for y, p, w in self.extreme_batches():
            value, gradient = self._loss(y, p, w), self._gradient(p, y, w)
            if not np.isfinite(value) or not np.isfinite(gradient).all():
                return f"loss {value}, largest gradient {np.abs(gradient).max(initial=0)} for y={y}, p={p}"
            if np.abs(gradient).max(initial=0) > LARGEST_GRADIENT:
                return f"gradient of {np.abs(gradient).max():.2g} for y={y}, p={p}"
        return None

    def half_precision(self) -> str | None:
        p = np.round(self.p * 64) / 64  # exact in all three types
        values = [float(self.loss(self.y, ops.cast(p, dtype))) for dtype in ("float32", "float16", "bfloat16")]
        return differ(values[1:], values[0], 1e-6)

    def modes(self) -> str | None:
        y, p = ops.convert_to_tensor(self.y), ops.convert_to_tensor(self.p)
        values = [float(loss(y, p)) for loss in compiled(self.loss)]
        return differ(values, float(self.loss(y, p)), 1e-5)

    def order(self) -> str | None:
        turned = [x[::-1] for x in (self.y, self.p, self.w)]
        return differ(self._loss(*turned), self._loss(self.y, self.p, self.w), 1e-5)

    def copies(self) -> str | None:
        twice = [np.concatenate([x, x[:12]]) for x in (self.y, self.p)]
        return differ(self._loss(self.y, self.p, np.repeat([2.0, 1.0], 12)), self._loss(*twice), 1e-5)

    def absence(self) -> str | None:
        p = self.p.copy()
        p[12:] = np.nan
        weighted = self._loss(self.y, p, np.repeat([1.0, 0.0], 12))
        return differ(weighted, self._loss(self.y[:12], self.p[:12]), 1e-5)

    def batches(self) -> str | None:
        self.metric.reset_state()
        for part in (slice(0, 5), slice(5, 24)):
            self.metric.update_state(self.y[part], self.p[part], self.w[part])
        value: Any = self.metric.result()
        return differ(float(value), 1 - self._loss(self.y, self.p, self.w), 1e-5)

    def saving(self) -> str | None:
        if not self.score.registered:
            return "decorate the function with @keras_softsets.score"
        for adapter in (self.loss, self.metric):
            again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(adapter))
            problem = differ(again(self.y, self.p, self.w), self._fresh(adapter)(self.y, self.p, self.w), 0.0)
            if problem:
                return f"{type(adapter).__name__} gives {problem} after it"
        return None

    def _fresh(self, adapter: Any) -> Any:
        if isinstance(adapter, SoftSetMetric):
            adapter.reset_state()
        return adapter

    def _loss(self, y: Tensor, p: Tensor, w: Tensor | None = None) -> float:
        return float(self.loss(np.asarray(y, "float32"), np.asarray(p, "float32"), w))

    def _score(self, p: np.ndarray) -> float:
        return 1 - self._loss(self.y, p)

    def _gradient(self, p: np.ndarray, y: Tensor | None = None, w: Tensor | None = None) -> np.ndarray:
        labels = self.y if y is None else np.asarray(y, "float32")
        gradient = derivative(lambda p: self.loss(labels, p, w), ops.convert_to_tensor(np.asarray(p, "float32")))
        return ops.convert_to_numpy(gradient)


def as_array(x: Any) -> Any:
    """Tensors, also in a list, as arrays."""
    return ops.convert_to_numpy(x) if ops.is_tensor(x) else x


def differ(value: Any, expected: Any, tolerance: float) -> str | None:
    """Returns None, or both values if they differ."""
    value, expected = (np.asarray(as_array(x), "float64") for x in (value, expected))
    if np.allclose(value, expected, rtol=tolerance, atol=tolerance):
        return None
    return f"{value} instead of {expected}"
