"""Conformance kit: `check_score` tries a score as loss and metric, and names what fails.

Examples:
    >>> from keras_softsets import scores, testing
    >>> passed = testing.check_score(scores.f_beta, beta=2)
    >>> len(passed)
    14
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_softsets import scores
from keras_softsets._backend import Tensor
from keras_softsets.confusion import ConfusionMatrix, confusion_matrix
from keras_softsets.evaluation import ScoreLike
from keras_softsets.losses import SoftSetLoss
from keras_softsets.metrics import SoftSetMetric

THRESHOLDS = (0.25, 0.5, 0.75)


def check_score(score: ScoreLike, *, monotone: bool = True, **score_args: Any) -> list[str]:
    """Checks that a score can be trained on, reported and saved.

    Args:
        score: A registered score or its name; a plain function passes all checks but the one about saving.
        monotone: Whether a higher p for a positive, or a lower one for a negative, must never lower the score.
            Defaults to `True`.
        **score_args: Parameters of the score.

    Returns:
        The names of the checks, all of which passed.

    Raises:
        AssertionError: Says which checks failed, and how.

    Examples:
        >>> def inverted(cells):
        ...     return -scores.f1(cells)
        >>> check_score(inverted)
        Traceback (most recent call last):
        AssertionError: inverted() fails 3 of 14 checks:
        - perfect predictions beat constant ones: -1 < -0.3429
        - better probabilities never lower the score: gradient of the score has the wrong sign, by 0.05388
        - survives saving: decorate the function with @keras_softsets.score
    """
    kit = _Kit(scores.get(score, **score_args))
    checks = {name: check for name, check in kit.checks().items() if monotone or check != kit.monotone}
    failures = [f"- {name}: {problem}" for name, check in checks.items() if (problem := _problem(check))]
    if failures:
        head = f"{kit.score!r} fails {len(failures)} of {len(checks)} checks:"
        raise AssertionError("\n".join([head, *failures]))
    return list(checks)


def _problem(check: Callable[[], str | None]) -> str | None:
    try:
        return check()
    except Exception as error:  # a score that raises has failed that check; the others still run
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


class _Kit:
    """The checks on one score; each returns None, or what is wrong in a few words."""

    def __init__(self, score: scores.Score) -> None:
        self.score = score
        self.loss = SoftSetLoss(score, threshold=THRESHOLDS)
        self.metric = SoftSetMetric(score, threshold=THRESHOLDS, heaviside="linear")
        random = np.random.default_rng(0)
        self.y = (np.arange(24) % 3 == 0).astype("float32")
        self.p = np.clip(0.25 + 0.4 * self.y + random.uniform(-0.25, 0.25, 24), 0.01, 0.99).astype("float32")
        self.w = random.uniform(0.5, 2.0, 24).astype("float32")

    def checks(self) -> dict[str, Callable[[], str | None]]:
        return {
            "keeps the shape (thresholds, classes)": self.shape,
            "floating-point values, of float64 cells, too": self.floating,
            "perfect predictions beat constant ones": self.perfect,
            "better probabilities never lower the score": self.monotone,
            "cells add up to the class totals": self.conserved,
            "finite on one class, one sample, no sample, saturated p, zero weights": self.finite,
            "half precision": self.half_precision,
            "eager, graph and XLA agree": self.modes,
            "order of samples": self.order,
            "weight 2 is two copies": self.copies,
            "weight 0 is absence": self.absence,
            "classes do not mix": self.classes,
            "metric over batches is the score of all": self.batches,
            "survives saving": self.saving,
        }

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
        wrong = self._gradient(self.p) * np.where(self.y > 0, 1, -1)  # of the loss, which has to fall
        return None if wrong.max() < 1e-6 else f"gradient of the score has the wrong sign, by {wrong.max():.4g}"

    def conserved(self) -> str | None:
        cells = confusion_matrix(self.y, self.p, self.w, threshold=THRESHOLDS)
        totals = np.array([np.sum(self.w * self.y), np.sum(self.w * (1 - self.y))])
        return _differ(np.array([cells.positives[0, 0], cells.negatives[0, 0]]), totals, 1e-5)

    def finite(self) -> str | None:
        p = np.array([0.0, 1.0, 0.5, 0.25, 0.75, 1e-30, 1 - 1e-7, 0.125], "float32")
        batches = [(np.zeros_like(p), p, None), (np.ones_like(p), p, None), (p > 0.4, p, 0 * p), (p[:0], p[:0], None)]
        batches += [(label * np.ones(1), p[i : i + 1], None) for label in (0, 1) for i in range(len(p))]
        batches += [(np.arange(8) % 2, np.full(8, value, "float32"), None) for value in (0.0, 1e-30, 1.0)]
        for y, q, w in batches:
            value, gradient = self._loss(y, q, w), self._gradient(q, y, w)
            if not np.isfinite(value) or not np.isfinite(gradient).all():
                return f"loss {value}, largest gradient {np.abs(gradient).max(initial=0)} for y={y}, p={q}"
            if np.abs(gradient).max(initial=0) > 1e7:
                return f"gradient of {np.abs(gradient).max():.2g} for y={y}, p={q}"
        return None

    def half_precision(self) -> str | None:
        p = np.round(self.p * 64) / 64  # exact in all three types
        values = [float(self.loss(self.y, tf.cast(p, dtype))) for dtype in ("float32", "float16", "bfloat16")]
        return _differ(values[1:], values[0], 1e-6)

    def modes(self) -> str | None:
        y, p = tf.constant(self.y), tf.constant(self.p)
        compiled = [tf.function(self.loss, jit_compile=jit)(y, p) for jit in (False, True)]
        return _differ(compiled, float(self.loss(y, p)), 1e-5)

    def order(self) -> str | None:
        turned = [x[::-1] for x in (self.y, self.p, self.w)]
        return _differ(self._loss(*turned), self._loss(self.y, self.p, self.w), 1e-5)

    def copies(self) -> str | None:
        twice = [np.concatenate([x, x[:12]]) for x in (self.y, self.p)]
        return _differ(self._loss(self.y, self.p, np.repeat([2.0, 1.0], 12)), self._loss(*twice), 1e-5)

    def absence(self) -> str | None:
        weighted = self._loss(self.y, np.where(np.arange(24) < 12, self.p, np.nan), np.repeat([1.0, 0.0], 12))
        return _differ(weighted, self._loss(self.y[:12], self.p[:12]), 1e-5)

    def classes(self) -> str | None:
        loss = SoftSetLoss(self.score, threshold=THRESHOLDS, average=None, reduction=None)
        both = loss(self._classes(self.y), self._classes(self.p))
        return _differ(both, [self._loss(self.y, self.p), self._loss(1 - self.y, 1 - self.p)], 1e-5)

    def batches(self) -> str | None:
        self.metric.reset_state()
        for part in (slice(0, 5), slice(5, 24)):
            self.metric.update_state(self.y[part], self.p[part], self.w[part])
        return _differ(float(self.metric.result()), 1 - self._loss(self.y, self.p, self.w), 1e-5)

    def saving(self) -> str | None:
        if not self.score.registered:
            return "decorate the function with @keras_softsets.score"
        for adapter in (self.loss, self.metric):
            again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(adapter))
            problem = _differ(again(self.y, self.p, self.w), self._fresh(adapter)(self.y, self.p, self.w), 0.0)
            if problem:
                return f"{type(adapter).__name__} gives {problem} after it"
        return None

    def _fresh(self, adapter: Any) -> Any:
        if isinstance(adapter, SoftSetMetric):
            adapter.reset_state()
        return adapter

    def _classes(self, x: np.ndarray) -> np.ndarray:
        return np.stack([x, 1 - x], 1)

    def _loss(self, y: Tensor, p: Tensor, w: Tensor | None = None) -> float:
        return float(self.loss(np.asarray(y, "float32"), np.asarray(p, "float32"), w))

    def _score(self, p: np.ndarray) -> float:
        return 1 - self._loss(self.y, p)

    def _gradient(self, p: np.ndarray, y: Tensor | None = None, w: Tensor | None = None) -> np.ndarray:
        variable = tf.constant(p, tf.float32)
        with tf.GradientTape() as tape:
            tape.watch(variable)
            value = self.loss(self.y if y is None else np.asarray(y, "float32"), variable, w)
        return tape.gradient(value, variable, unconnected_gradients="zero").numpy()


def _differ(value: Any, expected: Any, tolerance: float) -> str | None:
    value, expected = np.asarray(value, "float64"), np.asarray(expected, "float64")
    if np.allclose(value, expected, rtol=tolerance, atol=tolerance):
        return None
    return f"{value} instead of {expected}"
