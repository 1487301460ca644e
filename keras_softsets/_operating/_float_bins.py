"""Weights of positives and negatives by probability, in bins fine enough for probabilities of any size.

Evenly spaced thresholds are too coarse where models are confident: 200 of them cannot resolve p = 1e-6. Here, only the
bins in the middle are even:

* from 1/16 to 15/16, bins are 2^-16 wide;
* towards 0, they follow the bit patterns of float32 numbers: 1/4096 of p or less (below 1e-8, 1/64 of p);
* towards 1, they are 1/4096 of 1 - p or less, down to single float32 numbers.

The number of bins is fixed, so the sums can be added up over batches and replicas. A threshold is the smallest number
in a bin, so the cells there are exact; only thresholds inside a bin are lost.
"""

from __future__ import annotations

import numpy as np
from keras import ops

from keras_softsets._backend import Tensor, bit_patterns, clip
from keras_softsets._samples import Samples
from keras_softsets.confusion import ConfusionMatrix


def _pattern(x: float) -> int:
    return int(np.float32(x).view("int32"))


_COARSE, _FINE = 17, 11  # bits of the mantissa that are dropped: of 23, 6 or 12 are kept
_EVEN = 2**16
_TINY, _LOW, _CLOSE = 2.0**-27, 2.0**-4, 2.0**-12  # closer to 1 than the last, float32 numbers are 2^-24 apart
_SIZES = (
    _pattern(_TINY) >> _COARSE,
    (_pattern(_LOW) - _pattern(_TINY)) >> _FINE,
    int(_EVEN * (1 - 2 * _LOW)),
    ((_pattern(_LOW) - _pattern(_CLOSE)) >> _FINE) + 1,
    int(_CLOSE * 2**24),
)  # bins of each zone: coarse, fine, even, towards 1, next to 1
_FIRST = np.cumsum([0, *_SIZES]).tolist()
BINS = _FIRST[-1]


def histogram(samples: Samples) -> Tensor:
    """Returns the weights of positives and negatives in each bin, (2, bins, classes), in float64."""
    samples = samples.counted()
    y, p = samples.label, clip(samples.probability, 0.0, 1.0)
    weight = ops.cast(ops.ones_like(p) if samples.weight is None else samples.weight, "float64")
    label = ops.cast(y, "float64")
    classes = ops.shape(p)[1]
    place = bin_of(p) * classes + ops.arange(classes, dtype="int32")
    columns = ops.reshape(ops.stack([weight * label, weight * (1 - label)], -1), (-1, 2))
    sums = ops.segment_sum(columns, ops.reshape(place, (-1,)), num_segments=BINS * classes)
    nan = 0 * ops.sum(weight + label + ops.cast(p, "float64"), 0)  # NaN in a batch is NaN in all of its cells
    return ops.transpose(ops.reshape(sums, (BINS, classes, 2)), (2, 0, 1)) + nan


def bin_of(p: Tensor) -> Tensor:
    """Returns the bin of each probability, as int32."""
    bits, rest = _bits(p), 1 - p  # the difference is exact from 0.5 on
    coarse = ops.right_shift(bits, _COARSE)
    fine = _FIRST[1] + ops.right_shift(bits - _pattern(_TINY), _FINE)
    even = _FIRST[2] + ops.cast((p - _LOW) * _EVEN, "int32")
    towards_1 = _FIRST[3] + ops.right_shift(_pattern(_LOW) - _bits(rest), _FINE)
    next_to_1 = BINS - 1 - ops.cast(rest * 2.0**24, "int32")
    low = ops.where(p < _TINY, coarse, ops.where(p < _LOW, fine, even))
    found = ops.where(rest > _LOW, low, ops.where(rest >= _CLOSE, towards_1, next_to_1))
    return ops.clip(found, 0, BINS - 1)  # NaN may land anywhere


def _bits(p: Tensor) -> Tensor:
    """The bit patterns as int32; for numbers of one sign, these have the same order as the numbers."""
    return bit_patterns(ops.absolute(p))  # -0.0 has a different bit pattern


def cells(weights: Tensor) -> ConfusionMatrix:
    """Returns the cells at every threshold, from the highest down: (bins, classes)."""
    tp, fp = ops.unstack(ops.cumsum(ops.flip(weights, 1), 1), 2)
    return ConfusionMatrix(tp, fp, tp[-1:] - tp, fp[-1:] - fp)


def samples_of_bins(weights: Tensor) -> Samples:
    """Returns the positives and the negatives of each bin as samples at its threshold."""
    flipped = ops.cast(ops.flip(weights, 1), "float32")
    label = ops.cast(np.repeat([1.0, 0.0], BINS)[:, None], "float32")
    weight = ops.reshape(flipped, (2 * BINS, ops.shape(weights)[2]))
    p = ops.cast(np.tile(thresholds(), 2)[:, None], "float32")
    return Samples(label + 0 * weight, p + 0 * weight, weight)


def thresholds() -> np.ndarray:
    """Returns the smallest number of each bin, from the highest bin down."""
    coarse, fine, even, towards_1, next_to_1 = (np.arange(size) for size in _SIZES)
    low = np.concatenate([coarse << _COARSE, _pattern(_TINY) + (fine << _FINE)]).astype("int32").view("float32")
    rest = (_pattern(_LOW) - (towards_1 << _FINE)).astype("int32").view("float32").astype("float64")
    high = np.concatenate([_LOW + even / _EVEN, 1 - rest, 1 - next_to_1[::-1] / 2.0**24])
    narrow = high.astype("float32")
    high = np.where(narrow < high, np.nextafter(narrow, np.float32(2)), narrow)  # rounded up to float32
    return np.concatenate([low, high])[::-1]
