"""The binned algorithm: one pass for any number of thresholds.

Between two neighbouring edges every h(., threshold) is a straight line, so its sums follow from the total weight in
each interval and its position within the interval. The cells are then one small matrix product, and the gradient looks
up one slope for each sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_softsets._backend._types import Tensor
from keras_softsets._backend.tensorflow._bins import Bins
from keras_softsets._backend.tensorflow._blocks import fold, room, rows
from keras_softsets._backend.tensorflow._differentiable import Algorithm, Batch
from keras_softsets._backend.tensorflow._intervals import Grid, Search, grid_of, is_even, refine
from keras_softsets._backend.tensorflow._values import cleaned, or_nan

if TYPE_CHECKING:
    from keras_softsets.heaviside import Pieces

_FIRST = 8  # samples; if their labels are all 0 or 1, those of the others most likely are too


def binned(pieces: Pieces) -> Algorithm:
    """The algorithm for a family of piecewise-linear functions."""
    pieces = refine(pieces, grid_of(pieces))
    table = _Table(pieces)

    def sums(batch: Batch, even: bool) -> tuple[Tensor, Tensor]:
        bins = Bins(table.bins, tf.shape(batch.y)[1])
        count = _count_at_once if table.constant else _count_by_guess
        found, binary = count(table, bins, batch, even)
        return table.cells(bins.masses(found)), binary

    def slopes(batch: Batch, binary: Tensor, pull: Tensor) -> Tensor:
        y, p, _ = cleaned(*batch)
        flat, size = tf.reshape(table.slopes_by_label(pull), [-1]), table.places
        place = table.find.place(p) + 2 * size * tf.range(tf.shape(p)[1])
        return tf.cond(
            binary,
            lambda: tf.gather(flat, place + size * tf.cast(y, tf.int32)),
            lambda: (1 - y) * tf.gather(flat, place) + y * tf.gather(flat, place + size),
        )

    def second(batch: Batch, pull: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """The derivatives of the slopes, which are linear in the pull and constant in p between the edges."""
        bins = Bins(table.places, tf.shape(batch.y)[1])
        y, p, _ = cleaned(*batch)
        masses = bins.masses(bins.add(bins.empty(), table.find.place(p), (1 - y) * v, y * v))
        in_pull = [table.slopes @ tf.transpose(x) for x in tf.unstack(masses)]
        return tf.cast(tf.stack(in_pull), pull.dtype), tf.zeros_like(p)

    return Algorithm(sums, slopes, second)


class _Table:
    """Values and slopes of the functions at each place: on edge 0, inside interval 0, on edge 1, and so on."""

    def __init__(self, pieces: Pieces) -> None:
        edges, left, right, slope, edge_slope = pieces
        self.find = Grid(edges) if is_even(edges) else Search(edges)
        self.intervals, self.places = left.shape[1], 2 * left.shape[1] + 1
        self.constant = np.array_equal(left, right)
        self.values = left if self.constant else np.append(left, right[:, -1:], 1)  # in intervals, or on edges
        self.slopes = np.empty((len(slope), self.places))
        self.slopes[:, 0::2], self.slopes[:, 1::2] = edge_slope, slope

    @property
    def bins(self) -> int:
        """Bins for each class: one for each interval, or two (one for each label) if a bin sums what is at its ends."""
        return self.intervals if self.constant else 2 * self.intervals

    def count(self, bins: Bins, sums: Tensor, y: Tensor, p: Tensor, weight: Tensor) -> Tensor:
        """Adds the weight of both labels to the interval of p."""
        interval = tf.minimum(self.find.place(p) // 2, self.intervals - 1)
        return bins.add(sums, interval, weight - weight * y, weight * y)

    def count_ends(self, bins: Bins, sums: Tensor, y: Tensor, p: Tensor, weight: Tensor, binary: bool) -> Tensor:
        """Adds the weight at both ends of the interval of p; a binary label goes into one bin, a soft one into two."""
        interval = self.find.interval(p)
        ends = [weight * distance for distance in self.find.distances(p, interval)]
        if binary:
            return bins.add(sums, interval + self.intervals * tf.cast(y, tf.int32), *ends)
        sums = bins.add(sums, interval, *((1 - y) * x for x in ends))
        return bins.add(sums, interval + self.intervals, *(y * x for x in ends))

    def slopes_by_label(self, pull: Tensor) -> Tensor:
        """The pulled slopes, (classes, label, places)."""
        # Label by label, because for one class these are products with a vector, which start no threads. In float64,
        # because GPUs round the factors of a float32 product to ten bits (TF32).
        pulls = [tf.transpose(x) @ self.slopes for x in tf.unstack(tf.cast(pull, tf.float64))]
        return tf.cast(tf.stack(pulls, 1), tf.float32)

    def cells(self, masses: Tensor) -> Tensor:
        """Turns the two sums of each class and bin into cells, (4, thresholds, classes)."""
        by_label = tf.unstack(masses) if self.constant else _on_edges(self.find.normalized(masses))
        return _cells(by_label, self.values)


def _count_at_once(table: _Table, bins: Bins, batch: Batch, even: bool) -> tuple[Tensor, Tensor]:
    """Counts both labels in one bin; also returns whether labels are binary, which the gradient needs to know."""

    def step(state: list[Tensor], y: Tensor, p: Tensor, w: Tensor | None) -> list[Tensor]:
        weight = or_nan(tf.ones_like(p) if w is None else w, y, p, w)
        y, p, _ = cleaned(y, p, w)
        return [table.count(bins, state[0], y, p, weight)]

    y, _, _ = cleaned(*batch)
    sums = fold(step, [bins.empty()], bins.block(room(), tf.shape(batch.y)[0]), *batch, even=even)
    return sums[0], tf.reduce_all(_is_binary(y))


def _count_by_guess(table: _Table, bins: Bins, batch: Batch, even: bool) -> tuple[Tensor, Tensor]:
    """Assumes that labels are binary if the first few are; a soft one gives NaN, like invalid values, and a second try.

    Looking at all labels first would take another pass, and deciding block by block another copy of each block.
    """

    def sums(binary: bool) -> Tensor:
        def step(state: list[Tensor], y: Tensor, p: Tensor, w: Tensor | None) -> list[Tensor]:
            weight = or_nan(tf.ones_like(p) if w is None else w, y, p, w)
            y, p, _ = cleaned(y, p, w)
            weight = tf.where(_is_binary(y), weight, np.float32(np.nan)) if binary else weight
            return [table.count_ends(bins, state[0], y, p, weight, binary)]

        return fold(step, [bins.empty()], bins.block(room(), tf.shape(batch.y)[0]), *batch, even=even)[0]

    first, _, _ = cleaned(*rows(batch, 0, tf.minimum(tf.shape(batch.y)[0], _FIRST)))
    guess = tf.reduce_all(_is_binary(first))
    found = tf.cond(guess, lambda: sums(binary=True), bins.empty)
    binary = guess & ~tf.reduce_any(bins.is_nan(found))
    return tf.cond(binary, lambda: found, lambda: sums(binary=False)), binary


def _is_binary(y: Tensor) -> Tensor:
    return (y == 0) | (y == 1)


def _on_edges(masses: Tensor) -> list[Tensor]:
    """Joins the weight at both ends of each interval, (2, classes, label x interval), on each edge: h is continuous."""
    left, right = (tf.split(x, 2, 1) for x in tf.unstack(masses))
    return [tf.pad(a, [[0, 0], [0, 1]]) + tf.pad(b, [[0, 0], [1, 0]]) for a, b in zip(left, right)]


def _cells(masses: list[Tensor], values: np.ndarray) -> Tensor:
    """Turns the weights of negatives and positives by class and place, and h there, into (4, thresholds, classes)."""
    both = np.concatenate([values, 1 - values])  # not a difference of sums, which would leave a remainder where h is 1
    (fp, tn), (tp, fn) = (tf.split(both @ tf.transpose(x), 2) for x in masses)
    return tf.stack([tp, fp, fn, tn])
