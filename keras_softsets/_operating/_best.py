"""The best score among all thresholds that meet a rate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._backend import Tensor
from keras_softsets._operating import _float_bins
from keras_softsets._operating._averaging import averaged_at_points
from keras_softsets._ranked import ranked
from keras_softsets._samples import Samples
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.decisions import AtRate
from keras_softsets.scores import Score
from keras_softsets.scores._averaging import Average, ZeroDivision

SLACK = 1e-12  # by how much rounding in float64 may miss a rate


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


def best(score: Score, cells: ConfusionMatrix, decision: AtRate) -> Chosen:
    """Chooses, for each rate and class, the threshold with the highest score among those that meet the rate.

    Args:
        score: A score of one threshold.
        cells: Cells at every threshold, from the highest down, (thresholds, classes).
        decision: The rates.
    """
    zero = ops.zeros_like(cells.tp[:1])
    none = ConfusionMatrix(zero, zero, cells.positives[:1], cells.negatives[:1])
    every = ConfusionMatrix(*(ops.concatenate(pair, 0) for pair in zip(none, cells)))
    with scores.zero_division_as(0.0):
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


def best_value(
    score: Score, cells: ConfusionMatrix, decision: AtRate, average: Average, zero_division: ZeroDivision
) -> Tensor:
    """Returns the best score among thresholds that meet the rate, 0 if none does, averaged as usual."""
    chosen = best(score, cells, decision)
    return averaged_at_points(score, chosen.cells, chosen.met, _nothing, decision, average, zero_division)


def thresholds_of(score: Score, totals: Tensor, decision: AtRate) -> np.ndarray:
    """Returns the thresholds chosen from weights by probability, (rates, classes); inf where none meets the rate."""
    chosen = best(score, _float_bins.cells(totals), decision)
    every = np.append(np.inf, _float_bins.thresholds())
    return every[ops.convert_to_numpy(chosen.row)]


def thresholds_among(score: Score, samples: Samples, decision: AtRate) -> np.ndarray:
    """Like `thresholds_of`, but chosen from the probabilities of samples."""
    ranks = ranked(samples)
    chosen = best(score, ranks.cells, decision)
    p = ops.convert_to_numpy(ranks.probability)
    every = np.concatenate([np.full_like(p[:1], np.inf), p])
    return np.take_along_axis(every, ops.convert_to_numpy(chosen.row), 0)


def _nothing(cells: ConfusionMatrix) -> Tensor:
    return 0 * cells.total  # NaN stays NaN
