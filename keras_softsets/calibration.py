"""How far probabilities are from frequencies: the calibration error and the Brier score, lower is better.

They are no scores of a confusion matrix, because they read probabilities and not decisions. The metrics of the same
names in `keras_softsets.metrics` add the same totals up over batches and replicas.
"""

from __future__ import annotations

import numpy as np
from keras import ops

from keras_softsets import _backend
from keras_softsets._backend import Tensor
from keras_softsets._checks import check_whole_number
from keras_softsets._inputs import as_samples
from keras_softsets.samples import Samples, check_order, explain


def calibration_error(y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None, *, bins: int = 15) -> float:
    """Computes the expected calibration error: how much a probability differs from the share of positives.

    Formula: `sum over bins of |sum w (y - p)| / sum w`, with bins of equal width in p. For several classes, the mean
    over the classes that have weight, each against the rest. `compare` reports it with bins of equal numbers of
    samples.

    Args:
        y_true: Labels in [0, 1]: `(n,)` or `(..., classes)`; or class ids, without the last axis of `y_pred`.
        y_pred: Probabilities of the same shape, up to a last axis of length 1; of logits, pass the sigmoid or softmax.
        sample_weight: Weights that line up with `y_pred` from the left. Weight 2 means two copies, weight 0 means
            absent. Defaults to `None`.
        bins: Number of bins, at least 1. Defaults to `15`.

    Examples:
        >>> round(calibration_error([0, 0, 1, 1], [0.1, 0.3, 0.3, 0.9]), 4)
        0.15

    Reference:
        [Guo et al., 2017](https://arxiv.org/abs/1706.04599)
    """
    bins = check_whole_number("bins", bins, 1, 10**6)
    check_order(y_true, y_pred)
    samples = as_samples(y_true, y_pred, sample_weight)
    totals = sum_bins(samples, bins)
    explain(samples, totals)
    return float(ops.convert_to_numpy(error_of_bins(totals)))


def brier_score(y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> float:
    """Computes the Brier score: the mean squared difference between probability and label.

    Formula: `sum w (p - y)^2 / sum w`. For several classes, the mean over those that have weight: the sum of
    the original definition, divided by their number.

    Args:
        y_true: Labels in [0, 1]: `(n,)` or `(..., classes)`; or class ids, without the last axis of `y_pred`.
        y_pred: Probabilities of the same shape, up to a last axis of length 1; of logits, pass the sigmoid or softmax.
        sample_weight: Weights that line up with `y_pred` from the left. Defaults to `None`.

    Examples:
        >>> round(brier_score([0, 0, 1, 1], [0.1, 0.3, 0.3, 0.9]), 4)
        0.15

    Reference:
        [Brier, 1950](https://doi.org/10.1175/1520-0493(1950)078%3C0001:VOFEIT%3E2.0.CO;2)
    """
    samples = as_samples(y_true, y_pred, sample_weight)
    totals = sum_squares(samples)
    explain(samples, totals)
    return float(ops.convert_to_numpy(mean_square(totals)))


def sum_bins(samples: Samples, bins: int) -> Tensor:
    """Returns what is summed over samples, (2, bins, classes), in float64: w (y - p), and w."""
    y, p, w = _cleaned(samples)
    # Compared with every edge but the first: a multiplication would put a few numbers on the wrong side.
    edges = np.linspace(0, 1, bins + 1)[1:-1].astype("float32")
    place = ops.cast(ops.searchsorted(edges, ops.reshape(p, (-1,)), side="right"), "int32")
    classes = ops.shape(p)[-1]
    column = ops.reshape(ops.broadcast_to(ops.arange(classes, dtype="int32"), ops.shape(p)), (-1,))
    sums = _backend.bin_sums(place * classes + column, [w * (y - p), w], bins * classes)
    return ops.reshape(sums, (2, bins, classes))


def error_of_bins(totals: Tensor) -> Tensor:
    """The calibration error of such totals; 0 if there is no weight."""
    return _mean(ops.sum(ops.abs(totals[0]), 0), ops.sum(totals[1], 0))


def sum_squares(samples: Samples) -> Tensor:
    """Returns what is summed over samples, (2, classes), in float64: w (p - y)^2, and w."""
    y, p, w = _cleaned(samples)
    return ops.stack([_backend.total(x) for x in (w * ops.square(p - y), w)])


def mean_square(totals: Tensor) -> Tensor:
    """The Brier score of such totals; 0 if there is no weight."""
    return _mean(totals[0], totals[1])


def _cleaned(samples: Samples) -> tuple[Tensor, Tensor, Tensor]:
    y, p, w = samples.cleaned()[:3]
    return y, p, ops.ones_like(p) if w is None else ops.broadcast_to(w, ops.shape(p))


def _mean(sums: Tensor, weights: Tensor) -> Tensor:
    """The mean of the means of the classes that have weight: without any, an error of 0 would be praise."""
    nothing = ops.equal(weights, 0)  # False for NaN
    means, classes = sums / ops.where(nothing, 1.0, weights), ops.sum(ops.cast(ops.logical_not(nothing), sums.dtype))
    return ops.sum(means) / _backend.maximum(classes, 1.0)
