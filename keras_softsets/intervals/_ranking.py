"""Scores at every threshold: samples are sorted once, and resampled weights are added up from the top."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_softsets.matrices import ConfusionMatrix

_THRESHOLDS = 2**13  # beyond this many, neighbouring thresholds are merged
_AT_ONCE = 2**21  # numbers in a block


class _Side(NamedTuple):
    """The positives or the negatives of a class in order of falling probability.

    Attributes:
        owner: The sample that each belongs to.
        weight: The weight of each, (rows, 1).
        above: How many of them are at or above each threshold.
    """

    owner: np.ndarray
    weight: np.ndarray
    above: np.ndarray

    def from_top(self, weights: np.ndarray, rows: int) -> np.ndarray:
        """Sums at or above each threshold, (rows, resamples), from weights of (samples, resamples)."""
        sums = np.zeros((len(self.owner) + 1, weights.shape[1]))
        np.cumsum(weights[self.owner] * self.weight, 0, out=sums[1:])
        return sums[np.append(self.above, np.repeat(self.above[-1:], rows - len(self.above)))]


class Ranking:
    """A function of the cells at every threshold.

    Args:
        label: Labels, (rows, classes).
        p: Probabilities.
        weight: Weights.
        owner: The sample to which each row belongs; they are resampled together.
        values: From cells of (thresholds, resamples, classes), from the highest threshold down, to
            (resamples, values).
    """

    def __init__(
        self,
        label: np.ndarray,
        p: np.ndarray,
        weight: np.ndarray,
        owner: np.ndarray,
        values: Callable[[ConfusionMatrix], np.ndarray],
    ) -> None:
        self._values = values
        self._columns = [_sides(y, q, w, owner) for y, q, w in zip(label.T, p.T, weight.T)]
        self._rows = max(len(side.above) for column in self._columns for side in column)

    def of(self, weights: np.ndarray) -> np.ndarray:
        """Adds up weights from the top, a few resamples at a time, and scores the cells."""
        size = max(1, _AT_ONCE // max(self._rows * len(self._columns), weights.shape[1]))
        blocks = (weights[start : start + size] for start in range(0, len(weights), size))
        return np.concatenate([self._values(self._cells(np.ascontiguousarray(block.T))) for block in blocks])

    def _cells(self, weights: np.ndarray) -> ConfusionMatrix:
        pairs = [[side.from_top(weights, self._rows) for side in column] for column in self._columns]
        tp, fp = (np.stack(x, -1) for x in zip(*pairs, strict=True))
        cells = (tp, fp, np.maximum(tp[-1:] - tp, 0), np.maximum(fp[-1:] - fp, 0))
        return ConfusionMatrix(*(ops.convert_to_tensor(cell) for cell in cells))


def _sides(label: np.ndarray, p: np.ndarray, weight: np.ndarray, owner: np.ndarray) -> tuple[_Side, _Side]:
    order = np.argsort(-p, kind="stable")
    p, owner, positive, negative = p[order], owner[order], (weight * label)[order], (weight * (1 - label))[order]
    last = np.flatnonzero(np.append(p[1:] != p[:-1], True))  # of equal probabilities
    last = _fewer(last, positive, negative)
    return _side(positive, owner, last), _side(negative, owner, last)


def _side(weight: np.ndarray, owner: np.ndarray, last: np.ndarray) -> _Side:
    counts = weight > 0
    return _Side(owner[counts], weight[counts, None], np.cumsum(counts)[last])


def _fewer(last: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """At most this many thresholds, such that each step holds equal shares of the positives and of the negatives."""
    if len(last) <= _THRESHOLDS:
        return last
    shares = sum(np.cumsum(x) / max(x.sum(), 1e-300) for x in (positive, negative))
    step = np.floor(shares[last] / 2 * _THRESHOLDS)
    return last[np.append(np.diff(step) > 0, True)]
