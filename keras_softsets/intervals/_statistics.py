"""The statistic of an evaluation: what its value is for any weights of the samples.

This is the only place that knows how an `Evaluation` sums and scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._evaluation import Evaluation
from keras_softsets._totals import graph_of_matrices, values_of_sets
from keras_softsets._totals._cells import importance, mean
from keras_softsets.intervals._ranking import Ranking
from keras_softsets.matrices import ConfusionMatrix, undefined_where
from keras_softsets.operating import best
from keras_softsets.samples import Samples

_AT_ONCE = 2**22  # numbers in a block

Values = Callable[[np.ndarray], np.ndarray]


class Statistic(Protocol):
    """A function of the weights of samples, which may be resampled."""

    def of(self, weights: np.ndarray) -> np.ndarray:
        """Returns the values, from weights of (resamples, samples) to (resamples, values)."""


class Summed:
    """A function of sums over samples.

    Args:
        features: What is known about each sample, (samples, features); equal rows are equal samples.
        expand: From features to the numbers to be summed, (samples, numbers).
        values: From sums, (resamples, numbers), to values, (resamples, values).
    """

    def __init__(self, features: np.ndarray, expand: Values, values: Values) -> None:
        self.features, self._expand, self._values = features, expand, values

    def of(self, weights: np.ndarray) -> np.ndarray:
        """Adds up the samples, block by block, and scores the sums."""
        width = self._expand(self.features[:1]).shape[1]
        size, total = max(1, _AT_ONCE // width), np.zeros((len(weights), width))
        for start in range(0, len(self.features), size):
            rows = slice(start, start + size)
            total += weights[:, rows] @ self._expand(self.features[rows])
        return self._values(total)

    def among(self, rows: np.ndarray) -> Summed:
        """The same function of some of the samples."""
        return Summed(self.features[rows], self._expand, self._values)


class Rows(NamedTuple):
    """Samples that count, as arrays of (rows, classes), and the sample (image, sequence) that owns each row."""

    label: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray
    owner: np.ndarray
    owners: int

    def samples(self, evaluation: Evaluation, weight: np.ndarray | None = None) -> Samples:
        """The samples as the evaluation sees them."""
        arrays = (self.label, self.prediction, self.weight if weight is None else weight)
        label, p, w = (ops.convert_to_tensor(x.astype("float32")) for x in arrays)
        return Samples(label, p, w, evaluation.from_logits, evaluation.decision.argmax)


def rows_of(samples: Samples, length: int) -> Rows:
    """Returns the rows of samples; `length` is that of the first axis of the predictions.

    A sample of weight 0 is absent, so it is never drawn.
    """
    label, p, weight = (ops.convert_to_numpy(x) for x in _weighted(samples.cleaned())[:3])
    owner = np.repeat(np.arange(length), len(p) // max(length, 1))
    counts = np.zeros(length, bool)
    counts[owner[(weight != 0).any(1)]] = True
    kept = counts[owner]
    number = np.cumsum(counts) - 1
    return Rows(label[kept], p[kept], weight[kept], number[owner[kept]], int(counts.sum()))


def _weighted(samples: Samples) -> Samples:
    weight = ops.ones_like(samples.prediction) if samples.weight is None else samples.weight
    return samples._replace(weight=weight)


def statistic_of(evaluation: Evaluation, samples: Samples, rows: Rows | None) -> Statistic:
    """Returns the statistic: from weights, (resamples, samples), to values, NaN where the score is undefined."""
    if rows is None:
        return _of_sets(evaluation, samples)
    if evaluation.totals.bits is None:
        return _of_counts(evaluation, rows) if evaluation.c_x_c else _of_cells(evaluation, rows)
    if evaluation.decision.rates and evaluation.heaviside.differentiable:
        return _OneByOne(evaluation, rows)
    return _of_ranking(evaluation, rows)


def _of_sets(evaluation: Evaluation, sets: Samples) -> Summed:
    """The mean over sets: each was scored, and only their weights change."""
    ((values, defined),) = evaluation.totals.values_of_each(sets)
    values, weight = (_two_axes(ops.convert_to_numpy(x)) for x in (values, defined))
    weight = weight * ops.convert_to_numpy(sets.importance)[:, None]
    features = np.concatenate([weight * values, weight], 1)

    def mean(sums: np.ndarray) -> np.ndarray:
        total, divisor = np.split(sums, 2, 1)
        return np.where(divisor > 0, total / np.where(divisor > 0, divisor, 1), np.nan)

    return Summed(features, lambda x: x, mean)


def _of_cells(evaluation: Evaluation, rows: Rows) -> Summed:
    h = _memberships(evaluation, rows)  # (thresholds, rows, classes)
    thresholds, _, classes = h.shape
    features = np.concatenate([rows.label, rows.weight, h.transpose(1, 0, 2).reshape(len(h[0]), -1)], 1)

    def expand(x: np.ndarray) -> np.ndarray:
        x = x.astype("float64")
        y, w, h = x[:, None, :classes], x[:, None, classes : 2 * classes], x[:, 2 * classes :]
        h = h.reshape(len(x), thresholds, classes)
        cells = np.stack([w * y * h, w * (1 - y) * h, w * y * (1 - h), w * (1 - y) * (1 - h)], 1)
        return cells.reshape(len(x), -1)

    def values(sums: np.ndarray) -> np.ndarray:
        cells = sums.reshape(len(sums), 4, thresholds, classes).transpose(1, 2, 0, 3)
        return _scored(evaluation, evaluation.scores[0], _tensors(cells).carrying(rising=evaluation.decision.rising))

    return _by_owner(Summed(features, expand, values), rows)


def _of_counts(evaluation: Evaluation, rows: Rows) -> Summed:
    h = _memberships(evaluation, rows)[0]
    classes = h.shape[1]
    weighted = rows.label.astype("float64") * rows.weight
    graph = graph_of_matrices(evaluation.scores[0], "ignore", classes)

    def expand(x: np.ndarray) -> np.ndarray:
        return (x[:, :classes, None] * x[:, None, classes:]).reshape(len(x), -1)

    def values(sums: np.ndarray) -> np.ndarray:
        counts = ops.convert_to_tensor(sums.reshape(-1, classes, classes))
        value, defined = graph(counts)
        return _or_nan(value, defined)

    return _by_owner(Summed(np.concatenate([weighted, h], 1), expand, values), rows)


def _by_owner(statistic: Summed, rows: Rows) -> Summed:
    """The same sums with one row for each sample, if samples have several rows, as pixels of an image."""
    if len(rows.owner) == rows.owners:
        return statistic
    first = np.flatnonzero(np.append(True, np.diff(rows.owner) > 0))
    return Summed(np.add.reduceat(statistic._expand(statistic.features), first, 0), lambda x: x, statistic._values)


def _memberships(evaluation: Evaluation, rows: Rows) -> np.ndarray:
    found = evaluation.decision.memberships(rows.samples(evaluation).cleaned(), evaluation.heaviside)
    return ops.convert_to_numpy(found).astype("float64")


def _of_ranking(evaluation: Evaluation, rows: Rows) -> Ranking:
    p = ops.convert_to_numpy(rows.samples(evaluation).probability)
    arrays = [x.astype("float64") for x in (rows.label, p, np.broadcast_to(rows.weight, p.shape))]
    owner = rows.owner
    if not evaluation.decision.rates and evaluation.average == "micro":
        arrays, owner = [x.reshape(-1, 1) for x in arrays], np.repeat(owner, p.shape[1])
    at_rate = bool(evaluation.decision.rates)
    label, p, weight = arrays
    return Ranking(label, p, weight, owner, lambda cells: (_at_rates if at_rate else _areas)(evaluation, cells))


def _areas(evaluation: Evaluation, cells: ConfusionMatrix) -> np.ndarray:
    rising = cells.map(lambda cell: ops.flip(cell, 0)).carrying(rising=True)
    score, average, zero_division = evaluation.scores[0], evaluation.average, evaluation.zero_division
    # Not by its own 0 / 0: the precision of samples that were not drawn has no weight in the area.
    both = ops.cast(ops.logical_and(cells.positives[-1] > 0, cells.negatives[-1] > 0), rising.tp.dtype)
    if zero_division == "ignore":
        value, _ = values_of_sets(score, rising, None, 0.0)
        of_all = (value, both) if average is None else mean(value, [both, importance(rising, average)], axis=1)
        return _or_nan(*of_all)
    value, _ = values_of_sets(score, rising, average, zero_division)
    return _or_nan(value, both if average is None else ops.max(both, -1))


def _at_rates(evaluation: Evaluation, cells: ConfusionMatrix) -> np.ndarray:
    """The best score among thresholds that meet a rate, found again in each resample."""
    decision: Any = evaluation.decision
    (score,) = evaluation.scores
    rows, resamples, classes = cells.tp.shape
    chosen = best(score, cells.map(lambda cell: ops.reshape(cell, (rows, resamples * classes))), decision)
    shape = (decision.rows, resamples, classes)
    met, *found = (ops.reshape(x, shape) for x in (chosen.met, *chosen.cells))
    points = ConfusionMatrix(*found)
    counts = points.negatives if decision.rate == "specificity" else points.positives
    meaningless = counts <= 0
    if evaluation.average == "micro":
        met, meaningless = ops.any(met, 2), ops.all(meaningless, 2)
    met, meaningless = (ops.reshape(x, (decision.rows, -1)) for x in (met, meaningless))

    def at_point(cells: ConfusionMatrix) -> Any:
        return undefined_where(meaningless, ops.where(met, score(cells), 0 * cells.total), cells)

    return _scored(evaluation, scores.Score(at_point, registered=False), points)


def _scored(evaluation: Evaluation, score: scores.Score, cells: ConfusionMatrix) -> np.ndarray:
    """Values of cells of (thresholds, resamples, classes): (resamples, values)."""
    average, zero_division = evaluation.average, evaluation.zero_division
    value, defined = values_of_sets(score, cells, average, "ignore")
    if zero_division != "ignore" and cells.tp.shape[2] > 1 and average not in ("micro", None):
        value, _ = values_of_sets(score, cells, average, zero_division)
    return _or_nan(value, defined)


def _or_nan(value: Any, defined: Any) -> np.ndarray:
    value, defined = (_two_axes(ops.convert_to_numpy(x)) for x in (value, defined))
    return np.where(defined > 0, value, np.nan)


def _two_axes(x: np.ndarray) -> np.ndarray:
    return x.astype("float64").reshape(len(x), x.shape[1] if x.ndim > 1 else 1)


def _tensors(cells: np.ndarray) -> ConfusionMatrix:
    return ConfusionMatrix(*(ops.convert_to_tensor(cell) for cell in cells))


class _OneByOne:
    """A soft score at an operating point, whose threshold is found by a kernel: one resample after the other."""

    def __init__(self, evaluation: Evaluation, rows: Rows) -> None:
        self._evaluation, self._rows = evaluation, rows

    def of(self, weights: np.ndarray) -> np.ndarray:
        return np.stack([self._value(each[self._rows.owner]) for each in weights])

    def _value(self, times: np.ndarray) -> np.ndarray:
        samples = self._rows.samples(self._evaluation, self._rows.weight * times[:, None])
        (value,) = self._evaluation.values_of(samples)
        return np.atleast_1d(ops.convert_to_numpy(value))
