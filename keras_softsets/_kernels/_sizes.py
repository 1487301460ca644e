"""Pads all batches to a few sizes: XLA compiles for every size, in 0.3 to 1 s, and never frees the 3 to 5 MB it takes.

Padding has weight 0, so nothing depends on it. Below 2^17 elements, where padding costs next to nothing, sizes are
powers of two; above, there are four sizes for each power, so that at most a quarter is added.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsets._backend import Tensor

_FEWEST = 2**9  # elements; fewer take just as long
_MANY = 2**17  # elements, beyond which padding becomes noticeable
_POWERS = 2 ** np.arange(31, dtype="int32")
_QUARTERS = np.unique(np.outer(_POWERS[2:-1], [4, 5, 6, 7]) // 4).astype("int32")


def is_known(x: Tensor) -> bool:
    """Whether this is a graph for a single number of samples, so that padding would save nothing."""
    return not tf.executing_eagerly() and x.shape[0] is not None


def padded(*arrays: Tensor) -> list[Tensor]:
    """Appends zeros to arrays of (samples, classes), up to the next size; copies nothing if none are needed."""
    samples, classes = tf.unstack(tf.shape(arrays[0]))
    zeros = [[0, padded_size(samples, classes) - samples], [0, 0]]
    return [tf.pad(x, zeros) for x in arrays]


def padded_size(samples: Tensor, classes: Tensor) -> Tensor:
    """The smallest size that holds the samples."""
    least = tf.maximum(samples, _FEWEST // tf.maximum(classes, 1))
    # In float32, because the number of elements may overflow int32.
    many = tf.cast(samples, tf.float32) * tf.cast(classes, tf.float32) > _MANY
    return tf.where(many, _next(least, _QUARTERS), _next(least, _POWERS))


def _next(samples: Tensor, sizes: np.ndarray) -> Tensor:
    return tf.reduce_min(tf.where(sizes >= samples, sizes, tf.maximum(samples, sizes[-1])))
