"""The check of a score, with a kit for each kind: of cells, each class against the rest, and of the c x c matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._backend import derivative, wide
from keras_softsets._checks import check_flag
from keras_softsets.confusion import confusion_matrix
from keras_softsets.losses import SoftSetLoss
from keras_softsets.matrices import ConfusionMatrix, MulticlassMatrix
from keras_softsets.metrics import SoftSetMetric
from keras_softsets.multiclass import multiclass_confusion_matrix
from keras_softsets.scores._registry import ScoreLike, resolve
from keras_softsets.testing._common_checks import Check, Kit, differ

THRESHOLDS = (0.25, 0.5, 0.75)
CLASSES = 3


def check_score(score: ScoreLike, *, monotone: bool = True, **score_args: Any) -> list[str]:
    """Checks that a score can be trained on, reported and saved.

    Args:
        score: A registered score or its name; a plain function can pass all checks except the one about saving.
        monotone: Whether better predictions (a higher p for a positive, a lower one for a negative, a higher logit for
            the right one of several classes) must never lower the score. Defaults to `True`.
        **score_args: Parameters of the score.

    Returns:
        The names of the checks, all of which passed.

    Raises:
        AssertionError: If checks fail; the message says which, and how.

    Examples:
        >>> from keras_softsets import scores
        >>> def inverted(cells):
        ...     return -scores.f1(cells)
        >>> check_score(inverted)
        Traceback (most recent call last):
        AssertionError: inverted() fails 3 of 14 checks:
        - perfect predictions beat constant ones: -1 < 0
        - better probabilities never lower the score: gradient of the score has the wrong sign, by 0.1904
        - survives saving: decorate the function with @keras_softsets.score
    """
    resolved, monotone = resolve(score, score_args, check_score), check_flag("monotone", monotone)
    kit: Kit = MatrixKit(resolved) if resolved.of == "classes" else CellsKit(resolved)
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
        cells = [ops.ones((len(THRESHOLDS), 1), wide())] * 4
        found = ops.dtype(self.score(ConfusionMatrix(*cells)))  # as in metrics; raises
        return None if found == wide() else found

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
        return differ(np.array([float(cells.positives[0, 0]), float(cells.negatives[0, 0])]), totals, 1e-5)

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


class MatrixKit(Kit):
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
        found = ops.dtype(self.score(MulticlassMatrix(ops.ones((CLASSES, CLASSES), wide()))))  # as in metrics; raises
        return None if found == wide() else found

    def perfect(self) -> str | None:
        best = self._score(self._one_hot(self.y))
        constants = [*np.eye(CLASSES), np.full(CLASSES, 1 / CLASSES)]
        worst = max(self._score(np.tile(constant, (24, 1))) for constant in constants)
        return None if best > worst - 1e-6 else f"{best:.4g} < {worst:.4g}"

    def monotone(self) -> str | None:
        loss, logits = SoftSetLoss(self.score, from_logits=True), ops.log(self.p)
        gradient = ops.convert_to_numpy(derivative(lambda logits: loss(self.y, logits), logits))
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
