"""Cells at thresholds that are tensors, and how the cells change with the threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsets._backend._types import Tensor
from keras_softsets._backend.tensorflow._blocks import gradients, sum_samples
from keras_softsets._backend.tensorflow._differentiable import Batch, _counts, _pull, _with_variables, compiled
from keras_softsets._backend.tensorflow._sizes import is_known, padded
from keras_softsets._backend.tensorflow._values import cleaned, nan_in_all, or_nan

if TYPE_CHECKING:
    from keras_softsets.heaviside import Heaviside


class MovingKernel:
    """Cells as a function of thresholds, (rates, classes), labels, probabilities and possibly weights.

    Differentiable in the probabilities only.
    """

    def __init__(self, heaviside: Heaviside, *, weighted: bool) -> None:
        array = tf.TensorSpec([None, None], tf.float32)
        arrays = [array] * (3 if weighted else 2)

        def sums(thresholds: Tensor, *arrays: Tensor, even: bool = False) -> Tensor:
            return _sums(heaviside, thresholds, Batch(*arrays), even)

        def slopes(pull: Tensor, thresholds: Tensor, *arrays: Tensor) -> Tensor:
            return _slopes(heaviside, pull, thresholds, Batch(*arrays))

        self.sums = compiled(sums, [array, *arrays])
        self.sums_of_padded = compiled(lambda *batch: sums(*batch, even=True), [array] * 4)
        self.slopes = compiled(slopes, [tf.TensorSpec([2, None, None], tf.float32), array, *arrays])

    def __call__(self, thresholds: Tensor, *arrays: Tensor) -> Tensor:
        """Returns tp, fp, fn, tn, and the changes of tp and fp, as one float64 tensor of shape (6, rates, classes)."""
        if is_known(arrays[1]):
            return self._totals(self.sums, thresholds, *arrays)
        y, p, w = padded(*arrays)
        return self._totals(lambda t, y, p, *_: self.sums_of_padded(t, y, p, w), thresholds, *(y, p, w)[: len(arrays)])

    def _totals(self, sums: Callable[..., Tensor], thresholds: Tensor, *arrays: Tensor) -> Tensor:
        @tf.custom_gradient
        def totals(*arrays: Tensor) -> tuple[Tensor, Callable[..., Any]]:
            def backward(upstream: Tensor, variables: Any = None) -> Any:
                in_p = self.slopes(_pull(upstream[:4]), thresholds, *arrays)
                return _with_variables((None, in_p, None)[: len(arrays)], variables)

            return sums(thresholds, *map(tf.stop_gradient, arrays)), backward

        return totals(*arrays)


def _sums(heaviside: Heaviside, thresholds: Tensor, batch: Batch, even: bool) -> Tensor:
    """For each rate, the sums of h, of 1 - h, and of the change of h with the threshold."""
    y, p, w = cleaned(*batch)
    positive, negative = (y, 1 - y) if w is None else (w * y, w - w * y)

    def at(threshold: Tensor) -> Tensor:
        everywhere = tf.broadcast_to(threshold, tf.shape(p))
        h, (change,) = heaviside(p, everywhere), gradients(lambda at: heaviside(p, at), [everywhere])
        tp, *others = (label * x for x in (h, 1 - h, change) for label in (positive, negative))
        return sum_samples(or_nan(tp, *batch), *others, even=even)

    totals = nan_in_all(tf.transpose(tf.map_fn(at, thresholds, fn_output_signature=tf.float64), [1, 0, 2]))
    # In units of the distance to the nearer end, so that changes near 0 and 1 compare with those elsewhere.
    unit = tf.cast(tf.minimum(thresholds, 1 - thresholds), tf.float64)
    return tf.concat([totals[:4], unit * totals[4:]], 0)


def _slopes(heaviside: Heaviside, pull: Tensor, thresholds: Tensor, batch: Batch) -> Tensor:
    """The gradient in p of the pulled cells."""
    y, p, _ = cleaned(*batch)
    negative, positive = tf.unstack(pull)  # (rates, classes)
    thresholds = tf.where(tf.math.is_nan(thresholds), 0.5, thresholds)  # of a pull of 0: 0 times NaN is NaN

    def add(k: Tensor, sum: Tensor) -> tuple[Tensor, Tensor]:
        pulled = negative[k] + y * (positive[k] - negative[k])
        return k + 1, sum + gradients(lambda p: heaviside(p, thresholds[k]), [p], pulled)[0]

    return _counts(batch, tf.while_loop(lambda k, _: k < tf.shape(pull)[1], add, (0, tf.zeros_like(p)))[1])
