"""Scores at operating points: the best among all thresholds that meet a rate, and the soft one at its boundary."""

from __future__ import annotations

from collections.abc import Callable

from keras_softsets._backend import Tensor
from keras_softsets._operating import _float_bins
from keras_softsets._operating._best import SLACK as SLACK
from keras_softsets._operating._best import best_value as best_value
from keras_softsets._operating._best import thresholds_of as thresholds_of
from keras_softsets._operating._soft import soft_totals as soft_totals
from keras_softsets._operating._soft import soft_value as soft_value
from keras_softsets._samples import Samples
from keras_softsets.decisions import AtRate
from keras_softsets.heaviside import Heaviside
from keras_softsets.scores import Score
from keras_softsets.scores._averaging import Average, ZeroDivision


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
