"""Weights of positives and negatives by probability, in bins fine enough for probabilities of any size.

Evenly spaced thresholds are too coarse where models are confident: 200 of them cannot resolve p = 1e-6. Here, only the
bins in the middle are even. With 12 bits of precision,

* from 1/16 to 15/16, bins are 2^-16 wide;
* towards 0, they follow the bit patterns of float32 numbers: 1/4096 of p or less (below 1e-18, 1/256 of p);
* towards 1, they are 1/4096 of 1 - p or less, down to single float32 numbers.

The number of bins is fixed, so the sums can be added up over batches and replicas. A threshold is the smallest number
in a bin, so the cells there are exact; only thresholds inside a bin are lost.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from keras import ops

from keras_softsets import _backend
from keras_softsets._backend import Tensor, bin_sums, bit_patterns, clip, wide
from keras_softsets.matrices import ConfusionMatrix
from keras_softsets.samples import Samples

_FEWEST_BITS = 2
_MOST = 2**22  # bins of all classes; with more classes, bins are wider
_MANTISSA = 23
_TINY, _LOW = 2.0**-60, 2.0**-4


def _pattern(x: float) -> int:
    return int(np.float32(x).view("int32"))


@functools.lru_cache(maxsize=64)
def bins_for(classes: int, bits: int) -> FloatBins:
    """Returns the finest bins of at most this many bits for which the sums of all classes still fit into memory."""
    tried = map(FloatBins, range(bits, _FEWEST_BITS, -1))
    return next((bins for bins in tried if bins.size * classes <= _MOST), FloatBins(_FEWEST_BITS))


class FloatBins:
    """Bins of probabilities.

    Args:
        bits: Precision: towards 0 and 1, a bin is 2^-bits of the distance wide.
    """

    def __init__(self, bits: int) -> None:
        self._fine, self._coarse = _MANTISSA - bits, _MANTISSA - max(bits - 4, 0)  # bits of the mantissa to drop
        self._even = 2 ** (bits + 4)
        self._close = 2.0 ** (bits - 24)  # closer to 1, float32 numbers are 2^-24 apart
        self._sizes = (
            _pattern(_TINY) >> self._coarse,
            (_pattern(_LOW) - _pattern(_TINY)) >> self._fine,
            int(self._even * (1 - 2 * _LOW)),
            ((_pattern(_LOW) - _pattern(self._close)) >> self._fine) + 1,
            int(self._close * 2**24),
        )  # bins of each zone: coarse, fine, even, towards 1, next to 1
        self._first = np.cumsum([0, *self._sizes]).tolist()
        self.size: int = self._first[-1]

    def histogram(self, samples: Samples) -> Tensor:
        """Returns the weights of positives and negatives in each bin, (2, bins, classes), in float64."""
        samples = samples.cleaned()
        y, p = samples.label, clip(samples.probability, 0.0, 1.0)
        weight = ops.cast(ops.ones_like(p) if samples.weight is None else samples.weight, wide())
        label = ops.cast(y, wide())
        nan = 0 * (weight + label + ops.cast(p, wide()))
        # In the highest bin, which counts at every threshold, NaN is NaN in all cells.
        found = ops.where(ops.isnan(nan), self.size - 1, self.bin_of(p))
        classes = ops.shape(p)[1]
        place = found * classes + ops.arange(classes, dtype="int32")
        values = [weight * label + nan, weight * (1 - label) + nan]
        return ops.reshape(bin_sums(place, values, self.size * classes), (2, self.size, classes))

    def bin_of(self, p: Tensor) -> Tensor:
        """Returns the bin of each probability, as int32."""
        bits, rest = _bits(p), 1 - p  # the difference is exact from 0.5 on
        coarse = ops.right_shift(bits, self._coarse)
        fine = self._first[1] + ops.right_shift(bits - _pattern(_TINY), self._fine)
        even = self._first[2] + ops.cast((p - _LOW) * self._even, "int32")
        towards_1 = self._first[3] + ops.right_shift(_pattern(_LOW) - _bits(rest), self._fine)
        next_to_1 = self.size - 1 - ops.cast(rest * 2.0**24, "int32")
        low = ops.where(p < _TINY, coarse, ops.where(p < _LOW, fine, even))
        found = ops.where(rest > _LOW, low, ops.where(rest >= self._close, towards_1, next_to_1))
        return ops.clip(found, 0, self.size - 1)  # NaN may land anywhere

    @functools.cached_property
    def thresholds(self) -> np.ndarray:
        """The smallest number of each bin, from the highest bin down."""
        coarse, fine, even, towards_1, next_to_1 = (np.arange(size) for size in self._sizes)
        patterns = np.concatenate([coarse << self._coarse, _pattern(_TINY) + (fine << self._fine)])
        low = patterns.astype("int32").view("float32")
        rest = (_pattern(_LOW) - (towards_1 << self._fine)).astype("int32").view("float32").astype(wide())
        high = np.concatenate([_LOW + even / self._even, 1 - rest, 1 - next_to_1[::-1] / 2.0**24])
        narrow = high.astype("float32")
        high = np.where(narrow < high, np.nextafter(narrow, np.float32(math.inf)), narrow)  # rounded up to float32
        return np.concatenate([low, high])[::-1]

    def samples(self, weights: Tensor) -> Samples:
        """Returns the positives and the negatives of each bin as samples at its threshold."""
        flipped = ops.cast(ops.flip(weights, 1), "float32")
        label = ops.cast(np.repeat([1.0, 0.0], self.size)[:, None], "float32")
        weight = ops.reshape(flipped, (2 * self.size, ops.shape(weights)[2]))
        p = ops.cast(np.tile(self.thresholds, 2)[:, None], "float32")
        return Samples(label + 0 * weight, p + 0 * weight, weight)


def cells_of_bins(weights: Tensor) -> ConfusionMatrix:
    """Returns the cells at every threshold, from the highest down: (bins, classes)."""
    tp, fp = ops.unstack(_backend.cumsum(ops.flip(weights, 1), 1), 2)
    return ConfusionMatrix(tp, fp, tp[-1:] - tp, fp[-1:] - fp)


def _bits(p: Tensor) -> Tensor:
    """The bit patterns as int32; for numbers of one sign, these have the same order as the numbers."""
    return bit_patterns(ops.absolute(p))  # -0.0 has a different bit pattern
