"""Joins an algorithm's sums with their first and second derivatives with respect to p, each compiled by XLA."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from keras_softsets._backend._types import Tensor
from keras_softsets._backend.tensorflow._sizes import is_known, padded
from keras_softsets._backend.tensorflow._values import nan_in_all

# The gradient in the cells, whether labels are binary, and a vector shaped like p.
_SPECS: tuple[Any, ...] = (([4, None, None], tf.float64), ([], tf.bool), ([None, None],))


class Batch(NamedTuple):
    """Labels, probabilities and weights as they were passed, (samples, classes)."""

    y: Tensor
    p: Tensor
    w: Tensor | None = None


class Algorithm(NamedTuple):
    """How cells and their derivatives are computed.

    A pull, (label, thresholds, classes), is how much a loss rises with h of a negative and with h of a positive.
    """

    # From (batch, whether it is padded) to cells as `nan_in_all` needs them, and whether labels are 0 and 1.
    sums: Callable[[Batch, bool], tuple[Tensor, Tensor]]
    slopes: Callable[[Batch, Tensor, Tensor], Tensor]  # (batch, labels are binary, pull) to the gradient in p
    second: Callable[[Batch, Tensor, Tensor], tuple[Tensor, Tensor]]  # (batch, pull, v) to gradients in pull and in p


class Kernel:
    """Cells as a function of labels, probabilities and possibly weights; labels and weights have no gradient.

    Each of its functions is traced once for all batch sizes, and only when it is needed. `tf.stop_gradient` keeps
    forward-mode differentiation out of them, too.
    """

    def __init__(self, algorithm: Algorithm, *, weighted: bool) -> None:
        arrays = [tf.TensorSpec([None, None], tf.float32)] * (3 if weighted else 2)
        in_cells, binary, v = (tf.TensorSpec(*spec) for spec in _SPECS)

        def sums(*arrays: Tensor, even: bool = False) -> tuple[Tensor, Tensor]:
            batch = Batch(*arrays)
            if even and not weighted:
                batch = batch._replace(w=tf.broadcast_to(batch.w, tf.shape(batch.p)))
            # If the sizes differ, this is an error, which no graph optimizer removes.
            batch = batch._replace(y=tf.reshape(batch.y, tf.shape(batch.p)))
            totals, binary = algorithm.sums(batch, even)
            return nan_in_all(totals), binary

        def slopes(in_cells: Tensor, binary: Tensor, *arrays: Tensor) -> Tensor:
            batch = Batch(*arrays)
            return _counts(batch, algorithm.slopes(batch, binary, _pull(in_cells)))

        def second(in_cells: Tensor, v: Tensor, *arrays: Tensor) -> tuple[Tensor, Tensor]:
            batch = Batch(*arrays)
            in_pull, in_p = algorithm.second(batch, _pull(in_cells), _counts(batch, v))
            negative, positive = tf.unstack(tf.cast(in_pull, tf.float64))
            return tf.stack([positive, negative, -positive, -negative]), in_p

        self.sums = compiled(sums, arrays)
        self.sums_of_padded = compiled(lambda *batch: sums(*batch, even=True), [*arrays[:2], arrays[0]])
        self.slopes = compiled(slopes, [in_cells, binary, *arrays])
        self.second = compiled(second, [in_cells, v, *arrays])

    def __call__(self, *arrays: Tensor) -> Tensor:
        """Returns the cells, (4, thresholds, classes), in float64."""
        if is_known(arrays[1]):
            return self._cells(self.sums, *arrays)
        # Outside `_cells`, so that TensorFlow differentiates the padding, to any order.
        y, p, w = padded(*arrays)
        return self._cells(lambda y, p, *_: self.sums_of_padded(y, p, w), *(y, p, w)[: len(arrays)])

    def _cells(self, sums: Callable[..., tuple[Tensor, Tensor]], *arrays: Tensor) -> Tensor:
        @tf.custom_gradient
        def cells(*arrays: Tensor) -> tuple[Tensor, Callable[..., Any]]:
            totals, binary = sums(*map(tf.stop_gradient, arrays))

            def backward(upstream: Tensor, variables: Any = None) -> Any:
                in_p = self._gradient(upstream, binary, *arrays)
                return _with_variables((None, in_p, None)[: len(arrays)], variables)

            return totals, backward

        return cells(*arrays)

    @functools.cached_property
    def _gradient(self) -> Callable[..., Tensor]:
        """The gradient in p, as a function of p and of the gradient in the cells; it can be differentiated again."""

        @tf.custom_gradient
        def gradient(in_cells: Tensor, binary: Tensor, *arrays: Tensor) -> tuple[Tensor, Callable[..., Any]]:
            def backward(v: Tensor, variables: Any = None) -> Any:
                found, in_p = self.second(in_cells, v, *arrays)
                return _with_variables((found, None, None, in_p, None)[: 2 + len(arrays)], variables)

            return self.slopes(*map(tf.stop_gradient, (in_cells, binary, *arrays))), backward

        return gradient


def compiled(function: Callable[..., Any], signature: list[tf.TensorSpec]) -> Callable[..., Any]:
    # A partial hides the code object: TensorFlow (2.21) mistakes functions with the same code for one that is retraced
    # over and over, and would warn about it in a model with five metrics of different thresholds.
    # AutoGraph is off: there is nothing to convert, and it would take longer than all else before the first step.
    return tf.function(functools.partial(function), input_signature=signature, jit_compile=True, autograph=False)


def _pull(in_cells: Tensor) -> Tensor:
    """Turns the gradients in tp, fp, fn and tn into those in h, of negatives and of positives; NaN counts as 0."""
    in_cells = tf.where(tf.math.is_nan(in_cells), tf.zeros_like(in_cells), in_cells)  # see `without_nan_gradient`
    tp, fp, fn, tn = tf.unstack(tf.cast(in_cells, tf.float32))
    return tf.stack([fp - tn, tp - fn])


def _counts(batch: Batch, x: Tensor) -> Tensor:
    """Multiplies a derivative by the weights; it is 0 outside [0, 1], where p is clipped, and for invalid samples."""
    x = tf.where((batch.p < 0) | (batch.p > 1) | tf.math.is_nan(batch.y), 0.0, x)
    return x if batch.w is None else x * tf.where(tf.math.is_finite(batch.w), batch.w, 0.0)


def _with_variables(gradients: tuple[Tensor | None, ...], variables: Any) -> Any:
    """Adds the gradients that TensorFlow asks for: none, because an approximation's variables are not trained."""
    return gradients if variables is None else (gradients, [None] * len(variables))
