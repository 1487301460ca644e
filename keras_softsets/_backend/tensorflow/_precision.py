"""The lowest threshold with a given precision, which both rises and falls as the threshold rises.

Sorting the samples would find it, but takes a hundred times as long as cross-entropy. Instead, the bit patterns of the
probabilities are counted in bins. At the lower end of each bin the precision is known, and inside of it the precision
is at most what it would be if all its positives came first. So few bins are left that could hold the threshold, and
these are counted again in finer bins, down to single numbers: two or three passes in all.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import tensorflow as tf

from keras_softsets._backend._types import Tensor
from keras_softsets._backend.tensorflow._bins import Bins

SLACK = 1e-6  # share of the total by which float32 sums may miss a rate
FEW = 2**11  # samples, of which sorting is cheap
_PARTS = 4  # of what is left: the lowest bins one by one, the highest one, and all others together
_QUARTER = 0x0FE00000  # of the bit patterns from 0 to 1
_SAMPLES_PER_BIN, _MOST_BINS = 2**4, 2**14  # in each part
_MOST_PASSES = 16  # more than five are for data made to defeat it, which are then sorted
_ROUNDING = 1e-12  # of sums in float64


class _Left(NamedTuple):
    """What is left: bit patterns from `low` to `high`, (classes, parts); those of an empty part are 1 and 0.

    `above` has the weights of negatives and positives above each part, (2, classes, parts).
    """

    low: Tensor
    high: Tensor
    above: Tensor


def narrowed(bits: Tensor, positive: Tensor, negative: Tensor, rates: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The lowest thresholds with each precision, and whether there is one; if not, the highest of the best ones.

    Args:
        bits: Bit patterns of probabilities, (samples, classes).
        positive: Weights of positives.
        negative: Weights of negatives.
        rates: The precisions, (rates, 1).

    Returns:
        The bit patterns of the thresholds, whether they have the precision, and whether they were found.
    """
    one = functools.partial(_narrowed, bits, positive, negative)
    return tf.map_fn(lambda rate: one(rate - SLACK), rates, fn_output_signature=(tf.int32, tf.bool, tf.bool))


def _narrowed(bits: Tensor, positive: Tensor, negative: Tensor, rate: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    samples, classes = tf.unstack(tf.shape(bits))
    size = tf.clip_by_value(samples // _SAMPLES_PER_BIN, FEW // _SAMPLES_PER_BIN, _MOST_BINS)

    def body(k: Tensor, left: _Left, *_: Tensor) -> tuple[Tensor, ...]:
        shift = _shift(left, size)
        weights = _counted(left, shift, size, bits, positive, negative)
        within = tf.cumsum(weights, 3, exclusive=True, reverse=True)
        above = within + tf.where(k == 0, _above_quarters(within + weights), left.above)[..., None]
        pattern = left.low[..., None] + tf.bitwise.left_shift(tf.range(size), shift[..., None])
        height, bound = (_flat(x) for x in _heights(pattern, shift, weights, above))
        met, best = tf.reduce_any(height >= rate, 1), tf.reduce_max(height, 1, keepdims=True)
        chosen = tf.where(met, _first(height >= rate), _last(tf.equal(height, best)))
        possible = _possible(height, bound, rate, chosen[:, None], met[:, None])
        found = tf.gather(_flat(pattern), chosen, batch_dims=1)
        return k + 1, _narrower(left, _flat(pattern), shift, possible, above), found, met, tf.reduce_all(shift <= 0)

    start = tf.zeros([classes, 1], tf.int32) + _QUARTER * tf.range(_PARTS)
    ends = _QUARTER - 1 + tf.constant([0] * (_PARTS - 1) + [1])  # with the bit pattern of 1 itself
    everything = _Left(start, start + ends, tf.zeros([2, classes, _PARTS], tf.float64))
    state = (0, everything, tf.zeros([classes], tf.int32), tf.zeros([classes], tf.bool), False)
    return tf.while_loop(lambda k, *state: (k < _MOST_PASSES) & ~state[-1], body, state)[2:]


def _shift(left: _Left, size: Tensor) -> Tensor:
    """How many of the last bits the bins of each part leave out, (classes, parts)."""
    shifts = tf.range(31)[:, None, None]
    return tf.reduce_sum(tf.cast(tf.bitwise.right_shift(left.high - left.low, shifts) >= size, tf.int32), 0)


def _counted(left: _Left, shift: Tensor, size: Tensor, bits: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The weights of negatives and positives in the bins of what is left, (2, classes, parts, bins)."""
    # All others add 0 to some bin, not always to the same, where they would wait for each other.
    place, anywhere = bits & (FEW // _SAMPLES_PER_BIN - 1), tf.zeros_like(bits, tf.bool)
    for part in range(_PARTS):
        inside = (bits >= left.low[:, part]) & (bits <= left.high[:, part])
        within = tf.bitwise.right_shift(bits - left.low[:, part], shift[:, part])
        place, anywhere = tf.where(inside, size * part + within, place), anywhere | inside
    bins = Bins(size * _PARTS, tf.shape(bits)[1], lanes=1)
    sums = bins.add(bins.empty(), place, *(tf.where(anywhere, x, 0.0) for x in (negative, positive)))
    return tf.reshape(bins.masses(sums), [2, -1, _PARTS, size])


def _above_quarters(weights: Tensor) -> Tensor:
    """The weights above each of the first parts, which touch each other."""
    each = tf.unstack(weights[..., 0], _PARTS, axis=2)
    return tf.stack([sum(each[k + 1 :], tf.zeros_like(each[0])) for k in range(_PARTS)], 2)


def _heights(pattern: Tensor, shift: Tensor, weights: Tensor, above: Tensor) -> tuple[Tensor, Tensor]:
    """The precision at the lower end of each bin, -2 if it is empty, and the most inside of it."""
    (fp_above, tp_above), (negative, positive) = tf.unstack(above), tf.unstack(weights)
    # At 0 everything is positive, whether or not a sample is there.
    counts = (negative + positive > 0) | tf.equal(pattern, 0)

    def precision(tp: Tensor, fp: Tensor) -> Tensor:
        return tf.where(counts, tf.where(tp + fp > 0, tp / tf.where(tp + fp > 0, tp + fp, 1.0), -1.0), -2.0)

    height = precision(tp_above + positive, fp_above + negative)
    most = tf.maximum(height, precision(tp_above + positive, fp_above))
    return height, tf.where(shift[..., None] > 0, most, height)


def _possible(height: Tensor, bound: Tensor, rate: Tensor, chosen: Tensor, met: Tensor) -> Tensor:
    """Whether a bin could hold a better threshold than the one at the lower end of the chosen bin, or is that bin."""
    best, bins = tf.reduce_max(height, 1, keepdims=True), tf.range(tf.shape(height)[1])
    equal = (bound >= best - _ROUNDING) & (bins >= chosen)
    better = (bound >= rate - _ROUNDING) | (bound > best + _ROUNDING) | equal
    return better & ((bins <= chosen) | ~met)


def _narrower(left: _Left, pattern: Tensor, shift: Tensor, possible: Tensor, above: Tensor) -> _Left:
    """Only the bins that are possible, (classes, bins), each of them a part if they are few."""
    bins, count = tf.range(tf.shape(possible)[1]), tf.reduce_sum(tf.cast(possible, tf.int32), 1)
    first, last = _first(possible), _last(possible)
    second = _first(possible & (bins > first[:, None]))
    third, last_but_one = _first(possible & (bins > second[:, None])), _last(possible & (bins < last[:, None]))
    starts, ends = (tf.stack([first, second, middle, last], 1) for middle in (third, last_but_one))
    present = tf.stack([count >= 0, count >= 3, count >= 4, count >= 2], 1)
    size = tf.shape(above)[3]
    low, high = (tf.gather(pattern, x, batch_dims=1) for x in (starts, ends))
    most, left_out = (tf.gather(x, ends // size, batch_dims=1) for x in (left.high, shift))
    high = tf.minimum(high + tf.bitwise.left_shift(tf.ones_like(high), left_out) - 1, most)
    flat = tf.reshape(above, [2, -1, _PARTS * size])
    above = tf.stack([tf.gather(x, ends, batch_dims=1) for x in tf.unstack(flat)])
    return _Left(tf.where(present, low, 1), tf.where(present, high, 0), above)


def _flat(x: Tensor) -> Tensor:
    return tf.reshape(x, [tf.shape(x)[0], -1])


def _first(x: Tensor) -> Tensor:
    """The first bin of each class for which `x` is true, 0 if there is none."""
    bins = tf.range(tf.shape(x)[1])
    return tf.reduce_min(tf.where(x, bins, tf.shape(x)[1]), 1) % tf.shape(x)[1]


def _last(x: Tensor) -> Tensor:
    return tf.reduce_max(tf.where(x, tf.range(tf.shape(x)[1]), 0), 1)


def by_sorting(bits: Tensor, positive: Tensor, negative: Tensor, rates: Tensor) -> tuple[Tensor, Tensor]:
    """The first two results of `narrowed`, in the same order of ties."""
    # With a sample of weight 0 at p = 0, where everything is positive.
    bits, positive, negative = (tf.transpose(tf.pad(x, [[0, 1], [0, 0]])) for x in (bits, positive, negative))
    order = tf.argsort(bits, axis=1, direction="DESCENDING")
    bits, positive, negative = (tf.gather(x, order, batch_dims=1) for x in (bits, positive, negative))
    tp, fp = (tf.cumsum(tf.cast(x, tf.float64), 1) for x in (positive, negative))
    last = tf.concat([bits[:, :-1] != bits[:, 1:], tf.fill(tf.shape(bits[:, :1]), True)], 1)  # of equal probabilities
    height = tf.where(last & (tp + fp > 0), tp / tf.where(tp + fp > 0, tp + fp, 1.0), -1.0)
    meets = height >= rates[:, None] - SLACK  # (rates, classes, samples)
    lowest = tf.reduce_max(tf.where(meets, tf.range(tf.shape(bits)[1]), -1), 2)
    met, best = lowest >= 0, tf.argmax(height, 1, tf.int32)
    return tf.transpose(tf.gather(bits, tf.transpose(tf.where(met, lowest, best)), batch_dims=1)), met
