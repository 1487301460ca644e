"""The soft score at the boundary of a rate.

The gradient of a loss has two parts. Let g be the soft rate and t the threshold. If the rate is held constant, a score
s of the cells has the gradient ds/dp - (ds/dt) (dg/dp) / (dg/dt), by implicit differentiation. Shifting the cells C by
dC/dt * -(g - constant(g)) / (dg/dt) leaves their values unchanged and gives any score exactly that gradient.

Reference:
    [Kumar et al., 2021](https://arxiv.org/abs/2107.10960)
"""

from __future__ import annotations

import numpy as np
from keras import ops

from keras_softsets import _kernels, scores
from keras_softsets._backend import Tensor
from keras_softsets._operating._averaging import averaged_at_points
from keras_softsets._samples import Samples
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.decisions import AtRate
from keras_softsets.heaviside import Heaviside
from keras_softsets.scores import Score
from keras_softsets.scores._averaging import Average, ZeroDivision

_LEAST_CHANGE = 1e-3  # of a rate, in units of the distance from the threshold to the nearer end
_RISES = {"recall": -1.0, "specificity": 1.0, "precision": 1.0}  # how the rate changes as the threshold rises


def soft_totals(samples: Samples, decision: AtRate, heaviside: Heaviside, everything: Samples) -> Tensor:
    """Returns what `soft_value` needs, as sums over samples: (7, rates, classes), in float64.

    They are the cells at the boundary, the change of tp and fp with the threshold, and whether a rate is out of reach.

    Args:
        samples: The samples to add up.
        decision: The rates.
        heaviside: The approximation.
        everything: The samples on which the rates must be met: those of all replicas.
    """
    found = decision.boundary(everything)
    sums = _kernels.sum_moving_cells(samples, found.inside(), heaviside)
    missed = ops.cast(ops.logical_not(found.met), "float64")
    return ops.concatenate([sums, missed[None]], 0)


def soft_value(score: Score, totals: Tensor, decision: AtRate, average: Average, zero_division: ZeroDivision) -> Tensor:
    """Returns the score of soft cells whose threshold keeps the rate, or minus the shortfall if it is out of reach."""
    tp, fp, fn, tn, tp_change, fp_change, missed = ops.unstack(totals, 7)
    cells, met = ConfusionMatrix(tp, fp, fn, tn), missed <= 0
    moved = _keeping_the_rate(cells, tp_change, fp_change, met, decision)

    def missing(cells: ConfusionMatrix) -> Tensor:
        return scores.get(decision.rate)(cells) - _column(decision, cells)

    return averaged_at_points(score, moved, met, missing, decision, average, zero_division)


def _keeping_the_rate(
    cells: ConfusionMatrix, tp_change: Tensor, fp_change: Tensor, met: Tensor, decision: AtRate
) -> ConfusionMatrix:
    """The same cells, with the gradient that they have if the threshold moves to keep the rate constant."""
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


def _column(decision: AtRate, cells: ConfusionMatrix) -> Tensor:
    return ops.cast(np.asarray(decision.rates)[:, None], cells.tp.dtype)
