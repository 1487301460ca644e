"""The rules of `Samples.cleaned` about values, in a form that costs a kernel less.

There, every invalid number becomes NaN where it is. XLA on CPUs computes each sum in a separate loop, so four cells
would check everything four times. Here, the cells see clean numbers; only one of them checks in passing, and its NaN
spreads to the others once the sums are known.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsets._backend._types import MARGIN, Tensor


def cleaned(y: Tensor, p: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Sets labels to 0 where the weight is 0, and clips probabilities to [0, 1], with 0 in place of NaN."""
    y = y if w is None else tf.where(w > 0, y, 0.0)
    return y, tf.minimum(tf.where(p > 0, p, 0.0), 1.0), w  # `p > 0` does not hold for NaN


def or_nan(x: Tensor, y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
    """Returns `x`, with NaN where anything that counts is invalid."""
    valid = (y >= 0) & (y <= 1) & (p >= -MARGIN) & (p <= 1 + MARGIN)
    if w is not None:
        valid = (valid & (w > 0) & (w < np.inf)) | tf.equal(w, 0.0)
    return tf.where(valid, x, np.float32(np.nan))


def nan_in_all(cells: Tensor) -> Tensor:
    """Spreads a NaN in tp or fp of the first threshold to all cells of its class, so that no score overlooks it."""
    invalid = tf.math.is_nan(cells[0, 0] + cells[1, 0])
    return tf.where(invalid, tf.constant(np.nan, tf.float64), cells)
