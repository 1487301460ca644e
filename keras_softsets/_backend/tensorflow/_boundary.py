"""The thresholds at which a rate is just met, exactly, for every rate and class.

As the threshold rises, recall only falls and specificity only rises, so bisection finds their thresholds. It runs over
the bit patterns of float32 numbers, which have the same order as the numbers themselves if all have the same sign.
Thirty passes find the exact number, in a thirtieth of the time that sorting takes. A pass takes as long as reading the
data, so weights are left out if they are all 0 or 1. Precision both rises and falls, see `_precision.py`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsets._backend._types import Boundary, Tensor
from keras_softsets._backend.tensorflow import _precision
from keras_softsets._backend.tensorflow._blocks import a_gpu_is_visible
from keras_softsets._backend.tensorflow._differentiable import compiled
from keras_softsets._backend.tensorflow._sizes import is_known, padded

if TYPE_CHECKING:
    from keras_softsets.samples import Samples

_LANES = 1024  # float32 sums side by side, joined in float64: one chain would be slow, and drift
_ARRAY = tf.TensorSpec([None, None], tf.float32)


def boundary(samples: Samples, rate: str, rates: tuple[float, ...]) -> Boundary:
    """Finds the thresholds at which rates are just met on these samples.

    Args:
        samples: The samples, (samples, classes).
        rate: `"recall"` (the highest threshold that meets it), `"specificity"` or `"precision"` (the lowest).
        rates: The values that must be met.
    """
    arrays = [tf.stop_gradient(x) for x in (samples.label, samples.probability, samples.weight) if x is not None]
    kind: Any = type(samples)
    bits, met = (_by_precision if rate == "precision" else _by_bisection)(kind, rate, rates, arrays)
    return Boundary(tf.stop_gradient(tf.bitcast(bits, tf.float32)), met)


def _by_bisection(kind: Any, rate: str, rates: tuple[float, ...], arrays: list[Tensor]) -> tuple[Tensor, Tensor]:
    bits = _search(kind, _specificity if rate == "specificity" else _recall, rates, arrays)
    return bits, tf.fill(tf.shape(bits), True)


def _by_precision(kind: Any, rate: str, rates: tuple[float, ...], arrays: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Sorts few samples, which is as fast; and those of GPUs, which are quick to sort and slow to count."""

    def by_sorting() -> tuple[Tensor, Tensor]:
        return _sort(kind, rates, len(arrays))(*arrays)

    def by_counting() -> tuple[Tensor, Tensor]:
        bits, met, done = _search(kind, _precision.narrowed, rates, arrays)
        return tf.cond(tf.reduce_all(done), lambda: (bits, met), by_sorting)

    samples = tf.shape(arrays[1])[0] if arrays[1].shape[0] is None else arrays[1].shape[0]
    few = a_gpu_is_visible() or samples <= _precision.FEW
    return tf.cond(few, by_sorting, by_counting) if tf.is_tensor(few) else by_sorting() if few else by_counting()


def _search(kind: Any, find: Callable[..., Any], rates: tuple[float, ...], arrays: list[Tensor]) -> Any:
    if is_known(arrays[1]):
        return _compiled_search(kind, find, rates, len(arrays))(*arrays)
    return _compiled_search(kind, find, rates, 3)(*padded(*arrays))


@functools.lru_cache(maxsize=256)
def _compiled_search(kind: Any, find: Callable[..., Any], rates: tuple[float, ...], arrays: int) -> Callable[..., Any]:
    return compiled(_on_bits(kind, find, rates), [_ARRAY] * arrays)


@functools.lru_cache(maxsize=256)
def _sort(kind: Any, rates: tuple[float, ...], arrays: int) -> Callable[..., Any]:
    """Not compiled, because XLA sorts slowly."""
    search = _on_bits(kind, _precision.by_sorting, rates)
    return tf.function(search, input_signature=[_ARRAY] * arrays, autograph=False)


def _on_bits(kind: Any, find: Callable[..., Any], rates: tuple[float, ...]) -> Callable[..., Any]:
    """A function of a batch that finds something among bit patterns and weights of positives and negatives."""

    def search(y: Tensor, p: Tensor, w: Tensor | None = None) -> Any:
        y, p, w = kind(y, p, w).cleaned()[:3]
        positive, negative = (y, 1 - y) if w is None else (w * y, w - w * y)
        return find(tf.bitcast(tf.abs(p), tf.int32), positive, negative, tf.constant(rates, tf.float64)[:, None])

    return search


def _recall(bits: Tensor, positive: Tensor, negative: Tensor, rates: Tensor) -> Tensor:
    return _last(bits, positive, rates - _precision.SLACK, operator.ge)


def _specificity(bits: Tensor, positive: Tensor, negative: Tensor, rates: Tensor) -> Tensor:
    return _last(bits, negative, 1 - rates + _precision.SLACK, operator.gt) + 1


def _last(bits: Tensor, weight: Tensor, share: Tensor, compare: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The largest bit pattern such that the weight from there up is at least, or more than, the given share of all."""

    def search(bits: Tensor, weight: Tensor | None) -> Tensor:
        at = _weight_from(bits, weight)
        needed = share * at(tf.zeros([1, tf.shape(bits)[1]], tf.int32))
        return _bisect(lambda bits: compare(at(bits), needed), tf.zeros_like(needed, tf.int32))

    alike = tf.reduce_all((weight == 0) | (weight == 1))
    return tf.cond(alike, lambda: search(tf.where(weight > 0, bits, -1), None), lambda: search(bits, weight))


def _weight_from(bits: Tensor, weight: Tensor | None) -> Callable[[Tensor], Tensor]:
    """A function from bit patterns, (rates, classes), to the weight, or the number, of samples from there up."""
    samples, classes = tf.unstack(tf.shape(bits))
    lanes = tf.maximum(_LANES // tf.maximum(classes, 1), 1)
    count = samples // lanes

    def split(x: Tensor) -> tuple[Tensor, Tensor]:
        return tf.reshape(x[: count * lanes], [count, lanes, classes]), x[count * lanes :]

    (bits, bits_left), (weight, weight_left) = split(bits), (1.0, 1.0) if weight is None else split(weight)

    def at(start: Tensor) -> Tensor:
        start = start[:, None, None]
        side_by_side = tf.reduce_sum(tf.where(bits >= start, weight, 0.0), 1)
        left = tf.where(bits_left >= start[:, 0], weight_left, 0.0)
        return sum(tf.reduce_sum(tf.cast(x, tf.float64), 1) for x in (side_by_side, left))

    return at


def _bisect(holds: Callable[[Tensor], Tensor], start: Tensor) -> Tensor:
    """The largest bit pattern for which `holds` is true, which it is up to some number; from the highest bit down."""

    def body(bits: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
        return tf.where(holds(bits + step), bits + step, bits), step // 2

    return tf.while_loop(lambda bits, step: step > 0, body, (start, tf.constant(2**29)))[0]
