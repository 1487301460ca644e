"""The first samples of a metric, kept as they are: on these, operating points are exact."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_softsets import _replicas
from keras_softsets._backend import Tensor, clip
from keras_softsets._samples import Samples

SIZE = 2**14  # samples on each replica; beyond that, one bin of probabilities matters less than 1e-4


class FirstSamples:
    """Labels, probabilities and weights of the first samples, in variables of a metric.

    Every replica has separate rows: reading a variable returns the sum over replicas, which then holds all of them.

    Args:
        metric: The metric, which resets the variables with its own.
        classes: The number of classes.
    """

    def __init__(self, metric: Any, classes: int) -> None:
        replicas = _replicas.in_sync()
        shape = (replicas, SIZE, 3, classes)
        self._rows = _replicas.make_variable(
            lambda: metric.add_variable(shape, "zeros", dtype="float32", name="first_samples")
        )
        self._counts = _replicas.make_variable(
            lambda: metric.add_variable((replicas,), "zeros", dtype="float64", name="samples")
        )

    def add(self, samples: Samples) -> None:
        """Keeps samples, (n, classes), as long as there is room."""
        counted = samples.counted()
        p = clip(counted.probability, 0.0, 1.0)
        weight = ops.ones_like(p) if counted.weight is None else ops.broadcast_to(counted.weight, ops.shape(p))
        rows = ops.stack([counted.label, p, weight], 1)
        self._put(rows, ops.cast(ops.shape(rows)[0], "float64"))

    def merge(self, other: FirstSamples) -> None:
        """Keeps the samples that another metric has kept."""
        rows, counts = ops.convert_to_tensor(other._rows), ops.convert_to_tensor(other._counts)
        for replica in range(rows.shape[0]):
            kept = ops.cast(ops.minimum(counts[replica], SIZE), "int32")
            self._put(rows[replica][:kept], counts[replica])

    def complete(self) -> Tensor:
        """Whether these are all samples since the last reset."""
        return ops.all(ops.convert_to_tensor(self._counts) <= SIZE)

    def samples(self) -> Samples:
        """Returns the samples; free places have weight 0."""
        rows = ops.convert_to_tensor(self._rows)
        rows = ops.reshape(rows, (-1, 3, rows.shape[-1]))
        return Samples(rows[:, 0], rows[:, 1], rows[:, 2])

    def _put(self, rows: Tensor, count: Tensor) -> None:
        replica = _replicas.index()
        start = ops.cast(ops.take(ops.convert_to_tensor(self._counts), replica), "int32")
        place = start + ops.arange(ops.shape(rows)[0], dtype="int32")
        kept = ops.where((place < SIZE)[:, None, None], rows, ops.zeros_like(rows))
        at = ops.stack([ops.zeros_like(place) + replica, ops.minimum(place, SIZE - 1)], 1)
        self._rows.assign_add(ops.scatter(at, kept, tuple(self._rows.shape)))
        self._counts.assign_add(count * ops.one_hot(replica, self._counts.shape[0], dtype="float64"))
