"""Soft F1 as the authors' code (torch-btg 0.0.1) computes it, to find out what its errors do; never use it.

Two things differ from the paper's equations. Samples that do not belong into a cell enter it as H(0, threshold),
which is not zero for the sigmoid: every negative is a phantom true positive. And the threshold is replaced by
1 - threshold on one side of it, so that the cells do not add up. The loss is 1 - the mean F1 over the thresholds
0.1 ... 0.9.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from benchmarks.paper.evaluation import THRESHOLDS
from keras_softsets import LinearHeaviside, SigmoidHeaviside

_SMALL = 1e-7
# The authors' default is a delta of 0.2, where the paper says 0.1.
HEAVISIDES = {"linear": LinearHeaviside(delta=0.2), "sigmoid": SigmoidHeaviside(k=10.0)}


def soft_f1(heaviside: str) -> Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]:
    """Returns the loss with the linear or the sigmoid approximation."""
    step = HEAVISIDES[heaviside]

    def loss(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        scores = [_f1(step, labels, tf.sigmoid(logits), weights, threshold) for threshold in THRESHOLDS]
        return 1 - tf.add_n(scores) / len(scores)

    return loss


def _f1(step: Callable, y: tf.Tensor, p: tf.Tensor, weights: tf.Tensor, threshold: float) -> tf.Tensor:
    def cell(x: tf.Tensor, condition: tf.Tensor, then: float, otherwise: float) -> tf.Tensor:
        # Both sides are computed, since the approximations take the threshold as a number.
        return tf.reduce_sum(weights * tf.where(condition, step(x, then), step(x, otherwise)), 0)

    tp = cell(y * p, p > threshold, threshold, 1 - threshold)
    fn = cell(y * (1 - p), p < threshold, 1 - threshold, threshold)
    fp = cell((1 - y) * p, p < threshold, threshold, 1 - threshold)
    precision, recall = tp / (tp + fp + _SMALL), tp / (tp + fn + _SMALL)
    return 2 * precision * recall / (precision + recall + _SMALL)
