"""Adam on plain tensors, as in `keras.optimizers.Adam`: a Keras optimizer cannot be used inside an XLA loop.

It is elementwise, so on stacked weights it is one Adam for each trial.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-7


class Moments(NamedTuple):
    """Running means of gradients and of their squares, one for each weight."""

    first: list[tf.Tensor]
    second: list[tf.Tensor]


def start(weights: list[tf.Tensor]) -> Moments:
    """Returns moments of zero."""
    return Moments([tf.zeros_like(w) for w in weights], [tf.zeros_like(w) for w in weights])


def update(
    weights: list[tf.Tensor], gradients: list[tf.Tensor], moments: Moments, step: tf.Tensor
) -> tuple[list[tf.Tensor], Moments]:
    """Returns the weights and moments after the `step`-th update, counted from 1."""
    count = tf.cast(step, tf.float32)
    rate = LEARNING_RATE * tf.sqrt(1 - tf.pow(BETA_2, count)) / (1 - tf.pow(BETA_1, count))
    first = [m + (g - m) * (1 - BETA_1) for m, g in zip(moments.first, gradients, strict=True)]
    second = [v + (tf.square(g) - v) * (1 - BETA_2) for v, g in zip(moments.second, gradients, strict=True)]
    moved = [w - m * rate / (tf.sqrt(v) + EPSILON) for w, m, v in zip(weights, first, second, strict=True)]
    return moved, Moments(first, second)
