"""Cells at thresholds that are tensors, and how the cells change with the threshold."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsets._backend import Tensor
from keras_softsets._kernels._blocks import gradients, sum_samples
from keras_softsets._kernels._differentiable import Batch, _compiled, _counts, _with_variables
from keras_softsets._kernels._values import cleaned, nan_in_all, or_nan
from keras_softsets.heaviside import Heaviside


class MovingKernel:
    """Cells as a function of thresholds, (rates, classes), labels, probabilities and possibly weights.

    Differentiable in the probabilities only.
    """

    def __init__(self, heaviside: Heaviside, *, weighted: bool) -> None:
        array = tf.TensorSpec([None, None], tf.float32)
        arrays = [array] * (3 if weighted else 2)

        def sums(thresholds: Tensor, *arrays: Tensor) -> Tensor:
            return _sums(heaviside, thresholds, Batch(*arrays))

        def slopes(pull: Tensor, thresholds: Tensor, *arrays: Tensor) -> Tensor:
            return _slopes(heaviside, pull, thresholds, Batch(*arrays))

        self.sums = _compiled(sums, [array, *arrays])
        self.slopes = _compiled(slopes, [tf.TensorSpec([2, None, None], tf.float32), array, *arrays])

    def __call__(self, thresholds: Tensor, *arrays: Tensor) -> Tensor:
        """Returns tp, fp, fn, tn, and the changes of tp and fp, as one float64 tensor of shape (6, rates, classes)."""
        return self._totals(thresholds, *arrays)

    @functools.cached_property
    def _totals(self) -> Callable[..., Tensor]:
        @tf.custom_gradient
        def totals(thresholds: Tensor, *arrays: Tensor) -> tuple[Tensor, Callable[..., Any]]:
            def backward(upstream: Tensor, variables: Any = None) -> Any:
                tp, fp, fn, tn, _, _ = tf.unstack(tf.cast(upstream, tf.float32))
                in_p = self.slopes(tf.stack([fp - tn, tp - fn]), thresholds, *arrays)
                return _with_variables((None, None, in_p, None)[: 1 + len(arrays)], variables)

            return self.sums(thresholds, *map(tf.stop_gradient, arrays)), backward

        return totals


def _sums(heaviside: Heaviside, thresholds: Tensor, batch: Batch) -> Tensor:
    """For each rate, the sums of h, of 1 - h, and of the change of h with the threshold."""
    y, p, w = cleaned(*batch)
    positive, negative = (y, 1 - y) if w is None else (w * y, w - w * y)

    def at(threshold: Tensor) -> Tensor:
        everywhere = tf.broadcast_to(threshold, tf.shape(p))
        h, (change,) = heaviside(p, everywhere), gradients(lambda at: heaviside(p, at), [everywhere])
        tp, *others = (label * x for x in (h, 1 - h, change) for label in (positive, negative))
        return sum_samples(or_nan(tp, *batch), *others)

    totals = nan_in_all(tf.transpose(tf.map_fn(at, thresholds, fn_output_signature=tf.float64), [1, 0, 2]))
    # In units of the distance to the nearer end, so that changes near 0 and 1 compare with those elsewhere.
    unit = tf.cast(tf.minimum(thresholds, 1 - thresholds), tf.float64)
    return tf.concat([totals[:4], unit * totals[4:]], 0)


def _slopes(heaviside: Heaviside, pull: Tensor, thresholds: Tensor, batch: Batch) -> Tensor:
    """The gradient in p of the pulled cells."""
    y, p, _ = cleaned(*batch)
    negative, positive = tf.unstack(pull)  # (rates, classes)

    def add(k: Tensor, sum: Tensor) -> tuple[Tensor, Tensor]:
        pulled = negative[k] + y * (positive[k] - negative[k])
        return k + 1, sum + gradients(lambda p: heaviside(p, thresholds[k]), [p], pulled)[0]

    return _counts(batch, tf.while_loop(lambda k, _: k < tf.shape(pull)[1], add, (0, tf.zeros_like(p)))[1])
