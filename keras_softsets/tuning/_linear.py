"""Scores of the c x c matrix that need only two or three sums, so that a sweep of a class takes O(n).

Accuracy and mean costs are a sum of costs over samples; kappa is such a sum divided by the one that chance expects,
which is linear in the decided weights, too. MCC needs the squares of the classes' decided weights besides these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keras_softsets.scores import Score


class Linear(NamedTuple):
    """A score as a function of two sums over samples, and perhaps of squares.

    Attributes:
        cost: What deciding each sample as each class adds to the first sum, (samples, classes).
        chance: What it adds to the second sum.
        value: From the sums to the score.
        weight: The weight of each sample, (samples,), if the third sum is that of the squares of the classes' decided
            weights. Defaults to `None`: there is no third sum.
    """

    cost: np.ndarray
    chance: np.ndarray
    value: Callable[..., np.ndarray]
    weight: np.ndarray | None = None

    def along(self, order: np.ndarray, source: np.ndarray, k: int) -> np.ndarray:
        """Returns the score of each of n + 1 decisions, as samples in this order leave their class for class k."""
        sums = [switched(x, order, source, k) for x in (self.cost, self.chance)]
        squares = [] if self.weight is None else [_squares(self.weight[order], source)]
        return self.value(*sums, *squares)


def switched(x: np.ndarray, order: np.ndarray, source: np.ndarray, k: int) -> np.ndarray:
    """Returns sums over samples that have switched to class k so far, and over those that have not yet."""
    before, after = x[order, source], x[order, k]
    return np.append(0.0, np.cumsum(after)) + np.append(np.cumsum(before[::-1])[::-1], 0.0)


def _squares(weight: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Returns the sum of the squares of the classes' weights, as samples leave their classes for an empty one."""
    by_class = np.argsort(source, kind="stable")
    leaving = weight[by_class]
    ends = np.append(np.flatnonzero(np.diff(source[by_class])), len(source) - 1)
    through = np.append(np.cumsum(leaving[::-1])[::-1], 0.0)  # from each sample to the end of all
    after = np.repeat(through[ends + 1], np.diff(ends, prepend=-1))
    before, left = through[:-1] - after, through[1:] - after
    lost = np.empty(len(source))
    lost[by_class] = before**2 - left**2
    remaining = np.append(np.cumsum(lost[::-1])[::-1], 0.0)  # from the end, so that nothing is exactly 0
    return remaining + np.append(0.0, np.cumsum(weight)) ** 2


def as_linear(score: Score, true: np.ndarray) -> Linear | None:
    """Returns a score as a function of two sums, or None if it is none of those that are known.

    Args:
        score: A score of the c x c matrix.
        true: Labels times weights, (samples, classes), in float64.
    """
    costs = _costs(score, true.shape[1])
    if costs is None:
        return None
    total = true.sum()
    if score.name == "multiclass_mcc":
        return _mcc(true, total)
    if score.name != "kappa":
        right = -1.0 if score.name == "multiclass_cost" else 1.0
        return Linear(right * true @ costs / total, np.zeros_like(true), lambda cost, _: cost)
    expected = (true.sum(0) @ costs)[None] * true.sum(1, keepdims=True) / total

    def kappa(cost: np.ndarray, chance: np.ndarray) -> np.ndarray:
        known = chance > 1e-12 * total * costs.max()  # the rest is the effect of rounding on 0
        return np.where(known, (chance - cost) / np.where(known, chance, 1.0), 0.0)

    return Linear(true @ costs, expected, kappa)


def _mcc(true: np.ndarray, total: float) -> Linear:
    weight, positives = true.sum(1), true.sum(0)
    of_labels = np.sum(positives * (total - positives))

    def value(right: np.ndarray, chance: np.ndarray, squares: np.ndarray) -> np.ndarray:
        of_decisions = total**2 - squares
        known = (of_decisions > 1e-12 * total**2) & (of_labels > 1e-12 * total**2)  # the rest is rounding
        spread = np.sqrt(np.where(known, of_decisions * of_labels, 1.0))
        return np.where(known, (total * right - chance) / spread, 0.0)

    return Linear(true, weight[:, None] * positives, value, weight)


def _costs(score: Score, classes: int) -> np.ndarray | None:
    """The costs of a score that this package registers, (true class, decided class)."""
    if not score.registered or not score.function.__module__.startswith("keras_softsets."):
        return None
    distance = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes))).astype("float64")
    if score.name == "kappa":
        weights = score.parameters.get("weights")
        return {None: (distance > 0) * 1.0, "linear": distance, "quadratic": distance**2}[weights]
    if score.name == "multiclass_cost":
        costs = score.parameters.get("costs")
        return (distance > 0) * 1.0 if costs is None else np.asarray(costs, "float64")
    return np.eye(classes) if score.name in ("multiclass_accuracy", "multiclass_mcc") else None
