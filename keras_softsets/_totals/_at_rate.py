"""Scores at operating points: soft cells where a rate is just met, and the best of all thresholds that meet it.

The gradient of a loss has two parts. Let g be the soft rate and t the threshold. If the rate is held constant, a score
s of the cells has the gradient ds/dp - (ds/dt) (dg/dp) / (dg/dt), by implicit differentiation. Shifting the cells C by
dC/dt * -(g - constant(g)) / (dg/dt) leaves their values unchanged and gives any score exactly that gradient.

Reference:
    [Kumar et al., 2021](https://arxiv.org/abs/2107.10960)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from keras import ops

from keras_softsets import _backend, scores
from keras_softsets._backend import Boundary, Tensor
from keras_softsets._totals._cells import Cells, averaged
from keras_softsets.decisions import Decision
from keras_softsets.heaviside import Heaviside
from keras_softsets.matrices import ConfusionMatrix, undefined_where
from keras_softsets.operating import FloatBins, best, cells_of_bins, ranked
from keras_softsets.samples import Samples
from keras_softsets.scores import Score

_LEAST_CHANGE = 1e-3  # of a rate, in units of the distance from the threshold to the nearer end
_RISES = {"recall": -1.0, "specificity": 1.0, "precision": 1.0}  # how the rate changes as the threshold rises


class AtRate(Cells):
    """Soft cells, whose threshold the samples of all replicas determine. The hard score needs the samples."""

    bits = 12  # a rate may be met inside one bin

    def sum(self, samples: Samples) -> Tensor:
        """The soft cells where the rates are just met on the global batch, and how they move, (7, rates, classes)."""
        return moving_cells(samples, self.boundary(_backend.gather_samples(samples)), self.heaviside)

    def boundary(self, samples: Samples) -> Boundary:
        """Where the rates are just met on these samples."""
        return _backend.boundary(samples, self.decision.rate, self.decision.rates)

    def value(self, score: Score, totals: Tensor) -> Tensor:
        """The soft score, or minus the shortfall if a rate is out of reach, averaged over rates and classes."""
        cells, met = cells_at_boundary(totals, self.decision)
        return self._averaged(score, cells, met, lambda cells: shortfall(cells, self.decision))

    def of_samples(self, score: Score, samples: Samples) -> Tensor:
        """The best score among all thresholds of these samples that meet the rate, or the soft score."""
        if self.heaviside.differentiable:
            return self.value(score, moving_cells(samples, self.boundary(samples), self.heaviside))
        if samples.prediction.shape[0] == 0:
            return self._best(score, ConfusionMatrix(*[ops.zeros((1, samples.classes), _backend.wide())] * 4))
        return self._best(score, ranked(samples).cells)

    def of_bins(self, score: Score, bins: FloatBins, weights: Tensor) -> Tensor:
        """The same of weights in bins of probabilities."""
        if self.heaviside.differentiable:
            return self.of_samples(score, bins.samples(weights))
        return self._best(score, cells_of_bins(weights))

    def _best(self, score: Score, cells: ConfusionMatrix) -> Tensor:
        chosen = best(score, cells, self.decision)
        return self._averaged(score, chosen.cells, chosen.met, lambda cells: 0 * cells.total)  # NaN stays NaN

    def _averaged(
        self, score: Score, cells: ConfusionMatrix, met: Tensor, otherwise: Callable[[ConfusionMatrix], Tensor]
    ) -> Tensor:
        """Averages over rates and classes, with another value where the rate is not met."""
        missing = (cells.negatives if self.decision.rate == "specificity" else cells.positives) <= 0
        if self.average == "micro":
            met, missing = ops.any(met, 1, keepdims=True), ops.all(missing, 1, keepdims=True)

        def at_point(cells: ConfusionMatrix) -> Tensor:
            return undefined_where(missing, ops.where(met, score(cells), otherwise(cells)), cells)

        return averaged(Score(at_point, registered=False), cells, self.average, self.zero_division)


def moving_cells(samples: Samples, found: Boundary, heaviside: Heaviside) -> Tensor:
    """Returns what `cells_at_boundary` needs, as sums over samples: (7, rates, classes), in float64.

    They are the cells at the boundary, the change of tp and fp with the threshold, and whether a rate is out of reach.

    Args:
        samples: The samples to add up.
        found: Where the rates are just met, on the samples of all replicas.
        heaviside: The approximation.
    """
    sums = _backend.sum_moving_cells(samples, found.inside(), heaviside)
    missed = ops.cast(ops.logical_not(found.met), _backend.wide())
    return ops.concatenate([sums, missed[None]], 0)


def cells_at_boundary(totals: Tensor, decision: Decision) -> tuple[ConfusionMatrix, Tensor]:
    """Returns the soft cells, whose gradient keeps the rate, and whether the rate is met."""
    tp, fp, fn, tn, tp_change, fp_change, missed = ops.unstack(totals, 7)
    cells, met = ConfusionMatrix(tp, fp, fn, tn), missed <= 0
    return _keeping_the_rate(cells, tp_change, fp_change, met, decision), met


def shortfall(cells: ConfusionMatrix, decision: Decision) -> Tensor:
    """Minus what is missing to the rate, as a score where the rate is out of reach."""
    wanted = ops.cast(np.asarray(decision.rates)[:, None], cells.tp.dtype)
    return scores.get(decision.rate)(cells) - wanted


def _keeping_the_rate(
    cells: ConfusionMatrix, tp_change: Tensor, fp_change: Tensor, met: Tensor, decision: Decision
) -> ConfusionMatrix:
    """The same cells, with the gradient that they have if the threshold moves to keep the rate constant."""
    rate = scores.get(decision.rate)(cells)
    change = _RISES[decision.rate] * _rate_change(cells, tp_change, fp_change, decision.rate)
    change = _RISES[decision.rate] * _backend.maximum(change, _LEAST_CHANGE)
    step = ops.where(met, -(rate - ops.stop_gradient(rate)) / ops.stop_gradient(change), 0.0)
    positive, negative = (step * ops.stop_gradient(x) for x in (tp_change, fp_change))
    return ConfusionMatrix(cells.tp + positive, cells.fp + negative, cells.fn - positive, cells.tn - negative)


def _rate_change(cells: ConfusionMatrix, tp_change: Tensor, fp_change: Tensor, rate: str) -> Tensor:
    if rate == "recall":
        return scores.ratio(tp_change, cells.positives, cells)
    if rate == "specificity":
        return -scores.ratio(fp_change, cells.negatives, cells)
    predicted = cells.predicted_positives
    share = scores.ratio(cells.tp, predicted, cells)
    return scores.ratio(tp_change - share * (tp_change + fp_change), predicted, cells)
