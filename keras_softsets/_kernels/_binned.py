"""The binned algorithm: one pass for any number of thresholds.

Between two neighbouring edges every h(., threshold) is a straight line, so it is known from the weight that falls
into each interval and where in it; the cells are then one small matrix product, and the gradient is one look-up of a
slope for each sample.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from keras_softsets._backend import Tensor
from keras_softsets._kernels._blocks import fold, room, sum_in_float64
from keras_softsets._kernels._differentiable import Algorithm, Batch
from keras_softsets._kernels._intervals import Grid, Search, grid_of, is_even, refine
from keras_softsets._kernels._values import cleaned
from keras_softsets.heaviside import Pieces

_SCATTER_LANES = 8  # neighbours in the same bin would wait for each other; neighbours of other classes never are
_LEAST_PER_BIN = 8  # elements in a block for each bin, so that emptying and joining the bins is cheap beside counting


def binned(pieces: Pieces) -> Algorithm:
    """The algorithm for a family of piecewise-linear functions."""
    pieces = refine(pieces, grid_of(pieces))
    table = _Table(pieces)

    def sums(batch: Batch) -> tuple[Tensor, Tensor]:
        def step(state: list[Tensor], y: Tensor, p: Tensor, w: Tensor | None) -> list[Tensor]:
            y, p, w = cleaned(y, p, w)
            hard = tf.reduce_all((y == 0) | (y == 1))
            interval, columns = table.columns(p)
            columns = columns if w is None else [w * column for column in columns]
            return [state[0] + _by_label(columns, interval, y, hard, table.intervals), state[1] & hard]

        nothing = tf.zeros([1 if table.constant else 2, tf.shape(batch.y)[1], 2 * table.intervals], tf.float64)
        bins = 2 * table.intervals * tf.shape(batch.y)[1]
        masses, hard = fold(step, [nothing, tf.constant(True)], tf.maximum(room(), _LEAST_PER_BIN * bins), *batch)
        return table.cells(masses), hard

    def slopes(batch: Batch, hard: Tensor, pull: Tensor) -> Tensor:
        y, p, _ = cleaned(*batch)
        # Label by label: for one class these are products with a vector, which start no threads. In float64, because
        # GPUs round the factors of a float32 product to ten bits (TF32).
        pulls = [tf.transpose(x) @ table.slopes for x in tf.unstack(tf.cast(pull, tf.float64))]
        flat = tf.reshape(tf.cast(tf.stack(pulls, 1), tf.float32), [-1])  # (classes, label, places)
        size = table.places
        place = table.find.place(p) + 2 * size * tf.range(tf.shape(p)[1])
        return tf.cond(
            hard,
            lambda: tf.gather(flat, place + size * tf.cast(y, tf.int32)),
            lambda: (1 - y) * tf.gather(flat, place) + y * tf.gather(flat, place + size),
        )

    def second(batch: Batch, pull: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """The slopes are linear in the pull, and constant in p between the edges."""
        y, p, _ = cleaned(*batch)
        masses = _by_label([v], table.find.place(p), y, tf.constant(False), table.places)[0]
        in_pull = [table.slopes @ tf.transpose(x) for x in tf.split(masses, 2, 1)]
        return tf.cast(tf.stack(in_pull), pull.dtype), tf.zeros_like(p)

    return Algorithm(sums, slopes, second)


class _Table:
    """The functions' values and slopes at their places: on edge 0, inside interval 0, on edge 1, and so on."""

    def __init__(self, pieces: Pieces) -> None:
        edges, left, right, slope, edge_slope = pieces
        self.find = Grid(edges) if is_even(edges) else Search(edges)
        self.intervals, self.places = left.shape[1], 2 * left.shape[1] + 1
        self.constant = np.array_equal(left, right)
        self.values = left if self.constant else np.append(left, right[:, -1:], 1)  # in intervals, or on edges
        self.slopes = np.empty((len(slope), self.places))
        self.slopes[:, 0::2], self.slopes[:, 1::2] = edge_slope, slope

    def columns(self, p: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The interval of each p, and what is summed there: its weight, or that at each end of the interval."""
        if self.constant:
            interval = tf.minimum(self.find.place(p) // 2, self.intervals - 1)
            return interval, [tf.ones_like(p)]
        interval = self.find.interval(p)
        return interval, self.find.distances(p, interval)

    def cells(self, masses: Tensor) -> Tensor:
        """From weights by class, label and interval to (4, thresholds, classes)."""
        return _cells(masses[0] if self.constant else _on_edges(self.find.normalized(masses)), self.values)


def _by_label(columns: list[Tensor], interval: Tensor, y: Tensor, hard: Tensor, intervals: int) -> Tensor:
    """Sums each column by class, label and interval; hard labels choose a bin, soft ones take part in two."""
    return tf.cond(
        hard,
        lambda: _scatter(columns, interval + intervals * tf.cast(y, tf.int32), 2 * intervals),
        lambda: tf.concat([_scatter([x * label for x in columns], interval, intervals) for label in (1 - y, y)], 2),
    )


def _scatter(columns: list[Tensor], bins: Tensor, size: int) -> Tensor:
    """Sums each column by bin and class, in lanes, to float64 of shape (columns, classes, size)."""
    classes = tf.shape(bins)[1]
    lanes = tf.maximum(_SCATTER_LANES // classes, 1)
    lane = tf.range(tf.shape(bins)[0])[:, None] % lanes
    index = bins + size * (tf.range(classes) + classes * lane)
    flat = [tf.math.unsorted_segment_sum(x, index, size * classes * lanes) for x in columns]
    return tf.stack([sum_in_float64(tf.reshape(x, [lanes, classes, size])) for x in flat])


def _on_edges(masses: Tensor) -> Tensor:
    """Weight at both ends of each interval, (2, classes, label x interval), to that on each edge: h is continuous."""
    left, right = (tf.split(x, 2, 1) for x in tf.unstack(masses))
    return tf.concat([tf.pad(a, [[0, 0], [0, 1]]) + tf.pad(b, [[0, 0], [1, 0]]) for a, b in zip(left, right)], 1)


def _cells(masses: Tensor, values: np.ndarray) -> Tensor:
    """Weight by class and place, negatives before positives, and h at the places, to (4, thresholds, classes)."""
    both = np.concatenate([values, 1 - values])  # not a difference of sums, which would leave a rest where h is 1
    (fp, tn), (tp, fn) = (tf.split(both @ tf.transpose(x), 2) for x in tf.split(masses, 2, 1))
    return tf.stack([tp, fp, fn, tn])
