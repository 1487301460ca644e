"""The direct algorithm: h of every sample and threshold, block by block if there are several thresholds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from keras_softsets._backend._types import Tensor
from keras_softsets._backend.tensorflow._blocks import a_gpu_is_visible, fold, gradients, map_blocks, room, sum_samples
from keras_softsets._backend.tensorflow._differentiable import Algorithm, Batch
from keras_softsets._backend.tensorflow._graphs import TENSORFLOW
from keras_softsets._backend.tensorflow._values import cleaned, or_nan

if TYPE_CHECKING:
    from keras_softsets.heaviside import Heaviside, Pieces

_LONGEST_SUM = 2**11  # products that are added up in float32


def direct(heaviside: Heaviside, thresholds: tuple[float, ...]) -> Algorithm:
    """The whole batch at once for one threshold, blocks of samples for several."""
    return _one_row(heaviside, thresholds[0]) if len(thresholds) == 1 else _several_rows(heaviside, thresholds)


def direct_per_class(heaviside: Heaviside, thresholds: tuple[float, ...]) -> Algorithm:
    """One threshold for each class."""
    return _one_row(heaviside, np.asarray(thresholds, "float64"))


def _one_row(heaviside: Heaviside, at: float | np.ndarray) -> Algorithm:
    """Cells at a threshold, or at one for each class."""
    pieces = heaviside.pieces((at,)) if isinstance(at, float) else None
    slope = _slope(heaviside, at) if pieces is None else _slope_of_pieces(pieces)

    def sums(batch: Batch, even: bool) -> tuple[Tensor, Tensor]:
        cells = sum_samples(*_memberships(heaviside, at, *batch), even=even)
        return cells[:, None], tf.constant(False)  # it makes no difference whether labels are binary

    def slopes(batch: Batch, binary: Tensor, pull: Tensor) -> Tensor:
        return slope(pull[:, 0], *batch)

    def second(batch: Batch, pull: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        in_pull, in_p = _derivatives(slope, pull[:, 0], v, *batch)
        return in_pull[:, None], in_p

    return Algorithm(sums, slopes, second)


def _several_rows(heaviside: Heaviside, thresholds: tuple[float, ...]) -> Algorithm:
    # Not a tensor, which would belong to the graph that happens to be built first.
    rounded = np.asarray(thresholds, "float32")
    at = (_inside(rounded) if heaviside.differentiable else rounded)[:, None, None]
    most = max(4 * room() // len(thresholds), 1)
    most = most if a_gpu_is_visible() else min(most, _LONGEST_SUM)
    slope = _slope(heaviside, at)

    def sums(batch: Batch, even: bool) -> tuple[Tensor, Tensor]:
        return _sum_products(lambda p: heaviside(p, at), len(thresholds), most, batch, even), tf.constant(False)

    def slopes(batch: Batch, binary: Tensor, pull: Tensor) -> Tensor:
        return map_blocks(lambda y, p, w: slope(pull[:, :, None], y, p, w), most, *batch)

    def second(batch: Batch, pull: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        def step(state: list[Tensor], y: Tensor, p: Tensor, w: Tensor | None, v: Tensor) -> list[Tensor]:
            return [state[0] + _derivatives(slope, pull[:, :, None], v, y, p, w)[0][:, :, 0]]

        def in_p(y: Tensor, p: Tensor, w: Tensor | None, v: Tensor) -> Tensor:
            return _derivatives(slope, pull[:, :, None], v, y, p, w)[1]

        return fold(step, [tf.zeros_like(pull)], most, *batch, v)[0], map_blocks(in_p, most, *batch, v)

    return Algorithm(sums, slopes, second)


def _slope(heaviside: Heaviside, at: Any) -> Callable[..., Tensor]:
    """The gradient in p of the pulled memberships; the pull broadcasts against h."""

    def slope(pull: Tensor, y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        negative, positive = tf.unstack(pull)
        y, p, _ = cleaned(y, p, w)
        return gradients(lambda p: heaviside(p, at), [p], negative + y * (positive - negative))[0]

    return slope


def _slope_of_pieces(pieces: Pieces) -> Callable[..., Tensor]:
    """The same for few straight lines, by comparisons: XLA needs less time to compile them."""

    def slope(pull: Tensor, y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        negative, positive = tf.unstack(pull)
        y, p, _ = cleaned(y, p, w)
        return _slope_at(pieces, p) * (negative + y * (positive - negative))

    return slope


def _slope_at(pieces: Pieces, p: Tensor) -> Tensor:
    """The slope of the only function, interval by interval; p is on an edge if the edge rounds to p in float32."""
    (slopes,), (on_edges,) = pieces.slope.astype("float32"), pieces.edge_slope.astype("float32")
    found = tf.fill(tf.shape(p), on_edges[0])
    for edge, before, here, after in zip(pieces.edges.astype("float32"), [on_edges[0], *slopes], on_edges, slopes):
        if here != before:
            found = tf.where(p >= edge, here, found)
        if after != here:
            found = tf.where(p > edge, after, found)
    return tf.where(p >= 1, on_edges[-1], found) if on_edges[-1] != slopes[-1] else found


def _derivatives(
    slope: Callable[..., Tensor], pull: Tensor, v: Tensor, y: Tensor, p: Tensor, w: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The gradients of v . slope with respect to pull and p."""
    in_pull, in_p = gradients(lambda pull, p: slope(pull, y, p, w), [pull, p], v)
    return in_pull, in_p


def _inside(thresholds: np.ndarray) -> np.ndarray:
    """Moves thresholds that were rounded to 0 or 1 back inside."""
    least, one = np.finfo("float32").tiny, np.float32(1)
    return np.clip(thresholds, least, np.nextafter(one, -one))


def _memberships(
    heaviside: Heaviside, at: float | np.ndarray, y: Tensor, p: Tensor, w: Tensor | None
) -> Sequence[Tensor]:
    given = y, p, w
    y, p, w = cleaned(y, p, w)
    h = heaviside(p, at)
    labels = [y, 1 - y] if w is None else [w * y, w - w * y]
    tp, fp = (label * h for label in labels)
    return [or_nan(tp, *given), fp, labels[0] - tp, labels[1] - fp]


def _sum_products(h: Callable[[Tensor], Tensor], thresholds: int, most: int, batch: Batch, even: bool) -> Tensor:
    """Multiplies h of each block, (thresholds, samples, classes), by its labels; joins the short sums in float64."""
    # GPUs round the factors of a float32 product to ten bits (TF32), and XLA of TensorFlow 2.18 adds the products up in
    # one chain, which is off by 1e-5; later versions add them up side by side.
    dtype = tf.float64 if a_gpu_is_visible() or TENSORFLOW < (2, 19) else tf.float32

    def step(state: list[Tensor], y: Tensor, p: Tensor, w: Tensor | None) -> list[Tensor]:
        given = y, p, w
        y, p, w = cleaned(y, p, w)
        inside = tf.cast(h(p), dtype)
        positive, negative = (y, 1 - y) if w is None else (w * y, w - w * y)
        labels = [tf.cast(label, dtype) for label in (or_nan(positive, *given), negative)]
        cells = [tf.einsum("tnc,nc->tc", x, label) for x in (inside, 1 - inside) for label in labels]
        return [state[0] + tf.cast(tf.stack(cells), tf.float64)]

    return fold(step, [tf.zeros([4, thresholds, tf.shape(batch.y)[1]], tf.float64)], most, *batch, even=even)[0]
