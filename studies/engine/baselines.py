"""The losses that set losses are compared with: cross-entropy, the WMW statistic and Dice, as they should be.

Each maps (labels, logits, weights), all of shape (samples, trials), to one loss for each trial.
"""

from __future__ import annotations

import tensorflow as tf

WMW_MARGIN = 0.3
DICE_SMOOTHING = 1.0


def binary_crossentropy(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Mean cross-entropy over the samples that count, as in `fit`: weights scale the terms, not the divisor."""
    terms = weights * tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)
    counted = tf.reduce_sum(tf.cast(weights > 0, tf.float32), 0)
    return tf.reduce_sum(terms, 0) / counted


def wmw(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Yan et al.'s surrogate of the Wilcoxon-Mann-Whitney statistic on probabilities, over (positive, negative)."""
    return squared_margins(tf.sigmoid(logits), weights * labels, weights * (1 - labels))


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
