"""Losses as the authors' code (torch-btg 0.0.1) computes them, to study the effect of its errors; never use them.

In soft F1 two things differ from the paper's equations. Samples that do not belong in a cell enter it as
H(0, threshold), which is not zero for the sigmoid: every negative is a phantom true positive. And the threshold is
replaced by 1 - threshold on one side of it, so the cells do not add up. The loss is 1 - the mean F1 over the thresholds
0.1 ... 0.9. The docstrings of WMW and Dice say what is wrong with those.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_softsets import LinearHeaviside, SigmoidHeaviside
from studies.engine import baselines
from studies.engine.evaluation import THRESHOLDS

_SMALL = 1e-7
# The authors' default is a delta of 0.2, where the paper says 0.1.
HEAVISIDES = {"linear": LinearHeaviside(delta=0.2), "sigmoid": SigmoidHeaviside(k=10.0)}


def soft_f1(heaviside: str) -> Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]:
    """Returns soft F1 as a loss, with the linear or the sigmoid approximation."""
    step = HEAVISIDES[heaviside]

    def loss(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        scores = [_f1(step, labels, tf.sigmoid(logits), weights, threshold) for threshold in THRESHOLDS]
        return 1 - tf.add_n(scores) / len(scores)

    return loss


def _f1(step: Callable, y: tf.Tensor, p: tf.Tensor, weights: tf.Tensor, threshold: float) -> tf.Tensor:
    def cell(x: tf.Tensor, condition: tf.Tensor, then: float, otherwise: float) -> tf.Tensor:
        # Both sides are computed, because the approximations take the threshold as a number.
        return tf.reduce_sum(weights * tf.where(condition, step(x, then), step(x, otherwise)), 0)

    tp = cell(y * p, p > threshold, threshold, 1 - threshold)
    fn = cell(y * (1 - p), p < threshold, 1 - threshold, threshold)
    fp = cell((1 - y) * p, p < threshold, threshold, 1 - threshold)
    precision, recall = tp / (tp + fp + _SMALL), tp / (tp + fn + _SMALL)
    return 2 * precision * recall / (precision + recall + _SMALL)


def wmw(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """WMW on logits, with the positives also in place of the negatives."""
    return baselines.squared_margins(logits, weights * labels, weights * labels)


def dice_logits(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Dice of logits as the mean of one coefficient for each sample, y x / (y^2 + x^2).

    That is 0 for every negative, whatever the network predicts, so only positives are learned from.
    """
    coefficients = labels * logits / (labels + tf.square(logits) + 1e-7)
    return 1 - tf.math.divide_no_nan(tf.reduce_sum(weights * coefficients, 0), tf.reduce_sum(weights, 0))


def dice(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Dice of probabilities, with the same error."""
    return dice_logits(labels, tf.sigmoid(logits), weights)
