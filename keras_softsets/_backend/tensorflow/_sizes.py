"""Pads all batches to a few sizes: XLA compiles for every size, in 0.3 to 1 s, and never frees the 3 to 5 MB it takes.

Padding has weight 0, so nothing depends on it. Below 2^17 elements, where padding costs next to nothing, sizes are
powers of two; above, there are four sizes for each power, so that at most a quarter is added.
"""

from __future__ import annotations

import functools

import numpy as np
import tensorflow as tf

from keras_softsets._backend._types import Tensor

_FEWEST = 2**9  # elements; fewer take just as long
_MANY = 2**17  # elements, beyond which padding becomes noticeable
_FEWEST_SAMPLES = 4  # a multiple of the slices that are added up, see `sum_samples`
_POWERS = 2 ** np.arange(31)
_QUARTERS = np.unique(np.outer(_POWERS[2:-1], [4, 5, 6, 7]) // 4)


def is_known(x: Tensor) -> bool:
    """Whether this is a graph for a single number of samples, so that padding would save nothing."""
    return not tf.executing_eagerly() and x.shape[0] is not None


def padded(y: Tensor, p: Tensor, w: Tensor | None = None) -> list[Tensor]:
    """Appends zeros to arrays of (samples, classes), up to the next size; without weights, a column of them is added.

    They are made here because a kernel that counts its samples would hold their numbers as a constant.
    """
    samples = tf.shape(p)[0]
    zeros = tf.pad(tf.reshape(padded_size(samples, p.shape[1]) - samples, [1, 1]), [[0, 1], [1, 0]])
    return [tf.pad(x, zeros) for x in (y, p, tf.ones(tf.stack([samples, 1])) if w is None else w)]


def padded_size(samples: Tensor, classes: int | None) -> Tensor:
    """The smallest size that holds the samples; several classes count as one if it is not known how many they are."""
    sizes = _sizes(classes or 1)
    return tf.maximum(tf.reduce_min(tf.where(sizes >= samples, sizes, sizes[-1])), samples)


@functools.lru_cache(maxsize=64)
def _sizes(classes: int) -> np.ndarray:
    few = _POWERS[(max(_FEWEST // classes, _FEWEST_SAMPLES) <= _POWERS) & (_POWERS * classes <= _MANY)]
    many = _QUARTERS[(_QUARTERS >= _FEWEST_SAMPLES) & (_QUARTERS * classes > _MANY)]
    return np.append(few, many).astype("int32")
