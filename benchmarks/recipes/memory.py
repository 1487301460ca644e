"""A running memory of the cells, for batches that are too small to be sets: a stochastic compositional gradient.

The score of an average is not the average of scores, so at small batches a set loss has a biased gradient. With M a
moving average of the cells, <d(1 - score)/dC at M, C of the batch> has the gradient of the score where the average is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from benchmarks.recipes.objectives import Batch


class Remembered(NamedTuple):
    """A set loss with a memory.

    Attributes:
        loss: A `SoftSetLoss` with one value for each trial, `average=None` and one threshold.
        window: Length of the memory, in samples.
    """

    loss: Any
    window: int = 4096

    def start(self, trials: int) -> tf.Tensor:
        """Returns an empty memory: averages of four cells, and the weight of what they contain, (5, trials)."""
        return tf.zeros([5, trials])

    def __call__(self, batch: Batch, memory: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the loss of each trial, and the memory with this batch."""
        samples = tf.reduce_sum(tf.cast(batch.weights > 0, tf.float32), 0)
        cells = tf.cast(self.loss.evaluation.totals(*batch[:3]), tf.float32)[:, 0] / samples  # (4, trials), per sample
        kept = tf.pow(1 - 1 / self.window, samples)
        seen = tf.concat([tf.stop_gradient(cells), tf.ones_like(cells[:1])], 0)
        memory = kept * memory + (1 - kept) * seen
        # Divided by the weight of everything seen, so that the initial zeros do not count.
        slope = self._slope(memory[:4] / memory[4:])
        return tf.reduce_sum(tf.stop_gradient(slope) * cells, 0), memory

    def _slope(self, cells: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(cells)
            loss = tf.reduce_sum(self.loss.of_totals(cells[:, None]))
        return tape.gradient(loss, cells)
