"""Scores at operating points: the best among all thresholds that meet a rate, and the soft one at its boundary.

The gradient of a loss has two parts. With g the soft rate and t the threshold, a score s of the cells has, as long as
the rate is kept, the gradient ds/dp - (ds/dt) (dg/dp) / (dg/dt) (implicit differentiation). Cells that have moved by
dC/dt * -(g - constant(g)) / (dg/dt) have the same values and exactly that gradient, in any score.

Reference:
    [Kumar et al., 2021](https://arxiv.org/abs/2107.10960)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_softsets import _float_bins, _kernels, scores
from keras_softsets._at_least import SLACK
from keras_softsets._backend import Tensor
from keras_softsets._samples import Samples
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.heaviside import Heaviside
from keras_softsets.operating_points import AtRate
from keras_softsets.scores import Score
from keras_softsets.scores._arithmetic import undefined_where
from keras_softsets.scores._averaging import Average, ZeroDivision

_LEAST_CHANGE = 1e-3  # of a rate, per share of the distance from the threshold to the nearer end
_RISES = {"recall": -1.0, "specificity": 1.0, "precision": 1.0}  # the rate's way as the threshold rises


class Chosen(NamedTuple):
    """The operating points of one score, (rates, classes).

    Attributes:
        row: The row of the cells from which it was chosen, counted from 1; 0 is "nothing is positive".
        met: Whether any threshold meets the rate; if none does, nothing is positive.
        cells: The cells there.
    """

    row: Tensor
    met: Tensor
    cells: ConfusionMatrix


def totals(
    samples: Samples, decision: AtRate, heaviside: Heaviside, gather: Callable[[Samples], Samples] | None = None
) -> Tensor:
    """Returns sums over samples: weights by probability, or if soft, `soft_totals` at the boundary of all replicas."""
    if not heaviside.differentiable:
        return _float_bins.histogram(samples)
    return soft_totals(samples, decision, heaviside, samples if gather is None else gather(samples))


def value(
    score: Score,
    totals: Tensor,
    heaviside: Heaviside,
    decision: AtRate,
    average: Average,
    zero_division: ZeroDivision,
) -> Tensor:
    """Returns the score of `totals`, averaged over rates and classes."""
    if heaviside.differentiable:
        return soft_value(score, totals, decision, average, zero_division)
    return best_value(score, _float_bins.cells(totals), decision, average, zero_division)


def best(score: Score, cells: ConfusionMatrix, decision: AtRate) -> Chosen:
    """Chooses, for each rate and class, the threshold of the highest score among those that meet the rate.

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
    """Whether a rate is at least as wanted; without a division, which over all bins costs more than everything else."""
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
    return _averaged(score, chosen.cells, chosen.met, _nothing, decision, average, zero_division)


def thresholds_of(score: Score, totals: Tensor, decision: AtRate) -> np.ndarray:
    """Returns the thresholds that were chosen from weights by probability, (rates, classes); inf if none meets."""
    chosen = best(score, _float_bins.cells(totals), decision)
    every = np.append(np.inf, _float_bins.thresholds())
    return every[ops.convert_to_numpy(chosen.row)]


def soft_totals(samples: Samples, decision: AtRate, heaviside: Heaviside, everything: Samples) -> Tensor:
    """Returns what `soft_value` needs, as sums over samples: (7, rates, classes), in float64.

    These are the cells at the boundary, how tp and fp change with the threshold, and whether a rate is out of reach.

    Args:
        samples: The samples to add up.
        decision: The rates.
        heaviside: The approximation.
        everything: The samples on which the rates are met, those of all replicas.
    """
    found = decision.boundary(everything)
    sums = _kernels.sum_moving_cells(samples, found.inside(), heaviside)
    missed = ops.cast(ops.logical_not(found.met), "float64")
    return ops.concatenate([sums, missed[None]], 0)


def soft_value(score: Score, totals: Tensor, decision: AtRate, average: Average, zero_division: ZeroDivision) -> Tensor:
    """Returns the score of soft cells whose threshold keeps the rate; if it is out of reach, how much is missing."""
    tp, fp, fn, tn, tp_change, fp_change, missed = ops.unstack(totals, 7)
    cells, met = ConfusionMatrix(tp, fp, fn, tn), missed <= 0
    moved = _keeping_the_rate(cells, tp_change, fp_change, met, decision)

    def missing(cells: ConfusionMatrix) -> Tensor:
        return scores.get(decision.rate)(cells) - _column(decision, cells)

    return _averaged(score, moved, met, missing, decision, average, zero_division)


def _keeping_the_rate(
    cells: ConfusionMatrix, tp_change: Tensor, fp_change: Tensor, met: Tensor, decision: AtRate
) -> ConfusionMatrix:
    """The same cells, with the gradient of those whose threshold moves so that the rate stays."""
    rate = scores.get(decision.rate)(cells)
    change = _RISES[decision.rate] * _rate_change(cells, tp_change, fp_change, decision.rate)
    change = _RISES[decision.rate] * ops.maximum(change, _LEAST_CHANGE)
    step = ops.where(met, -(rate - ops.stop_gradient(rate)) / ops.stop_gradient(change), 0.0)
    positive, negative = (step * ops.stop_gradient(x) for x in (tp_change, fp_change))
    return ConfusionMatrix(cells.tp + positive, cells.fp + negative, cells.fn - positive, cells.tn - negative)


def _rate_change(cells: ConfusionMatrix, tp_change: Tensor, fp_change: Tensor, rate: str) -> Tensor:
    if rate == "recall":
        return scores.ratio(tp_change, cells.positives, cells)
    if rate == "specificity":
        return -scores.ratio(fp_change, cells.negatives, cells)
    called = cells.predicted_positives
    share = scores.ratio(cells.tp, called, cells)
    return scores.ratio(tp_change - share * (tp_change + fp_change), called, cells)


def _averaged(
    score: Score,
    cells: ConfusionMatrix,
    met: Tensor,
    otherwise: Callable[[ConfusionMatrix], Tensor],
    decision: AtRate,
    average: Average,
    zero_division: ZeroDivision,
) -> Tensor:
    """Averages the score of one row of cells for each rate, with another value where the rate is not met."""
    counts = cells.negatives if decision.rate == "specificity" else cells.positives
    meaningless = counts <= 0
    if average == "micro":
        met, meaningless = ops.any(met, 1, keepdims=True), ops.all(meaningless, 1, keepdims=True)

    def at_point(cells: ConfusionMatrix) -> Tensor:
        value = ops.where(met, score(cells), otherwise(cells))
        return undefined_where(meaningless, value)

    return scores.averaged(Score(at_point, registered=False), cells, average, zero_division)


def _nothing(cells: ConfusionMatrix) -> Tensor:
    return 0 * cells.total  # NaN stays NaN


def _column(decision: AtRate, cells: ConfusionMatrix) -> Tensor:
    return ops.cast(np.asarray(decision.rates)[:, None], cells.tp.dtype)
