"""The losses by name, each (labels, logits, weights), all of shape (samples, trials), to one loss for each trial.

The soft-set losses are the package's: to them a trial is a class, so `average=None` gives each trial its own loss. The
baselines are here because they are baselines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

import keras_softsets as kss
from benchmarks.paper import published
from benchmarks.paper.evaluation import THRESHOLDS

Objective = Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]

WMW_MARGIN = 0.3
DICE_SMOOTHING = 1.0


def _soft(loss: Callable[..., Any], **options: Any) -> Objective:
    return loss(average=None, reduction=None, from_logits=True, **options)


def binary_crossentropy(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Mean cross-entropy over the samples that count, as in `fit`: weights scale the terms, not the divisor."""
    terms = weights * tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)
    counted = tf.reduce_sum(tf.cast(weights > 0, tf.float32), 0)
    return tf.reduce_sum(terms, 0) / counted


def wmw(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Yan et al.'s surrogate of the Wilcoxon-Mann-Whitney statistic on probabilities, over (positive, negative)."""
    return squared_margins(tf.sigmoid(logits), weights * labels, weights * (1 - labels))


def wmw_published(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The same as in the authors' code: on logits, and with the positives in the place of the negatives too."""
    return squared_margins(logits, weights * labels, weights * labels)


def squared_margins(values: tf.Tensor, upper: tf.Tensor, lower: tf.Tensor, margin: float = WMW_MARGIN) -> tf.Tensor:
    """Mean over pairs (i, j), weighted upper_i * lower_j, of max(0, margin - (values_i - values_j))^2.

    No pair is formed: with values_j + margin sorted, those above values_i are a suffix, and over a suffix the square
    is expanded into sums of 1, v and v^2. That is O(n log n) where pairs would be O(n^2).
    """
    values, upper, lower = (tf.transpose(x) for x in (values, upper, lower))  # (trials, samples)
    centre = tf.stop_gradient(tf.reduce_mean(values, 1, keepdims=True))  # smaller numbers, smaller rounding errors
    below, raised = values - centre, values - centre + margin
    both = tf.concat([below, raised], 1)
    order = tf.argsort(tf.stop_gradient(both), 1)
    asks = tf.gather(tf.concat([upper, tf.zeros_like(lower)], 1), order, axis=1, batch_dims=1)
    answers = tf.gather(tf.concat([tf.zeros_like(upper), lower], 1), order, axis=1, batch_dims=1)
    value = tf.cast(tf.gather(both, order, axis=1, batch_dims=1), tf.float64)
    asks, answers = tf.cast(asks, tf.float64), tf.cast(answers, tf.float64)
    # Products rather than powers: the gradient of v**0 at v = 0 is NaN.
    terms = (answers, answers * value, answers * value * value)
    count, total, square = (tf.cumsum(term, 1, reverse=True) for term in terms)
    pairs = tf.reduce_sum(upper, 1) * tf.reduce_sum(lower, 1)
    losses = tf.reduce_sum(asks * (square - 2 * value * total + value * value * count), 1)
    return tf.math.divide_no_nan(tf.cast(losses, tf.float32), pairs)


def dice_logits(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """1 - Dice coefficient of raw logits, the supplement's "DICE (logit only)"."""
    overlap = tf.reduce_sum(weights * labels * logits, 0)
    sizes = tf.reduce_sum(weights * (labels + logits), 0)
    return 1 - (2 * overlap + DICE_SMOOTHING) / (sizes + DICE_SMOOTHING)


def dice(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """1 - Dice coefficient of probabilities, the supplement's "DICE^s"."""
    return dice_logits(labels, tf.sigmoid(logits), weights)


def dice_logits_published(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The same as in the authors' code: the mean of one Dice for each sample, y x / (y^2 + x^2).

    That is 0 for every negative, whatever the network says of it, so only positives are learnt from.
    """
    coefficients = labels * logits / (labels + tf.square(logits) + 1e-7)
    return 1 - tf.math.divide_no_nan(tf.reduce_sum(weights * coefficients, 0), tf.reduce_sum(weights, 0))


def dice_published(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The same of probabilities."""
    return dice_logits_published(labels, tf.sigmoid(logits), weights)


OBJECTIVES: dict[str, Objective] = {
    **{f"f1_{h}": _soft(kss.SoftF1, heaviside=h) for h in ("linear", "sigmoid")},
    **{f"accuracy_{h}": _soft(kss.SoftAccuracy, heaviside=h) for h in ("linear", "sigmoid")},
    **{f"auroc_{h}": _soft(kss.SoftAUROC, heaviside=h) for h in ("linear", "sigmoid")},
    **{f"f1_{h}_published": published.soft_f1(h) for h in ("linear", "sigmoid")},
    "f1_linear_mean": _soft(kss.SoftF1, threshold=THRESHOLDS, heaviside=kss.LinearHeaviside(delta=0.2)),
    "f2_linear": _soft(kss.SoftFBeta, beta=2),
    "f3_linear": _soft(kss.SoftFBeta, beta=3),
    "bce": binary_crossentropy,
    "wmw": wmw,
    "wmw_published": wmw_published,
    "dice": dice,
    "dice_published": dice_published,
    "dice_logits": dice_logits,
    "dice_logits_published": dice_logits_published,
}

# What the test outputs are read as; BCE is read both ways, since only the reading differs.
READINGS = {
    "bce": ("probabilities", "logits"),
    **dict.fromkeys(("wmw_published", "dice_logits", "dice_logits_published"), ("logits",)),
}


def readings(loss: str) -> tuple[str, ...]:
    """Returns how the outputs of a network trained on `loss` are read: as probabilities, as logits, or both."""
    return READINGS.get(loss, ("probabilities",))
