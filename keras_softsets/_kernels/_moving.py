"""Cells at thresholds that are tensors, and how they change with them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsets._backend import Tensor
from keras_softsets._kernels._blocks import fold, gradients, map_blocks, room, sum_in_float64
from keras_softsets._kernels._differentiable import Batch, _compiled, _counts, _with_variables
from keras_softsets._samples import counted
from keras_softsets.heaviside import Heaviside


class MovingKernel:
    """Cells as a function of thresholds, (rates, classes), labels, probabilities and, maybe, weights.

    Differentiable in the probabilities only.
    """

    def __init__(self, heaviside: Heaviside, *, weighted: bool) -> None:
        array = tf.TensorSpec([None, None], tf.float32)
        arrays = [array] * (3 if weighted else 2)

        def sums(thresholds: Tensor, *arrays: Tensor) -> Tensor:
            return _sums(heaviside, thresholds, *Batch(*arrays))

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


def _sums(heaviside: Heaviside, thresholds: Tensor, y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
    """Block by block, h and its change with the threshold."""
    rates, classes = tf.unstack(tf.shape(thresholds))
    # Per share of the distance to the nearer end, so that changes of saturated and other thresholds compare.
    unit = tf.cast(tf.minimum(thresholds, 1 - thresholds), tf.float64)

    def step(state: list[Tensor], y: Tensor, p: Tensor, w: Tensor | None) -> list[Tensor]:
        y, p, w = counted(y, p, w)
        at = tf.broadcast_to(thresholds[:, None], tf.concat([[rates], tf.shape(p)], 0))
        h, (change,) = heaviside(p, at), gradients(lambda at: heaviside(p, at), [at])
        labels = [y, 1 - y] if w is None else [w * y, w - w * y]
        parts = [label * x for x in (h, 1 - h, change) for label in labels]
        return [state[0] + tf.stack([sum_in_float64(x, 1) for x in parts])]

    nothing = tf.zeros([6, rates, classes], tf.float64)
    tp, fp, fn, tn, tp_change, fp_change = tf.unstack(fold(step, [nothing], room(), y, p, w)[0])
    return tf.stack([tp, fp, fn, tn, unit * tp_change, unit * fp_change])


def _slopes(heaviside: Heaviside, pull: Tensor, thresholds: Tensor, batch: Batch) -> Tensor:
    """The gradient in p of the pulled cells."""

    def slope(y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        negative, positive = tf.unstack(pull[:, :, None])  # (rates, 1, classes)
        y, inside, _ = counted(y, p, w)
        pulled = negative + y * (positive - negative)
        (in_p,) = gradients(lambda inside: heaviside(inside, thresholds[:, None]), [inside], pulled)
        return _counts(Batch(y, p, w), in_p)

    return map_blocks(slope, room(), *batch)
