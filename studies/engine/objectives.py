"""The losses of the study for all trials side by side: labels, logits and weights (samples, trials) to (trials,).

Each is tested against the Keras loss that a user would write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from studies.engine.baselines import binary_crossentropy

Loss = Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]


class Batch(NamedTuple):
    """What an objective sees; `epoch` is counted from 0, and infinite for validation."""

    labels: tf.Tensor
    logits: tf.Tensor
    weights: tf.Tensor
    epoch: tf.Tensor


class Plain(NamedTuple):
    """A loss of the batch alone."""

    loss: Loss

    def start(self, trials: int) -> tf.Tensor:
        """Returns what is remembered before the first batch: nothing."""
        return tf.zeros([0, trials])

    def __call__(self, batch: Batch, memory: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the loss of each trial, and what is remembered after this batch."""
        return self.loss(*batch[:3]), memory


class Scheduled(NamedTuple):
    """Cross-entropy first: the loss's weight grows linearly from 0 to 1 over some epochs, as by `BlendSchedule`."""

    loss: Loss
    epochs: int = 20

    def start(self, trials: int) -> tf.Tensor:
        """Returns what is remembered before the first batch: nothing."""
        return tf.zeros([0, trials])

    def __call__(self, batch: Batch, memory: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the loss of each trial, and what is remembered after this batch."""
        weight = tf.minimum(batch.epoch / self.epochs, 1.0)
        return weight * self.loss(*batch[:3]) + binary_crossentropy(*batch[:3]), memory


def soft(loss: Callable[..., Any], **options: Any) -> Loss:
    """Returns a loss of this package: to it a trial is a class, so `average=None` gives each trial its own."""
    return loss(average=None, reduction=None, from_logits=True, **options)


def blended(loss: Loss, bce: float) -> Loss:
    """Returns a loss plus `bce` times cross-entropy."""
    return lambda *batch: loss(*batch) + bce * binary_crossentropy(*batch)


def focal(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """`keras.losses.BinaryFocalCrossentropy`, gamma = 2."""
    each = keras.losses.binary_focal_crossentropy(labels[..., None], logits[..., None], from_logits=True)
    return tf.reduce_sum(weights * each, 0) / tf.reduce_sum(tf.cast(weights > 0, tf.float32), 0)


def dice(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """`keras.losses.Dice` on probabilities; weights are 0 or 1."""
    return keras.losses.dice(weights * labels, weights * tf.sigmoid(logits), axis=0)
