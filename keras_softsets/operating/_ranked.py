"""The hard cells at every distinct threshold, found by sorting once, and the best of them that meets a rate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from keras import ops

from keras_softsets import _backend
from keras_softsets._backend import Tensor, wide
from keras_softsets.decisions import Decision
from keras_softsets.matrices import ConfusionMatrix
from keras_softsets.operating._bins import FloatBins, cells_of_bins
from keras_softsets.samples import Samples
from keras_softsets.scores import Score

SLACK = 1e-12  # by how much rounding in float64 may miss a rate


class Ranked(NamedTuple):
    """One row for each sample, in order of falling probability, class by class: (samples, classes).

    Attributes:
        probability: The sorted probabilities.
        last: Whether the row is the last of equal probabilities.
        cells: Cells in float64 when everything from this probability up is positive; rows with equal probabilities
            have equal cells.
    """

    probability: Tensor
    last: Tensor
    cells: ConfusionMatrix


def ranked(samples: Samples) -> Ranked:
    """Sorts each class by its probabilities and adds up the weights above and below."""
    y, p, w = samples._replace(prediction=samples.probability, logits=False).cleaned()[:3]
    y, p, w = (ops.cast(x, wide()) for x in (y, p, ops.ones_like(p) if w is None else w))
    order = ops.argsort(-p, axis=0)
    p, positive, negative = (ops.take_along_axis(x, order, 0) for x in (p, w * y, w * (1 - y)))
    last = ops.concatenate([ops.not_equal(p[:-1], p[1:]), ops.ones_like(p[:1], "bool")], 0)
    above, below = [_from_top(x) for x in (positive, negative)], [_after(x) for x in (positive, negative)]
    end, nan = _end_of_ties(last), 0 * ops.sum(y + p + w, 0)  # NaN in a batch is NaN in all of its cells
    # Four sums, rather than two sums and two differences: a small cell keeps all its digits.
    cells = ConfusionMatrix(*above, *below).map(lambda cell: ops.take_along_axis(cell, end, 0) + nan)
    return Ranked(p, last, cells)


def ranked_sets(sets: Samples) -> ConfusionMatrix:
    """Returns the cells of each of several sets, from (sets, elements, classes) to (elements, sets, classes).

    Rows are in order of rising thresholds, which differ from set to set.
    """
    count, elements, classes = ops.shape(sets.prediction)
    cells = ranked(sets.sets_as_classes()).cells
    return cells.map(lambda cell: ops.reshape(ops.flip(cell, 0), (elements, count, classes)))


def _from_top(x: Tensor) -> Tensor:
    return _backend.cumsum(x, 0)


def _after(x: Tensor) -> Tensor:
    from_bottom = ops.flip(_backend.cumsum(ops.flip(x, 0), 0), 0)
    return ops.concatenate([from_bottom[1:], ops.zeros_like(x[:1])], 0)


def _end_of_ties(last: Tensor) -> Tensor:
    """For each row, the last row with the same probability."""
    rows, classes = ops.shape(last)
    ones = ops.cast(last, "int32")
    group = _backend.cumsum(ones, 0) - ones  # the number of groups before a row
    place = group * classes + ops.arange(classes, dtype="int32")
    # Each group has one last row, so the sum of their numbers is that number.
    numbers = ones * ops.arange(rows, dtype="int32")[:, None]
    ends = ops.segment_sum(ops.reshape(numbers, (-1,)), ops.reshape(place, (-1,)), num_segments=rows * classes)
    return ops.take_along_axis(ops.reshape(ends, (rows, classes)), group, 0)


class Chosen(NamedTuple):
    """The operating points of one score, (rates, classes).

    Attributes:
        row: The row of the cells that was chosen, counted from 1; 0 is "nothing is positive".
        met: Whether any threshold meets the rate; if none does, nothing is positive.
        cells: The cells there.
    """

    row: Tensor
    met: Tensor
    cells: ConfusionMatrix


def best(score: Score, cells: ConfusionMatrix, decision: Decision) -> Chosen:
    """Chooses, for each rate and class, the threshold with the highest score among those that meet the rate.

    Args:
        score: A score of one threshold.
        cells: Cells at every threshold, from the highest down, (thresholds, classes).
        decision: The rates.
    """
    zero = ops.zeros_like(cells.tp[:1])
    none = ConfusionMatrix(zero, zero, cells.positives[:1], cells.negatives[:1])
    every = ConfusionMatrix(*(ops.concatenate(pair, 0) for pair in zip(none, cells)))
    values = score(every)
    rows = []
    for wanted in decision.rates:
        meets = _meets(every, decision.rate, wanted)
        met = ops.any(meets, 0)
        rows.append((ops.where(met, ops.argmax(ops.where(meets, values, -np.inf), 0), 0), met))
    row, met = (ops.stack(x) for x in zip(*rows))
    return Chosen(row, met, every.map(lambda cell: ops.take_along_axis(cell, row, 0)))


def _meets(cells: ConfusionMatrix, rate: str, wanted: float) -> Tensor:
    """Whether a rate is met; avoids a division, which over all bins would cost more than everything else."""
    hits, of = {
        "recall": (cells.tp, cells.positives),
        "specificity": (cells.tn, cells.negatives),
        "precision": (cells.tp, cells.predicted_positives),
    }[rate]
    return ops.logical_and(hits >= (wanted - SLACK) * of, of > 0)


def thresholds_of(score: Score, bins: FloatBins, weights: Tensor, decision: Decision) -> np.ndarray:
    """Returns the thresholds chosen from the weights in bins, (rates, classes); inf where none meets the rate."""
    chosen = best(score, cells_of_bins(weights), decision)
    every = np.append(np.inf, bins.thresholds)
    return every[ops.convert_to_numpy(chosen.row)]


def thresholds_among(score: Score, samples: Samples, decision: Decision) -> np.ndarray:
    """Like `thresholds_of`, but chosen from the probabilities of samples."""
    ranks = ranked(samples)
    chosen = best(score, ranks.cells, decision)
    p = ops.convert_to_numpy(ranks.probability)
    every = np.concatenate([np.full_like(p[:1], np.inf), p])
    return np.take_along_axis(every, ops.convert_to_numpy(chosen.row), 0)
