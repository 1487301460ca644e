"""XLA-compiled sums behind `confusion.py`: (samples, classes) in, cells of shape (4, thresholds, classes) out.

Two exact algorithms, chosen by `cells_kernel`:

* **direct**: h of every sample and threshold, recomputed in the backward pass, so nothing of size samples x thresholds
  is ever stored. For approximations of very few pieces (one threshold), or that are not piecewise linear.
* **binned**: one pass for all thresholds. Between two neighbouring edges every h(., threshold) is a straight line,
  so it is known from the weight that falls into each interval and where in it; the cells are then one small matrix
  product, and the gradient is one look-up of a slope for each sample.

Two things about XLA on CPUs shape the code. A float32 reduction is one chain of additions, which stops at 2^24
(16,777,216) and drifts long before; so short float32 sums side by side are joined in float64. And whatever is stored
between two steps costs more than computing it (above 32 MB every call gets its memory page by page from the kernel);
so several thresholds are worked off in blocks of samples that stay in the cache.
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

Sums = Callable[[Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]  # cells, and whether labels are only 0 and 1
Gradient = Callable[[Tensor, Tensor, Tensor | None, Tensor, Tensor], Tensor]

_BLOCK = 2**13  # elements whose bins are counted at a time: 32 KB for each array
_GPU_BLOCK = 2**16  # a GPU waits at the start of each block; still larger ones would lose digits in float32 sums
_LONGEST_SUM = 2**11  # products that are added up in float32
_SLICES = 8
_SCATTER_LANES = 8  # neighbours in the same bin would wait for each other
_MOST_COMPARISONS = 64
_STEEP = 1e-5  # intervals on which a sum of constants, rounded, is seen
_FEW_EDGES = 4  # a straight line or two: comparing is cheaper than counting


def sum_cells(samples: Samples, thresholds: Sequence[float], heaviside: Heaviside) -> Tensor:
    """Returns tp, fp, fn, tn as one float64 tensor of shape (4, thresholds, classes), differentiable in p."""
    kernel = cells_kernel(heaviside, tuple(thresholds), samples.weight is not None)
    return kernel(*(x for x in samples if x is not None))


@functools.lru_cache(maxsize=256)
def cells_kernel(heaviside: Heaviside, thresholds: tuple[float, ...], weighted: bool) -> Callable[..., Tensor]:
    """One compiled function for each configuration: traced once for all batch sizes, compiled once for each."""
    with tf.init_scope():  # the tables are constants, also when the first call comes from inside a graph
        pieces = heaviside.pieces(thresholds)
    # XLA reorders sums of constants, which on a steep slope would be seen in the direct formula.
    if pieces is None or (len(pieces.edges) <= _FEW_EDGES and np.diff(pieces.edges).min() > _STEEP):
        sums, gradient = _direct(heaviside, thresholds)
    else:
        sums, gradient = _binned(pieces)
    # A partial hides the code: TensorFlow (2.21) takes functions of the same code for one that is traced over and over,
    # and would warn of it in a model with five metrics of different thresholds.
    function = functools.partial(_differentiable(sums, gradient))
    signature = [tf.TensorSpec([None, None], tf.float32)] * (3 if weighted else 2)
    return tf.function(function, input_signature=signature, jit_compile=True)


def _differentiable(sums: Sums, gradient: Gradient) -> Callable[..., Tensor]:
    """Joins sums and their gradient in p; labels and weights are constants of a loss."""

    @tf.custom_gradient
    def cells(*arrays: Tensor) -> tuple[Tensor, Callable[..., Any]]:
        y, p, w = (*arrays, None)[:3]
        y = tf.reshape(y, tf.shape(p))  # a batch of another size is an error here, where no optimizer removes it
        totals, hard = sums(y, p, w)

        def backward(upstream: Tensor) -> tuple[Tensor | None, ...]:
            tp, fp, fn, tn = tf.unstack(tf.cast(upstream, tf.float32))
            dp = gradient(y, p, w, hard, tf.stack([fp - tn, tp - fn]))  # (label, thresholds, classes)
            dp = tf.where((p < 0) | (p > 1), 0.0, dp)
            dp = dp if w is None else dp * w
            return (None, dp, None)[: len(arrays)]

        return totals, backward

    return cells


def _counted(y: Tensor, p: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor]:
    """Labels, and probabilities clipped to [0, 1]; weight 0 is absence, of a NaN or of a label such as -1, too."""
    if w is not None:
        y, p = (tf.where(tf.equal(w, 0.0), 0.0, x) for x in (y, p))
    return y, tf.clip_by_value(p, 0.0, 1.0)


# ---------------------------------------------------------------------------------------------------------- blocks


def _fold(step: Callable[..., list[Tensor]], start: list[Tensor], most: int, *arrays: Tensor | None) -> list[Tensor]:
    """Carries a state through blocks of samples, and through those that are left over."""
    count, size, rest = _blocks(arrays[0], most)

    def body(k: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        return (k + 1, *step(list(state), *_rows(arrays, k * size, size)))

    state = tf.while_loop(lambda k, *_: k < count, body, (0, *start))[1:]
    return step(list(state), *_rows(arrays, count * size, rest))


def _map(function: Callable[..., Tensor], most: int, *arrays: Tensor | None) -> Tensor:
    """Applies an elementwise `function` block by block, so that what it needs in between stays small."""
    count, size, rest = _blocks(arrays[0], most)
    blocks = tf.TensorArray(tf.float32, count)

    def body(k: Tensor, blocks: tf.TensorArray) -> tuple[Tensor, tf.TensorArray]:
        return k + 1, blocks.write(k, function(*_rows(arrays, k * size, size)))

    _, blocks = tf.while_loop(lambda k, _: k < count, body, (0, blocks))
    head = tf.reshape(blocks.stack(), [count * size, tf.shape(arrays[0])[1]])
    return tf.concat([head, function(*_rows(arrays, count * size, rest))], 0)


def _blocks(x: Tensor, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """How many blocks of how many samples, with at most so many elements (times 1 to 2), and the number left over."""
    samples, classes = tf.unstack(tf.shape(x))
    count = tf.maximum(samples * classes // most, 1)  # a batch that fits is one block, and XLA removes the loop
    return count, samples // count, samples % count


def _room() -> int:
    return _GPU_BLOCK if _on_gpu() else _BLOCK


def _on_gpu() -> bool:
    return bool(tf.config.list_physical_devices("GPU"))


def _rows(arrays: Sequence[Tensor | None], start: Tensor, size: Tensor) -> list[Tensor | None]:
    return [None if x is None else tf.slice(x, [start, 0], [size, tf.shape(x)[1]]) for x in arrays]


# ---------------------------------------------------------------------------------------------------------- direct


def _direct(heaviside: Heaviside, thresholds: Sequence[float]) -> tuple[Sums, Gradient]:
    # No tensor: it would belong to the graph that happens to be built first.
    at = thresholds[0] if len(thresholds) == 1 else _inside(np.asarray(thresholds, "float32"))[:, None, None]
    most = max(4 * _room() // len(thresholds), 1)
    most = most if _on_gpu() else min(most, _LONGEST_SUM)

    def sums(y: Tensor, p: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor]:
        if len(thresholds) == 1:
            cells = _sum_slices(lambda y, p, w: _memberships(heaviside, thresholds[0], y, p, w), y, p, w)
        else:
            cells = _sum_products(lambda p: heaviside(p, at), len(thresholds), most, y, p, w)
        return cells, tf.constant(False)  # nothing depends on the labels' kind

    def gradient(y: Tensor, p: Tensor, w: Tensor | None, hard: Tensor, upstream: Tensor) -> Tensor:
        negative, positive = tf.unstack(upstream[:, 0] if len(thresholds) == 1 else upstream[:, :, None])

        def slope(y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
            y, p = _counted(y, p, w)
            with tf.GradientTape() as tape:
                tape.watch(p)
                h = heaviside(p, at)
            return tape.gradient(h, p, negative + y * (positive - negative), unconnected_gradients="zero")

        return slope(y, p, w) if len(thresholds) == 1 else _map(slope, most, y, p, w)

    return sums, gradient


def _inside(thresholds: np.ndarray) -> np.ndarray:
    """Thresholds that rounding brought to 0 or 1, back inside."""
    least, one = np.finfo("float32").tiny, np.float32(1)
    return np.clip(thresholds, least, np.nextafter(one, -one))


def _memberships(heaviside: Heaviside, at: float, y: Tensor, p: Tensor, w: Tensor | None) -> list[Tensor]:
    y, p = _counted(y, p, w)
    h = heaviside(p, at)
    labels = [y, 1 - y] if w is None else [w * y, w - w * y]
    tp, fp = (label * h for label in labels)
    return [tp, fp, labels[0] - tp, labels[1] - fp]


def _sum_slices(terms: Callable[..., list[Tensor]], *arrays: Tensor | None) -> Tensor:
    """Adds up a few slices of samples elementwise, which compiles to one fast loop, and the result in float64."""
    size = tf.shape(arrays[0])[0] // _SLICES
    slices = [terms(*_rows(arrays, k * size, size)) for k in range(_SLICES)]
    rest = terms(*_rows(arrays, _SLICES * size, tf.shape(arrays[0])[0] - _SLICES * size))
    cells = [_sum(tf.add_n(list(parts))) + _sum(last) for *parts, last in zip(*slices, rest)]
    return tf.stack(cells)[:, None]


def _sum_products(
    h: Callable[[Tensor], Tensor], thresholds: int, most: int, y: Tensor, p: Tensor, w: Tensor | None
) -> Tensor:
    """Multiplies h of each block, (thresholds, samples, classes), with its labels; joins the short sums in float64."""
    dtype = tf.float64 if _on_gpu() else tf.float32  # GPUs round the factors of a float32 product to ten bits (TF32)

    def step(state: list[Tensor], y: Tensor, p: Tensor, w: Tensor | None) -> list[Tensor]:
        y, p = _counted(y, p, w)
        inside = tf.cast(h(p), dtype)
        labels = [tf.cast(label if w is None else w * label, dtype) for label in (y, 1 - y)]
        cells = [tf.einsum("tnc,nc->tc", x, label) for x in (inside, 1 - inside) for label in labels]
        return [state[0] + tf.cast(tf.stack(cells), tf.float64)]

    return _fold(step, [tf.zeros([4, thresholds, tf.shape(y)[1]], tf.float64)], most, y, p, w)[0]


def _sum(x: Tensor, axis: int = 0) -> Tensor:
    return tf.reduce_sum(tf.cast(x, tf.float64), axis)


# ---------------------------------------------------------------------------------------------------------- binned


def _binned(pieces: Pieces) -> tuple[Sums, Gradient]:
    edges, left, right, slope, edge_slope = pieces = _refine(pieces, _grid_of(pieces))
    intervals, constant = left.shape[1], np.array_equal(left, right)
    find = _Grid(edges) if _is_even(edges) else _Search(edges)
    values = left if constant else np.append(left, right[:, -1:], 1)  # (thresholds, intervals), or on the edges
    places = np.empty((len(slope), 2 * intervals + 1))  # on edge 0, inside interval 0, on edge 1, ...
    places[:, 0::2], places[:, 1::2] = edge_slope, slope

    def sums(y: Tensor, p: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor]:
        def step(state: list[Tensor], y: Tensor, p: Tensor, w: Tensor | None) -> list[Tensor]:
            y, p = _counted(y, p, w)
            interval = tf.minimum(find.place(p) // 2, intervals - 1) if constant else find.interval(p)
            columns = [tf.where(tf.math.is_nan(p), p, 1.0)] if constant else find.distances(p, interval)
            columns = columns if w is None else [w * column for column in columns]
            hard = tf.reduce_all((y == 0) | (y == 1))
            masses = _by_label(columns, interval, y, hard, intervals)
            return [state[0] + masses, state[1] & hard]

        nothing = tf.zeros([1 if constant else 2, tf.shape(y)[1], 2 * intervals], tf.float64)
        masses, hard = _fold(step, [nothing, tf.constant(True)], _room(), y, p, w)
        return _cells(masses[0] if constant else _on_edges(find.normalized(masses)), values), hard

    def gradient(y: Tensor, p: Tensor, w: Tensor | None, hard: Tensor, upstream: Tensor) -> Tensor:
        y, p = _counted(y, p, w)
        size = 2 * intervals + 1
        # Label by label: for one class these are products with a vector, which start no threads. In float64, because
        # GPUs round the factors of a float32 product to ten bits (TF32).
        table = [tf.transpose(x) @ places for x in tf.unstack(tf.cast(upstream, tf.float64))]
        table = tf.reshape(tf.cast(tf.stack(table, 1), tf.float32), [-1])  # (classes, label, places)
        place = find.place(p) + 2 * size * tf.range(tf.shape(p)[1])
        return tf.cond(
            hard,
            lambda: tf.gather(table, place + size * tf.cast(y, tf.int32)),
            lambda: (1 - y) * tf.gather(table, place) + y * tf.gather(table, place + size),
        )

    return sums, gradient


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
    lane = tf.range(tf.shape(bins)[0])[:, None] % _SCATTER_LANES
    index = bins + size * (tf.range(classes) + classes * lane)
    flat = [tf.math.unsorted_segment_sum(x, index, size * classes * _SCATTER_LANES) for x in columns]
    return tf.stack([_sum(tf.reshape(x, [_SCATTER_LANES, classes, size])) for x in flat])


def _on_edges(masses: Tensor) -> Tensor:
    """Weight at both ends of each interval, (2, classes, label x interval), to that on each edge: h is continuous."""
    left, right = (tf.split(x, 2, 1) for x in tf.unstack(masses))
    return tf.concat([tf.pad(a, [[0, 0], [0, 1]]) + tf.pad(b, [[0, 0], [1, 0]]) for a, b in zip(left, right)], 1)


def _cells(masses: Tensor, values: np.ndarray) -> Tensor:
    """Weight by class and place, negatives before positives, and h at the places, to (4, thresholds, classes)."""
    masses += 0 * tf.reduce_sum(masses, 1, keepdims=True)  # NaN in one cell is NaN in all: no score may overlook it
    both = np.concatenate([values, 1 - values])  # not a difference of sums, which would leave a rest where h is 1
    (fp, tn), (tp, fn) = (tf.split(both @ tf.transpose(x), 2) for x in tf.split(masses, 2, 1))
    return tf.stack([tp, fp, fn, tn])


class _Grid:
    """Even intervals: everything is arithmetic, in products that are exact."""

    def __init__(self, edges: np.ndarray) -> None:
        self.last = len(edges) - 2
        self.scale = _scale(edges)

    def interval(self, p: Tensor) -> Tensor:
        # p beside an edge may as well be counted to the neighbouring interval: h is continuous.
        return tf.clip_by_value(tf.cast(p * self.scale, tf.int32), 0, self.last)

    def distances(self, p: Tensor, interval: Tensor) -> list[Tensor]:
        """Where in its interval p lies, from the right end and from the left, in widths of the interval."""
        u = self._minus(p, interval)
        return [1 - u, u]

    def normalized(self, masses: Tensor) -> Tensor:
        return masses

    def place(self, p: Tensor) -> Tensor:
        """2 k on edge k, 2 k + 1 in the interval after it; p is on an edge if that rounds to p in float32."""
        nearest = tf.clip_by_value(tf.cast(p * self.scale + 0.5, tf.int32), 0, self.last + 1)
        exponent = tf.bitcast(tf.bitcast(p, tf.int32) & 0x7F800000, tf.float32)
        beyond, rounding = self._minus(p, nearest), exponent * np.float32(self.scale * 2.0**-24)
        return 2 * nearest + tf.cast(beyond > rounding, tf.int32) - tf.cast(beyond < -rounding, tf.int32)

    def _minus(self, p: Tensor, edge: Tensor) -> Tensor:
        # p * scale - edge without its rounding error: 12 leading bits of p, then the rest, are exact products.
        bits = tf.bitcast(tf.bitcast(p, tf.int32) & -(1 << 12), tf.float32)
        return (bits * self.scale - tf.cast(edge, tf.float32)) + (p - bits) * self.scale


class _Search:
    """Uneven intervals: comparisons with all edges if there are few, else binary search."""

    def __init__(self, edges: np.ndarray) -> None:
        self.edges = edges.astype("float32")
        self.width = np.diff(edges)
        # The first float32 at or after the edge itself: on a steep slope the edge's own rounding would be seen.
        self.bounds = np.where(edges > self.edges, np.nextafter(self.edges, np.float32(2)), self.edges)
        # Distances are measured from float32 numbers beside the edges, apart also where two edges round to the same.
        self.start, self.end = self.edges[:-1].copy(), self.edges[1:]
        same = self.start == self.end
        self.start[same] = np.nextafter(self.end[same], np.float32(-1))
        self.beside_start, self.beside_end = edges[:-1] - self.start, edges[1:] - self.end

    def interval(self, p: Tensor) -> Tensor:
        return self._count(p, self.bounds[1:-1])

    def distances(self, p: Tensor, interval: Tensor) -> list[Tensor]:
        """From p to the right end of its interval, and from the left end to p."""
        start, end = (self._choose(p, interval, self.bounds[1:-1], x) for x in (self.start, self.end))
        return [end - p, p - start]

    def normalized(self, masses: Tensor) -> Tensor:
        """In widths of the interval, and from the edges themselves instead of their float32."""
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


def _grid_of(pieces: Pieces) -> np.ndarray:
    """The coarsest even grid that has all edges on it, where it is not much finer than they are; else the edges."""
    edges = pieces.edges
    # More than 12 bits would make the products in _Grid._minus inexact.
    for scale in range(len(edges) - 2, min(2**12, max(512, 2 * len(edges))) + 1):
        index = np.round(edges * scale)
        near = np.abs(edges * scale - index).max() < 1e-6 and (np.diff(index) > 0).all()
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
    kept = edges.astype("float32") == old[nearest].astype("float32")
    edge_slope = np.where(kept, pieces.edge_slope[:, nearest], np.pad(slope, ((0, 0), (0, 1)), "edge"))
    return Pieces(edges, left, right, slope, edge_slope)
