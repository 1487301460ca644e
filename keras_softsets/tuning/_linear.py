"""Scores of the c x c matrix that need only two sums over samples, so that a sweep of a class takes O(n).

Accuracy and mean costs are a sum of costs over samples; kappa is such a sum divided by the one that chance expects,
which is linear in the decided weights, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from keras_softsets.scores import Score


class Linear(NamedTuple):
    """A score as a function of two sums over samples.

    Attributes:
        cost: What deciding each sample as each class adds to the first sum, (samples, classes).
        chance: What it adds to the second sum.
        value: From the two sums to the score.
    """

    cost: np.ndarray
    chance: np.ndarray
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def along(self, order: np.ndarray, source: np.ndarray, k: int) -> np.ndarray:
        """Returns the score of each of n + 1 decisions, as samples in this order leave their class for class k."""
        return self.value(*(switched(x, order, source, k) for x in (self.cost, self.chance)))


def switched(x: np.ndarray, order: np.ndarray, source: np.ndarray, k: int) -> np.ndarray:
    """Returns sums over samples that have switched to class k so far, and over those that have not yet."""
    before, after = x[order, source], x[order, k]
    return np.append(0.0, np.cumsum(after)) + np.append(np.cumsum(before[::-1])[::-1], 0.0)


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
    if score.name != "kappa":
        right = -1.0 if score.name == "multiclass_cost" else 1.0
        return Linear(right * true @ costs / total, np.zeros_like(true), lambda cost, _: cost)
    expected = (true.sum(0) @ costs)[None] * true.sum(1, keepdims=True) / total

    def kappa(cost: np.ndarray, chance: np.ndarray) -> np.ndarray:
        known = chance > 1e-12 * total * costs.max()  # the rest is the effect of rounding on 0
        return np.where(known, (chance - cost) / np.where(known, chance, 1.0), 0.0)

    return Linear(true @ costs, expected, kappa)


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
    return np.eye(classes) if score.name == "multiclass_accuracy" else None
