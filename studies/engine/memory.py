"""A running memory of the cells, for batches that are too small to be sets.

The score of an average is not the average of scores, so at small batches a set loss has a biased gradient. With M a
moving average of the cells, <d(1 - score)/dC at M, C of the batch> has the gradient of the score where the average is:
a stochastic compositional gradient. Guided cross-entropy takes its weights from the same place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsets import ConfusionMatrix, confusion_matrix
from studies.engine.objectives import Batch, Loss


class Remembered(NamedTuple):
    """One minus a score of cells at 0.5, with a memory.

    Attributes:
        score: A score of `keras_softsets.scores`.
        window: Length of the memory, in samples.
    """

    score: Any
    window: int = 4096

    def start(self, trials: int) -> tf.Tensor:
        """Returns an empty memory: averages of four cells, and the weight of what they contain, (5, trials)."""
        return tf.zeros([5, trials])

    def __call__(self, batch: Batch, memory: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the loss of each trial, and the memory with this batch."""
        samples = tf.reduce_sum(tf.cast(batch.weights > 0, tf.float32), 0)
        cells = cells_of(batch) / samples  # (4, trials), per sample
        kept = tf.pow(1 - 1 / self.window, samples)
        seen = tf.concat([tf.stop_gradient(cells), tf.ones_like(cells[:1])], 0)
        memory = kept * memory + (1 - kept) * seen
        # Divided by the weight of everything seen, so that the initial zeros do not count.
        slope = gradient(self.score, memory[:4] / memory[4:])
        return -tf.reduce_sum(tf.stop_gradient(slope) * cells, 0), memory


class Guided(NamedTuple):
    """`GuidedCrossentropy` at 0.5, for trials that have a running matrix each, alone or beside another loss.

    Attributes:
        score: A score of `keras_softsets.scores`.
        beside: Another loss, whose weight is 1. Defaults to `None`: none.
        weight: Of the guided cross-entropy.
        window: Length of the memory, in samples.
        heaviside: What makes a matrix of predictions. Defaults to `"linear"`, as in the package.
    """

    score: Any
    beside: Loss | None = None
    weight: float = 1.0
    window: int = 4096
    heaviside: Any = "linear"

    def start(self, trials: int) -> tf.Tensor:
        """Returns an empty memory: the decaying sum of the cells, (4, trials)."""
        return tf.zeros([4, trials])

    def __call__(self, batch: Batch, memory: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the loss of each trial, and the memory with this batch."""
        cells = tf.stop_gradient(cells_of(batch, self.heaviside))
        samples = tf.reduce_sum(cells, 0)
        memory = memory * tf.exp(-samples / self.window) + cells
        loss = self.weight * self._entropy(batch, memory, samples)
        return loss if self.beside is None else loss + self.beside(*batch[:3]), memory

    def _entropy(self, batch: Batch, memory: tf.Tensor, samples: tf.Tensor) -> tf.Tensor:
        slope = gradient(self.score, memory)
        positive, negative = (tf.nn.relu(gain) for gain in (slope[0] - slope[2], slope[3] - slope[1]))
        entropy = tf.nn.sigmoid_cross_entropy_with_logits(batch.labels, batch.logits)
        each = batch.weights * (positive * batch.labels + negative * (1 - batch.labels)) * entropy
        mean = positive * (memory[0] + memory[2]) + negative * (memory[1] + memory[3])
        return tf.math.divide_no_nan(tf.reduce_sum(each, 0) / samples * tf.reduce_sum(memory, 0), mean)


def gradient(score: Any, cells: tf.Tensor) -> tf.Tensor:
    """Returns how the score changes with each cell, (4, trials)."""
    with tf.GradientTape() as tape:
        tape.watch(cells)
        total = tf.reduce_sum(score(ConfusionMatrix(*tf.unstack(cells))))
    return tf.stop_gradient(tape.gradient(total, cells))


def cells_of(batch: Batch, heaviside: Any = "linear") -> tf.Tensor:
    """Returns the cells of a batch, (4, trials), in the order of `ConfusionMatrix`."""
    cells = confusion_matrix(batch.labels, batch.logits, batch.weights, from_logits=True, heaviside=heaviside)
    return tf.stack(cells)[:, 0]
