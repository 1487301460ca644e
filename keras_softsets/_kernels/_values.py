"""The rules of `_samples.counted` about values, in a form that costs a kernel less.

There every number that cannot be right becomes NaN where it is. XLA on CPUs computes each sum in a loop of its own, so
four cells would check everything four times; here one more sum checks once, and the cells see clean numbers.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsets._backend import Tensor
from keras_softsets._kernels._blocks import sum_samples
from keras_softsets._samples import MARGIN


def cleaned(y: Tensor, p: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Labels 0 where the weight is 0, and probabilities in [0, 1], 0 in the place of NaN; the rest as it is."""
    y = y if w is None else tf.where(w > 0, y, 0.0)
    return y, tf.minimum(tf.where(p > 0, p, 0.0), 1.0), w  # `p > 0` does not hold for NaN


def nan_if_invalid(y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
    """Returns for each class 0 in float64, or NaN if anything that counts cannot be right, (classes,)."""
    valid = (y >= 0) & (y <= 1) & (p >= -MARGIN) & (p <= 1 + MARGIN)
    if w is not None:
        valid = (valid & (w > 0) & (w < np.inf)) | tf.equal(w, 0.0)
    return sum_samples(tf.where(valid, 0.0, np.float32(np.nan)))
