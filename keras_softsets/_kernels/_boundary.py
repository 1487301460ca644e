"""The thresholds at which a rate is just met, exactly, for every rate and class.

As the threshold rises, recall only falls and specificity only rises, so bisection finds their thresholds. It runs over
the bit patterns of float32 numbers, which have the same order as the numbers themselves if all have the same sign.
Thirty passes find the exact number, in a thirtieth of the time that sorting takes. A pass takes as long as reading the
data, so weights are left out if they are all 0 or 1. Precision both rises and falls, so there the samples are sorted.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import tensorflow as tf

from keras_softsets._backend import Tensor
from keras_softsets._samples import counted

_LANES = 1024  # float32 sums side by side, joined in float64: one chain would be slow, and drift
_SLACK = 1e-6  # share of the total by which float32 sums may miss a rate


def boundary(y: Tensor, p: Tensor, w: Tensor | None, *, rate: str, rates: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """Returns thresholds, (rates, classes), and whether the rate is met there.

    Args:
        y: Labels, (samples, classes).
        p: Probabilities.
        w: Weights, or None.
        rate: `"recall"` (the highest threshold that meets it), `"specificity"` or `"precision"` (the lowest).
        rates: The values that must be met.
    """
    arrays = [x for x in (y, p, w) if x is not None]
    return _search(rate, rates, len(arrays))(*arrays)


@functools.lru_cache(maxsize=256)
def _search(rate: str, rates: tuple[float, ...], arrays: int) -> Callable[..., tuple[Tensor, Tensor]]:
    find = {"recall": _recall, "specificity": _specificity, "precision": _precision}[rate]

    def search(y: Tensor, p: Tensor, w: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, p, w = counted(y, p, w)
        # With an extra sample of weight 0 at p = 0, an empty batch is no special case.
        p, positive, negative = (
            tf.pad(x, [[0, 1], [0, 0]]) for x in (tf.abs(p), *([y, 1 - y] if w is None else [w * y, w - w * y]))
        )
        return find(p, positive, negative, rates)

    signature = [tf.TensorSpec([None, None], tf.float32)] * arrays
    return tf.function(search, input_signature=signature, jit_compile=rate != "precision")  # XLA sorts slowly


def _recall(p: Tensor, positive: Tensor, negative: Tensor, rates: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    bits = _last(p, positive, tf.constant(rates, tf.float64)[:, None] - _SLACK, operator.ge)
    return tf.bitcast(bits, tf.float32), tf.fill(tf.shape(bits), True)


def _specificity(p: Tensor, positive: Tensor, negative: Tensor, rates: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    bits = _last(p, negative, 1 - tf.constant(rates, tf.float64)[:, None] + _SLACK, operator.gt) + 1
    return tf.bitcast(bits, tf.float32), tf.fill(tf.shape(bits), True)


def _precision(p: Tensor, positive: Tensor, negative: Tensor, rates: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    p, positive, negative = (tf.transpose(x) for x in (p, positive, negative))
    order = tf.argsort(p, axis=1, direction="DESCENDING")
    p, positive, negative = (tf.gather(x, order, batch_dims=1) for x in (p, positive, negative))
    tp, fp = (tf.cumsum(tf.cast(x, tf.float64), 1) for x in (positive, negative))
    called = tp + fp
    last = tf.concat([p[:, :-1] != p[:, 1:], tf.fill(tf.shape(p[:, :1]), True)], 1)  # the last of equal probabilities
    height = tf.where(last & (called > 0), tp / tf.where(called > 0, called, 1.0), -1.0)
    meets = height >= tf.constant(rates, tf.float64)[:, None, None] - _SLACK  # (rates, classes, samples)
    lowest = tf.reduce_max(tf.where(meets, tf.range(tf.shape(p)[1]), -1), 2)
    met, best = lowest >= 0, tf.argmax(height, 1, tf.int32)
    row = tf.where(met, lowest, best)
    return tf.transpose(tf.gather(p, tf.transpose(row), batch_dims=1)), met


def _last(p: Tensor, weight: Tensor, share: Tensor, compare: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The largest bit pattern such that the weight from there up is at least, or more than, the given share of all."""
    bits = tf.bitcast(p, tf.int32)

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
