"""Which interval a probability falls into, and where: by arithmetic if intervals are even, otherwise by search."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_softsets._backend._types import Tensor

if TYPE_CHECKING:
    from keras_softsets.heaviside import Pieces

_MOST_COMPARISONS = 64


class Grid:
    """Even intervals: everything is arithmetic with exact products."""

    def __init__(self, edges: np.ndarray) -> None:
        self.last = len(edges) - 2
        self.scale = _scale(edges)

    def interval(self, p: Tensor) -> Tensor:
        """The interval that p falls into."""
        # It does not matter on which side of an edge a p next to it is counted: h is continuous.
        return tf.clip_by_value(tf.cast(p * self.scale, tf.int32), 0, self.last)

    def distances(self, p: Tensor, interval: Tensor) -> list[Tensor]:
        """The distances of p from the right and the left end of its interval, in widths of the interval."""
        u = self._minus(p, interval)
        return [1 - u, u]

    def normalized(self, masses: Tensor) -> Tensor:
        """Returns `masses`: distances are already in widths of the interval."""
        return masses

    def place(self, p: Tensor) -> Tensor:
        """2 k on edge k, 2 k + 1 in the interval after it; p is on an edge if the edge rounds to p in float32."""
        nearest = tf.clip_by_value(tf.cast(p * self.scale + 0.5, tf.int32), 0, self.last + 1)
        exponent = tf.bitcast(tf.bitcast(p, tf.int32) & 0x7F800000, tf.float32)
        beyond, rounding = self._minus(p, nearest), exponent * np.float32(self.scale * 2.0**-24)
        return 2 * nearest + tf.cast(beyond > rounding, tf.int32) - tf.cast(beyond < -rounding, tf.int32)

    def _minus(self, p: Tensor, edge: Tensor) -> Tensor:
        # p * scale - edge without a rounding error: the products of 12 leading bits of p, and of the rest, are exact.
        bits = tf.bitcast(tf.bitcast(p, tf.int32) & -(1 << 12), tf.float32)
        return (bits * self.scale - tf.cast(edge, tf.float32)) + (p - bits) * self.scale


class Search:
    """Uneven intervals: comparisons with all edges if there are few, otherwise a binary search."""

    def __init__(self, edges: np.ndarray) -> None:
        self.edges = edges.astype("float32")
        self.width = np.diff(edges)
        # The first float32 at or after the true edge: on a steep slope, the rounding of the edge would show.
        self.bounds = np.where(edges > self.edges, np.nextafter(self.edges, np.float32(2)), self.edges)
        # Distances are measured from float32 numbers beside the edges, which differ even if two edges round alike.
        self.start, self.end = self.edges[:-1].copy(), self.edges[1:]
        same = self.start == self.end
        self.start[same] = np.nextafter(self.end[same], np.float32(-1))
        self.beside_start, self.beside_end = edges[:-1] - self.start, edges[1:] - self.end

    def interval(self, p: Tensor) -> Tensor:
        """The interval that p falls into."""
        return self._count(p, self.bounds[1:-1])

    def distances(self, p: Tensor, interval: Tensor) -> list[Tensor]:
        """From p to the right end of its interval, and from the left end to p."""
        start, end = (self._choose(p, interval, self.bounds[1:-1], x) for x in (self.start, self.end))
        return [end - p, p - start]

    def normalized(self, masses: Tensor) -> Tensor:
        """Returns distances in widths of the interval, measured from the true edges instead of the float32 numbers."""
        to_right, from_left = tf.unstack(masses)
        weight = (to_right + from_left) / np.tile(self.end.astype("float64") - self.start, 2)
        to_right += weight * np.tile(self.beside_end, 2)
        from_left -= weight * np.tile(self.beside_start, 2)
        return tf.stack([to_right, from_left]) / np.tile(self.width, 2)

    def place(self, p: Tensor) -> Tensor:
        """2 k on edge k, 2 k + 1 in the interval after it."""
        inner = self.edges[1:-1]
        interval = self._count(p, inner)
        on_edge = tf.equal(p, self._choose(p, interval, inner, self.edges[:-1]))
        return 2 * interval + 1 - tf.cast(on_edge, tf.int32) + tf.cast(p >= self.edges[-1], tf.int32)

    def _count(self, p: Tensor, inner: np.ndarray) -> Tensor:
        count = tf.zeros_like(p, tf.int32)
        if len(inner) <= _MOST_COMPARISONS:
            return tf.add_n([count, *(tf.cast(p >= edge, tf.int32) for edge in inner)])
        steps = math.ceil(math.log2(len(inner) + 1))
        padded = np.append(inner, np.full(2**steps - len(inner), np.inf, "float32"))
        for step in reversed(range(steps)):
            count += tf.cast(p >= tf.gather(padded, count + (2**step - 1)), tf.int32) * 2**step
        return count

    def _choose(self, p: Tensor, interval: Tensor, inner: np.ndarray, values: np.ndarray) -> Tensor:
        if len(inner) > _MOST_COMPARISONS:
            return tf.gather(values, interval)
        chosen = tf.fill(tf.shape(p), values[0])  # a look-up would keep the whole loop from being vectorized
        for edge, value in zip(inner, values[1:]):
            chosen = tf.where(p >= edge, value, chosen)
        return chosen


def grid_of(pieces: Pieces) -> np.ndarray:
    """The coarsest even grid that contains all edges, unless it is much finer than they are; then the edges."""
    edges = pieces.edges
    # More than 12 bits would make the products in Grid._minus inexact.
    for scale in range(len(edges) - 2, min(2**12, max(512, 2 * len(edges))) + 1):
        index = np.round(edges * scale)
        near = np.abs(edges * scale - index).max() < 1e-6 and (np.diff(index) > 0).all()
        if near and np.array_equal((index / scale).astype("float32"), edges.astype("float32")):
            return np.arange(index[-1] + 1) / scale
    return edges


def _scale(edges: np.ndarray) -> float:
    return float(np.round(1 / edges[1]))


def is_even(edges: np.ndarray) -> bool:
    """Whether all edges are multiples of the first one after 0."""
    return np.array_equal(edges, np.arange(len(edges)) / _scale(edges))


def refine(pieces: Pieces, edges: np.ndarray) -> Pieces:
    """The same functions on finer intervals."""
    old = pieces.edges
    middle = (edges[1:] + edges[:-1]) / 2
    home = np.searchsorted(old, middle, "right") - 1
    width = np.diff(old)[home]
    rise = (pieces.right - pieces.left)[:, home] / width
    left = pieces.left[:, home] + rise * (edges[:-1] - old[home])
    right = pieces.left[:, home] + rise * (edges[1:] - old[home])
    slope = pieces.slope[:, home]
    nearest = np.abs(edges[:, None] - old).argmin(1)
    kept = edges.astype("float32") == old[nearest].astype("float32")
    edge_slope = np.where(kept, pieces.edge_slope[:, nearest], np.pad(slope, ((0, 0), (0, 1)), "edge"))
    return pieces._replace(edges=edges, left=left, right=right, slope=slope, edge_slope=edge_slope)
