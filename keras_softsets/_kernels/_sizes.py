"""Few sizes for all batches: XLA compiles for each, and never forgets one (0.3 to 1 s and 3 to 5 MB every time).

Samples that are added have the weight 0, so nothing depends on them. Below 2^17 elements, where they cost next to
nothing, sizes are powers of two; above, four for each octave, so that at most a quarter is added.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsets._backend import Tensor

_FEWEST = 2**9  # elements; fewer take as long
_MANY = 2**17  # elements, beyond which added ones are felt
_POWERS = 2 ** np.arange(31, dtype="int32")
_QUARTERS = np.unique(np.outer(_POWERS[2:-1], [4, 5, 6, 7]) // 4).astype("int32")


def is_known(x: Tensor) -> bool:
    """Whether a graph is for one number of samples alone, so that there is nothing to save."""
    return not tf.executing_eagerly() and x.shape[0] is not None


def padded(*arrays: Tensor) -> list[Tensor]:
    """Appends zeros to arrays of (samples, classes), up to the next of the few sizes; no copy if there are none."""
    samples, classes = tf.unstack(tf.shape(arrays[0]))
    zeros = [[0, padded_size(samples, classes) - samples], [0, 0]]
    return [tf.pad(x, zeros) for x in arrays]


def padded_size(samples: Tensor, classes: Tensor) -> Tensor:
    """The smallest of the few sizes that holds the samples."""
    least = tf.maximum(samples, _FEWEST // tf.maximum(classes, 1))
    # In float32, because the number of elements may be beyond int32.
    many = tf.cast(samples, tf.float32) * tf.cast(classes, tf.float32) > _MANY
    return tf.where(many, _next(least, _QUARTERS), _next(least, _POWERS))


def _next(samples: Tensor, sizes: np.ndarray) -> Tensor:
    return tf.reduce_min(tf.where(sizes >= samples, sizes, tf.maximum(samples, sizes[-1])))
