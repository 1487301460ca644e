"""Scores at operating points: the best one among all thresholds that meet a rate, and the soft one at its boundary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_softsets._backend import Tensor
from keras_softsets._operating import _float_bins
from keras_softsets._operating._best import SLACK as SLACK
from keras_softsets._operating._best import best_value as best_value
from keras_softsets._operating._best import thresholds_among as thresholds_among
from keras_softsets._operating._best import thresholds_of as thresholds_of
from keras_softsets._operating._float_bins import samples_of_bins as samples_of_bins
from keras_softsets._operating._soft import soft_totals as soft_totals
from keras_softsets._operating._soft import soft_value as soft_value
from keras_softsets._ranked import ranked
from keras_softsets._samples import Samples
from keras_softsets.decisions import AtRate
from keras_softsets.heaviside import Heaviside
from keras_softsets.scores import Score
from keras_softsets.scores._averaging import Average, ZeroDivision


def totals(
    samples: Samples,
    decision: AtRate,
    heaviside: Heaviside,
    gather: Callable[[Samples], Samples] | None = None,
    *,
    additive: bool = False,
) -> Tensor:
    """Returns sums over samples: weights by probability, or `soft_totals` at the boundary over all replicas.

    The former are used if the approximation is the step, or if sums are accumulated over batches.
    """
    if additive or not heaviside.differentiable:
        return _float_bins.histogram(samples)
    return soft_totals(samples, decision, heaviside, samples if gather is None else gather(samples))


def value(score: Score, totals: Tensor, heaviside: Heaviside, *settings: Any) -> Tensor:
    """Returns the score of `totals`, averaged over rates and classes; the settings are those of `best_value`."""
    if not heaviside.differentiable:
        return best_value(score, _float_bins.cells(totals), *settings)
    if totals.shape[0] == 2:  # weights by probability
        return value_of_samples(score, samples_of_bins(totals), heaviside, *settings)
    return soft_value(score, totals, *settings)


def value_of_samples(
    score: Score,
    samples: Samples,
    heaviside: Heaviside,
    decision: AtRate,
    average: Average,
    zero_division: ZeroDivision,
) -> Tensor:
    """Returns the score of samples that are all available at once."""
    if not heaviside.differentiable:
        return best_value(score, ranked(samples).cells, decision, average, zero_division)
    return soft_value(score, soft_totals(samples, decision, heaviside, samples), decision, average, zero_division)
