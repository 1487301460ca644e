"""The samples of a metric: the first ones as they are, on which it is exact, and all others by probability, in bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_softsets import _backend
from keras_softsets._backend import Tensor, clip
from keras_softsets.operating._bins import FloatBins
from keras_softsets.samples import Samples

SIZE = 2**14  # samples on each replica; beyond that, one bin of probabilities matters less than 1e-4
_MOST = 2**20  # numbers of all classes; with more classes, there is room for fewer samples
_FEW = 2**11  # samples; to sort so few takes no time


class KeptSamples:
    """Labels, probabilities and weights of samples, in variables of a metric.

    Samples are kept in a list. When it is full, they move to the bins, and so does everything that comes later. Every
    replica has separate rows: reading a variable returns the sum over replicas, which then holds all of them.

    Args:
        metric: The metric, which resets the variables with its own.
        bins: The bins.
        classes: The number of classes.
    """

    def __init__(self, metric: Any, bins: FloatBins, classes: int) -> None:
        replicas = _backend.replicas_in_sync()
        self.bins, self._size = bins, max(1, min(SIZE, _MOST // max(classes, 1)))

        def variable(shape: tuple[int, ...], dtype: str, name: str) -> Any:
            return _backend.make_variable(lambda: metric.add_variable(shape, "zeros", dtype=dtype, name=name))

        self._rows = variable((replicas, self._size, 3, classes), "float32", "first_samples")
        self._counts = variable((2, replicas), _backend.STATE, "samples")  # in the list and in the bins
        self._weights = _backend.add_total(metric, (2, bins.size, classes), "cells")
        self._state = [self._rows, self._counts, self._weights]

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self._rows.shape[-1]

    def add(self, samples: Samples) -> Tensor:
        """Adds samples, (n, classes); returns a number that is NaN if one of them is invalid."""
        clean = samples.cleaned()
        p = clip(clean.probability, 0.0, 1.0)
        weight = ops.ones_like(p) if clean.weight is None else ops.broadcast_to(clean.weight, ops.shape(p))
        rows = ops.stack([clean.label, p, weight], 1)
        self._add(rows)
        return ops.sum(rows)

    def merge(self, other: KeptSamples) -> None:
        """Adds the samples of another metric."""
        rows, counts = ops.convert_to_tensor(other._rows), ops.convert_to_tensor(other._counts)
        for replica in range(rows.shape[0]):
            self._add(rows[replica][: ops.cast(counts[0, replica], "int32")])
        self._weights.assign_add(_backend.value_of(other._weights))
        self._counts.assign_add(ops.stack([ops.zeros_like(counts[1]), _only_here(ops.sum(counts[1]), self._counts)]))

    def choose(self, exact: Callable[[Samples], Any], binned: Callable[[FloatBins, Tensor], Any]) -> Any:
        """Returns a function of all samples since the last reset, or of their bins if they are too many."""
        listed, moved = ops.unstack(ops.convert_to_tensor(self._counts), 2)
        rows, weights = ops.convert_to_tensor(self._rows), _backend.value_of(self._weights)

        def of_bins() -> Any:
            some_are_listed = ops.any(listed > 0)  # on a replica with room left, or after a merge
            all_weights = _backend.cond(
                some_are_listed, lambda: weights + self.bins.histogram(_samples(rows)), lambda: weights
            )
            return binned(self.bins, all_weights)

        def of_samples() -> Any:
            if self._size <= _FEW:
                return exact(_samples(rows))
            few = ops.all(listed <= _FEW)
            return _backend.cond(few, lambda: exact(_samples(rows[:, :_FEW])), lambda: exact(_samples(rows)))

        return _backend.cond(ops.all(ops.equal(moved, 0)), of_samples, of_bins)

    def _add(self, rows: Tensor) -> None:
        replica, count = _backend.replica_index(), ops.shape(rows)[0]
        listed, moved = ops.unstack(ops.take(ops.convert_to_tensor(self._counts), replica, axis=1), 2)
        start = ops.cast(listed, "int32")

        def keep() -> Tensor:
            place = start + ops.arange(count, dtype="int32")
            at = ops.stack([ops.zeros_like(place) + replica, place], 1)
            self._rows.assign_add(ops.scatter(at, rows, tuple(self._rows.shape)))
            added = _only_here(ops.cast(count, _backend.STATE), self._counts)
            self._counts.assign_add(ops.stack([added, ops.zeros_like(added)]))
            return start

        def move() -> Tensor:
            both = ops.concatenate([ops.convert_to_tensor(self._rows)[replica], rows])
            self._rows.assign(ops.zeros_like(ops.convert_to_tensor(self._rows)))
            return put(both, listed + ops.cast(count, _backend.STATE))

        def put(rows: Tensor, number: Tensor) -> Tensor:
            self._weights.assign_add(self.bins.histogram(_samples(rows)))
            added = _only_here(number, self._counts)
            self._counts.assign(ops.stack([ops.zeros_like(added), ops.convert_to_tensor(self._counts)[1] + added]))
            return start

        def full() -> Tensor:
            _backend.assign_either(listed > 0, move, lambda: put(rows, ops.cast(count, _backend.STATE)), self._state)
            return start

        if isinstance(count, int) and count > self._size:
            full()
        else:
            _backend.assign_either(ops.logical_or(moved > 0, start + count > self._size), full, keep, self._state)


def _samples(rows: Tensor) -> Samples:
    """Rows as samples; free ones have weight 0."""
    rows = ops.reshape(rows, (-1, 3, rows.shape[-1]))
    return Samples(rows[:, 0], rows[:, 1], rows[:, 2])


def _only_here(count: Tensor, counts: Any) -> Tensor:
    """A number for each replica: `count` for this one, and 0 for the others."""
    return count * ops.one_hot(_backend.replica_index(), counts.shape[1], dtype=_backend.STATE)
