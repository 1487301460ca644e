"""XLA-compiled sums behind `confusion.py`: (samples, classes) in, cells of shape (4, thresholds, classes) out.

They give the same cells as the definition there, only faster. There are two exact algorithms:

* **direct** (`_direct.py`): computes h for every sample and threshold, and recomputes it in the backward pass, so
  nothing of size samples x thresholds is ever stored. Used for approximations with very few pieces (one threshold) or
  that are not piecewise linear, and when each class has its own threshold.
* **binned** (`_binned.py`): one pass for all thresholds. Between two neighbouring edges every h(., threshold) is a
  straight line, so the cells follow from the total weight in each interval and its position within the interval.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_softsets._backend._types import Tensor
from keras_softsets._backend.tensorflow._binned import binned
from keras_softsets._backend.tensorflow._differentiable import Algorithm, Kernel
from keras_softsets._backend.tensorflow._direct import direct, direct_per_class
from keras_softsets._backend.tensorflow._moving import MovingKernel

if TYPE_CHECKING:
    from keras_softsets.heaviside import Heaviside, Pieces
    from keras_softsets.samples import Samples

_STEEP = 1e-5  # intervals narrow enough for the rounding of a sum of constants to show
_FEW_EDGES = 4  # one or two straight lines: comparisons are cheaper than binning


def sum_cells(
    samples: Samples, thresholds: tuple[float, ...], heaviside: Heaviside, *, per_class: bool = False
) -> Tensor:
    """Returns tp, fp, fn, tn as one float64 tensor of shape (4, thresholds, classes), differentiable in p.

    Args:
        samples: The batch.
        thresholds: The thresholds: each gives a row of cells, or if `per_class`, each belongs to a class of one row.
        heaviside: The approximation.
        per_class: Whether there is one threshold for each class.
    """
    arrays = [x for x in (samples.label, samples.probability, samples.weight) if x is not None]
    weighted = samples.weight is not None
    if per_class and any(_is_steep(heaviside.pieces((threshold,))) for threshold in thresholds):
        kernels = [cells_kernel(heaviside, (threshold,), weighted) for threshold in thresholds]
        return tf.concat([kernel(*(x[:, k : k + 1] for x in arrays)) for k, kernel in enumerate(kernels)], 2)
    return cells_kernel(heaviside, thresholds, weighted, per_class)(*arrays)


def cells_kernel(
    heaviside: Heaviside, thresholds: tuple[float, ...], weighted: bool, per_class: bool = False
) -> Kernel:
    """Returns the kernel of a configuration, which is traced once for all batch sizes and compiled once for each."""
    return _cached_kernel(_ByKey(heaviside), tuple(thresholds), weighted, per_class)


def sum_moving_cells(samples: Samples, thresholds: Tensor, heaviside: Heaviside) -> Tensor:
    """Returns tp, fp, fn, tn at thresholds of shape (rates, classes), and how tp and fp change with the threshold.

    The result is one float64 tensor of shape (6, rates, classes), differentiable in p. The changes are measured in
    units of the distance from the threshold to the nearer end, 0 or 1.
    """
    arrays = [x for x in (samples.label, samples.probability, samples.weight) if x is not None]
    return _cached_moving_kernel(_ByKey(heaviside), samples.weight is not None)(thresholds, *arrays)


class _ByKey:
    """An approximation as a cache key; the cache keeps it alive, so no other object can be given the same `id`."""

    def __init__(self, heaviside: Heaviside) -> None:
        self.heaviside, self.key = heaviside, heaviside.cache_key()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByKey) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@functools.lru_cache(maxsize=256)
def _cached_kernel(by_key: _ByKey, thresholds: tuple[float, ...], weighted: bool, per_class: bool) -> Kernel:
    with tf.init_scope():  # the tables are constants, even if the first call comes from inside a graph
        return Kernel(_algorithm(by_key.heaviside, thresholds, per_class), weighted=weighted)


@functools.lru_cache(maxsize=256)
def _cached_moving_kernel(by_key: _ByKey, weighted: bool) -> MovingKernel:
    return MovingKernel(by_key.heaviside, weighted=weighted)


def _algorithm(heaviside: Heaviside, thresholds: tuple[float, ...], per_class: bool) -> Algorithm:
    if per_class:
        return direct_per_class(heaviside, thresholds)
    pieces = heaviside.pieces(thresholds)
    if pieces is None or (len(pieces.edges) <= _FEW_EDGES and not _is_steep(pieces)):
        return direct(heaviside, thresholds)
    return binned(pieces)


def _is_steep(pieces: Pieces | None) -> bool:
    """Whether the direct formula would show that XLA reorders sums of constants."""
    return pieces is not None and bool(np.diff(pieces.edges).min() <= _STEEP)
