"""Sums of two numbers for each sample, by bin and class: the only part of the kernels that scatters.

On a CPU the two are one complex number in float64. XLA (TF 2.21) adds such a number to its bin in a third of the time
that it needs for two float32 numbers, because it computes the addends before the loop that adds them up, not inside it.
Sums in float64 need not be short, either, so all blocks share the same bins. A GPU would add complex numbers one after
the other, so there the two are separate float32 sums, which use atomic additions and are joined in float64 after each
block.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsets._backend._types import Tensor
from keras_softsets._backend.tensorflow._blocks import a_gpu_is_visible

_LANES = 8  # neighbours in the same bin would wait for each other; those of different classes never share one
_FEW, _SMALL_BLOCK = 2**14, 2**9  # for few elements: from about 600, XLA starts threads, at more cost than the work
_LEAST_PER_BIN = 8  # elements in a block for each bin, so that clearing and joining bins is cheap beside counting


class Bins:
    """Pairs of sums for `size` bins of each class.

    Args:
        size: Number of bins.
        classes: Number of classes.
    """

    def __init__(self, size: Tensor, classes: Tensor, lanes: int = _LANES) -> None:
        self.size, self.classes = size, classes
        self.lanes = tf.maximum(lanes // tf.maximum(classes, 1), 1)
        self.total = size * classes * self.lanes
        self.paired = not a_gpu_is_visible()

    def block(self, room: int, samples: Tensor) -> Tensor:
        """The number of elements to process at once: `room`, less for few on a CPU, more for many bins on a GPU."""
        if self.paired:
            return tf.where(samples * self.classes <= _FEW, _SMALL_BLOCK, room)
        return tf.maximum(room, _LEAST_PER_BIN * self.size * self.classes)

    def empty(self) -> Tensor:
        """Returns sums of zero."""
        return tf.zeros([self.total], tf.complex128) if self.paired else tf.zeros([2, self.total], tf.float64)

    def add(self, sums: Tensor, bins: Tensor, first: Tensor, second: Tensor) -> Tensor:
        """Returns `sums` with two numbers for each element, (samples, classes), added to its bin."""
        lane = tf.range(tf.shape(bins)[0])[:, None] % self.lanes
        index = bins + self.size * (tf.range(self.classes) + self.classes * lane)
        if not self.paired:
            added = [tf.math.unsorted_segment_sum(x, index, self.total) for x in (first, second)]
            return sums + tf.cast(tf.stack(added), tf.float64)
        pair = tf.complex(tf.cast(first, tf.float64), tf.cast(second, tf.float64))
        return tf.tensor_scatter_nd_add(sums, tf.reshape(index, [-1, 1]), tf.reshape(pair, [-1]))

    def is_nan(self, sums: Tensor) -> Tensor:
        """Whether a sum is NaN; if one number of a pair is, so is the other."""
        return tf.math.is_nan(tf.math.real(sums) if self.paired else sums)

    def masses(self, sums: Tensor) -> Tensor:
        """Returns the sums of both numbers in float64, (2, classes, size)."""
        both = tf.stack([tf.math.real(sums), tf.math.imag(sums)]) if self.paired else sums
        return tf.reduce_sum(tf.reshape(both, [2, self.lanes, self.classes, self.size]), 1)
