"""XLA-compiled sums behind `confusion.py`: (samples, classes) in, cells of shape (4, thresholds, classes) out.

Two exact algorithms, chosen by `cells_kernel`:

* **direct**: one pass for each threshold, h recomputed in the backward pass, so nothing of size samples x thresholds
  is ever stored. For one threshold, and for approximations that are not piecewise linear.
* **binned**: one pass for all thresholds. Between two neighbouring edges every h(., threshold) is a straight line,
  so it is known from the weight that falls into each interval and where in it (`u`, from 0 to 1); the cells are then
  small matrix products, and the gradient is one look-up of a slope for each sample.

Sums run in float32 over independent lanes that are joined in float64: XLA's CPU reduction is one chain of float32
additions, which stops at 2^24 (16,777,216) and drifts long before (5e-5 at 2e7 samples).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_softsets._inputs import Samples, Tensor
from keras_softsets.heaviside import Heaviside, Pieces

Sums = Callable[[Tensor, Tensor, Tensor | None], Tensor]
Gradient = Callable[[Tensor, Tensor, Tensor | None, Tensor], Tensor]

_REDUCTION_LANES = 256
_SCATTER_LANES = 16
_UNROLLED_THRESHOLDS = 16  # above, a loop: the program would grow with the number of thresholds
_MOST_COMPARISONS = 64


def sum_cells(samples: Samples, thresholds: Sequence[float], heaviside: Heaviside) -> Tensor:
    """Returns tp, fp, fn, tn as one float64 tensor of shape (4, thresholds, classes), differentiable in p."""
    kernel = cells_kernel(heaviside, tuple(thresholds), samples.weight is not None)
    return kernel(*(x for x in samples if x is not None))


@functools.lru_cache(maxsize=256)
def cells_kernel(heaviside: Heaviside, thresholds: tuple[float, ...], weighted: bool) -> Callable[..., Tensor]:
    """One compiled function for each configuration: traced once for all batch sizes, compiled once for each."""
    with tf.init_scope():  # the tables are constants, also when the first call comes from inside a graph
        pieces = heaviside.pieces(thresholds)
    if pieces is None or len(thresholds) == 1:
        sums, gradient = _direct(heaviside, thresholds)
    else:
        sums, gradient = _binned(pieces)
    function = _differentiable(sums, gradient)
    signature = [tf.TensorSpec([None, None], tf.float32)] * (3 if weighted else 2)
    return tf.function(function, input_signature=signature, jit_compile=True)


def _differentiable(sums: Sums, gradient: Gradient) -> Callable[..., Tensor]:
    """Joins sums and their gradient in p; labels and weights are constants of a loss."""

    @tf.custom_gradient
    def cells(*arrays: Tensor) -> tuple[Tensor, Callable[..., Any]]:
        y, p, w = (*arrays, None)[:3]

        def backward(upstream: Tensor) -> tuple[Tensor | None, ...]:
            tp, fp, fn, tn = tf.unstack(tf.cast(upstream, tf.float32))
            dp = gradient(y, p, w, tf.stack([fp - tn, tp - fn]))  # (label, thresholds, classes)
            return (None, dp, None)[: len(arrays)]

        return sums(y, p, w), backward

    return cells


# ---------------------------------------------------------------------------------------------------------- direct


def _direct(heaviside: Heaviside, thresholds: Sequence[float]) -> tuple[Sums, Gradient]:
    taus = tf.constant(thresholds, tf.float32)

    def sums(y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        def at(threshold: Any) -> Tensor:
            return _reduce(lambda y, p, w: _memberships(y, heaviside(p, threshold), w), y, p, w)

        if len(thresholds) <= _UNROLLED_THRESHOLDS:
            return tf.stack([at(threshold) for threshold in thresholds], 1)
        cells = tf.map_fn(at, taus, fn_output_signature=tf.float64)
        return tf.transpose(cells, [1, 0, 2])

    def gradient(y: Tensor, p: Tensor, w: Tensor | None, upstream: Tensor) -> Tensor:
        def at(threshold: Any, g: Tensor) -> Tensor:
            with tf.GradientTape() as tape:
                tape.watch(p)
                h = heaviside(p, threshold)
            return tape.gradient(h, p, g[0] + y * (g[1] - g[0]), unconnected_gradients="zero")

        def step(k: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
            return k + 1, total + at(taus[k], upstream[:, k])

        if len(thresholds) <= _UNROLLED_THRESHOLDS:
            total = tf.add_n([at(threshold, upstream[:, k]) for k, threshold in enumerate(thresholds)])
        else:
            _, total = tf.while_loop(lambda k, _: k < len(thresholds), step, (0, tf.zeros_like(p)))
        return total if w is None else total * w

    return sums, gradient


def _memberships(y: Tensor, h: Tensor, w: Tensor | None) -> list[Tensor]:
    terms = [y * h, (1 - y) * h, y * (1 - h), (1 - y) * (1 - h)]
    return terms if w is None else [w * term for term in terms]


def _reduce(terms: Callable[..., list[Tensor]], *arrays: Tensor | None) -> Tensor:
    """Sums elementwise `terms` over samples, by lanes; what does not fill the lanes is summed apart."""
    samples, classes = tf.unstack(tf.shape(arrays[0]))
    full = samples // _REDUCTION_LANES * _REDUCTION_LANES

    def lanes(x: Tensor) -> Tensor:
        return tf.reshape(x[:full], [-1, _REDUCTION_LANES * classes])

    head = terms(*(None if x is None else lanes(x) for x in arrays))
    tail = terms(*(None if x is None else x[full:] for x in arrays))
    by_lane = tf.stack([tf.cast(tf.reduce_sum(x, 0), tf.float64) for x in head])
    rest = tf.stack([tf.cast(tf.reduce_sum(x, 0), tf.float64) for x in tail])
    return tf.reduce_sum(tf.reshape(by_lane, [len(head), _REDUCTION_LANES, classes]), 1) + rest


# ---------------------------------------------------------------------------------------------------------- binned


def _binned(pieces: Pieces) -> tuple[Sums, Gradient]:
    edges, left, right, slope, edge_slope = pieces = _refine(pieces, _grid_of(pieces))
    intervals, constant = left.shape[1], np.array_equal(left, right)
    find = _Grid(edges, continuous=not constant) if _is_even(edges) else _Search(edges)
    places = np.empty((len(slope), 2 * intervals + 1))  # on edge 0, inside interval 0, on edge 1, ...
    places[:, 0::2], places[:, 1::2] = edge_slope, slope

    def sums(y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        interval = find.interval(p)
        u = find.fraction(p, interval)
        columns = [tf.ones_like(p)] if constant else [1 - u, u]
        columns = columns if w is None else [w * column for column in columns]
        masses = tf.cond(
            _only_zeros_and_ones(y),
            lambda: _scatter(columns, interval + intervals * tf.cast(y, tf.int32), 2 * intervals),
            lambda: tf.concat([_scatter([x * label for x in columns], interval, intervals) for label in (1 - y, y)], 2),
        )  # (columns, classes, 2 intervals)
        return tf.add_n([_cells(mass, h) for mass, h in zip(tf.unstack(masses, len(columns)), (left, right))])

    def gradient(y: Tensor, p: Tensor, w: Tensor | None, upstream: Tensor) -> Tensor:
        place, size = find.place(p), 2 * intervals + 1
        table = tf.einsum("ltc,ts->cls", upstream, tf.constant(places, tf.float32))
        table = tf.reshape(table, [-1])
        place += 2 * size * tf.range(tf.shape(p)[1])
        total = tf.cond(
            _only_zeros_and_ones(y),
            lambda: tf.gather(table, place + size * tf.cast(y, tf.int32)),
            lambda: (1 - y) * tf.gather(table, place) + y * tf.gather(table, place + size),
        )
        return total if w is None else total * w

    return sums, gradient


def _only_zeros_and_ones(y: Tensor) -> Tensor:
    # Hard labels choose a bin; soft ones have to be spread over two, at twice the price.
    return tf.reduce_all((y == 0) | (y == 1))


def _scatter(columns: list[Tensor], bins: Tensor, size: int) -> Tensor:
    """Sums each column by bin and class, in lanes, to float64 of shape (columns, classes, size)."""
    classes = bins.shape[1] or tf.shape(bins)[1]
    lanes = max(1, _SCATTER_LANES // (bins.shape[1] or 1))  # many classes are lanes enough
    lane = tf.range(tf.shape(bins)[0])[:, None] % lanes
    index = bins + size * (tf.range(classes) + classes * lane)
    flat = [tf.math.unsorted_segment_sum(x, index, size * classes * lanes) for x in columns]
    return tf.stack([tf.reduce_sum(tf.cast(tf.reshape(x, [lanes, classes, size]), tf.float64), 0) for x in flat])


def _cells(mass: Tensor, h: np.ndarray) -> Tensor:
    """Weight by interval, (classes, label x interval), and memberships by interval, to (4, thresholds, classes)."""
    negative, positive = tf.split(mass, 2, 1)
    both = np.stack([h, 1 - h])
    tp, fn = tf.unstack(tf.einsum("hti,ci->htc", both, positive))
    fp, tn = tf.unstack(tf.einsum("hti,ci->htc", both, negative))
    return tf.stack([tp, fp, fn, tn])


class _Grid:
    """Even intervals: the index is arithmetic, settled by one comparison with the nearest edge where that matters."""

    def __init__(self, edges: np.ndarray, continuous: bool) -> None:
        self.last = len(edges) - 2
        self.scale = _scale(edges)
        self.edges = edges.astype("float32")
        self.continuous = continuous  # then p beside an edge may as well be counted to the neighbouring interval

    def interval(self, p: Tensor) -> Tensor:
        index = tf.cast(p * self.scale, tf.int32) if self.continuous else self._compare(p)[0]
        return tf.clip_by_value(index, 0, self.last)

    def fraction(self, p: Tensor, interval: Tensor) -> Tensor:
        # p * scale - interval without its rounding error: 12 leading bits of p, then the rest, are exact products.
        bits = tf.bitcast(tf.bitcast(p, tf.int32) & -(1 << 12), tf.float32)
        return (bits * self.scale - tf.cast(interval, tf.float32)) + (p - bits) * self.scale

    def place(self, p: Tensor) -> Tensor:
        interval, on_edge = self._compare(p)
        return 2 * interval + 1 - on_edge

    def _compare(self, p: Tensor) -> tuple[Tensor, Tensor]:
        # Edges are looked up: XLA turns index / scale into a product, which is not the float32 of the edge.
        nearest = tf.clip_by_value(tf.cast(p * self.scale + 0.5, tf.int32), 0, self.last + 1)
        edge = tf.gather(self.edges, nearest)
        return nearest - tf.cast(p < edge, tf.int32), tf.cast(tf.equal(p, edge), tf.int32)


class _Search:
    """Uneven intervals: comparisons with all edges if there are few, else binary search."""

    def __init__(self, edges: np.ndarray) -> None:
        self.inner = edges[1:-1].astype("float32")
        self.start = edges[:-1].astype("float32")
        self.start_rest = (edges[:-1] - self.start).astype("float32")
        self.per_width = (1 / np.diff(edges)).astype("float32")

    def interval(self, p: Tensor) -> Tensor:
        return self._count(p, tf.greater_equal)

    def fraction(self, p: Tensor, interval: Tensor) -> Tensor:
        start, rest, per_width = (tf.gather(x, interval) for x in (self.start, self.start_rest, self.per_width))
        return ((p - start) - rest) * per_width

    def place(self, p: Tensor) -> Tensor:
        ends = tf.cast(p > 0, tf.int32) + tf.cast(p >= 1, tf.int32)
        return self._count(p, tf.greater_equal) + self._count(p, tf.greater) + ends

    def _count(self, p: Tensor, passed: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        if len(self.inner) <= _MOST_COMPARISONS:
            return tf.add_n([tf.cast(passed(p, edge), tf.int32) for edge in self.inner])
        steps = math.ceil(math.log2(len(self.inner) + 1))
        padded = np.append(self.inner, np.full(2**steps - len(self.inner), np.inf, "float32"))
        count = tf.zeros_like(p, tf.int32)
        for step in reversed(range(steps)):
            count += tf.cast(passed(p, tf.gather(padded, count + (2**step - 1))), tf.int32) * 2**step
        return count


def _grid_of(pieces: Pieces) -> np.ndarray:
    """The coarsest even grid that has all edges on it, where it is not much finer than they are; else the edges."""
    edges = pieces.edges
    # More than 12 bits would make the products in _Grid.fraction inexact; constant pieces have no fraction.
    limit = 10**4 if np.array_equal(pieces.left, pieces.right) else 2**12
    for scale in range(len(edges) - 2, min(limit, max(512, 2 * len(edges))) + 1):
        index = np.round(edges * scale)
        near = np.abs(edges * scale - index).max() < 1e-6
        if near and np.array_equal((index / scale).astype("float32"), edges.astype("float32")):
            return np.arange(index[-1] + 1) / scale
    return edges


def _scale(edges: np.ndarray) -> float:
    return float(np.round(1 / edges[1]))


def _is_even(edges: np.ndarray) -> bool:
    return np.array_equal(edges, np.arange(len(edges)) / _scale(edges))


def _refine(pieces: Pieces, edges: np.ndarray) -> Pieces:
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
    kept = np.abs(edges - old[nearest]) < 1e-9
    edge_slope = np.where(kept, pieces.edge_slope[:, nearest], np.pad(slope, ((0, 0), (0, 1)), "edge"))
    return Pieces(edges, left, right, slope, edge_slope)
