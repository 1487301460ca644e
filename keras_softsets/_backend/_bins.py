"""Cells at many thresholds in one pass, for functions that are straight lines between common edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from keras import ops

from keras_softsets import _backend
from keras_softsets._backend._types import Tensor

if TYPE_CHECKING:
    from keras_softsets.heaviside import Pieces


class Intervals:
    """Sums over the intervals between edges, and the slopes there.

    Args:
        pieces: The functions, one for each threshold.
    """

    def __init__(self, pieces: Pieces) -> None:
        self.edges, self.left, self.right, slope, edge_slope = pieces
        self.size = self.left.shape[1]
        self.constant = np.array_equal(self.left, self.right)
        self.slope = np.empty((len(slope), 2 * self.size + 1), "float32")
        self.slope[:, 0::2], self.slope[:, 1::2] = edge_slope, slope
        self.rounded = self.edges.astype("float32")
        # The first float32 at or after the true edge.
        self.bounds = np.where(self.edges > self.rounded, np.nextafter(self.rounded, np.float32(2)), self.rounded)
        # Distances are measured from float32 numbers beside the edges, which differ even if two edges round alike.
        self.start, self.end = self.rounded[:-1].copy(), self.rounded[1:]
        same = self.start == self.end
        self.start[same] = np.nextafter(self.end[same], np.float32(-1))

    @property
    def plain(self) -> bool:
        """Whether the functions do not jump, and no two edges are the same in float32."""
        return np.array_equal(self.left[:, 1:], self.right[:, :-1]) and bool(np.all(np.diff(self.rounded) > 0))

    def shares(self, p: Tensor) -> Tensor:
        """How much of each interval lies below p, (..., intervals)."""
        start, width = self.edges[:-1], np.diff(self.edges)
        near = start.astype("float32")
        # Less the float32 number beside the edge, which loses no digit, then what lies between that and the edge.
        near, beside, per_width = (_backend.constant(x.astype("float32")) for x in (near, near - start, 1 / width))
        return ops.clip((p[..., None] - near + beside) * per_width, 0.0, 1.0)

    def place(self, p: Tensor) -> Tensor:
        """Where in a table of slopes: on edge 0, inside interval 0, on edge 1, and so on. The edges are `plain`."""
        reached = ops.sum(ops.sign(p[..., None] - _backend.constant(self.rounded)), -1)
        return ops.clip(ops.cast(reached, "int32") + self.size, 0, 2 * self.size)  # NaN is anywhere

    def cells(self, y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        """The cells, (4, thresholds, classes)."""
        interval = _backend.count_below(p, self.bounds[1:-1])
        weight = ops.ones_like(p) if w is None else ops.broadcast_to(w, ops.shape(p))
        ends = [weight] if self.constant else self._ends(p, interval, weight)
        # NaN among labels and weights is NaN in all cells of its class; one among probabilities, in the highest bin.
        nan = _backend.sum_samples(0 * (weight + y + p))[0]
        binary = ops.all(ops.logical_or(ops.equal(y, 0), ops.equal(y, 1)))
        masses = _backend.cond(
            binary,
            lambda: self._sums(interval + self.size * ops.cast(y, "int32"), ends, 2),
            lambda: ops.concatenate([self._sums(interval, [side * x for x in ends], 1) for side in (1 - y, y)], -1),
        )
        masses = ops.reshape(masses, (len(ends), p.shape[-1], 2, self.size))  # (end, class, label, interval)
        return ops.transpose(self._cells(masses), (0, 2, 1)) + nan

    def _ends(self, p: Tensor, interval: Tensor, weight: Tensor) -> list[Tensor]:
        """The weights times the distances to the end of the interval, and from its start."""
        start, end = (_backend.look_up(ops.convert_to_tensor(x), interval) for x in (self.start, self.end))
        return [weight * (end - p), weight * (p - start)]

    def _sums(self, index: Tensor, values: list[Tensor], labels: int) -> Tensor:
        """The sums by class and bin, (values, classes, labels x intervals)."""
        size, classes = labels * self.size, index.shape[-1]
        place = index + size * ops.arange(classes, dtype="int32")
        return ops.reshape(_backend.bin_sums(place, values, size * classes), (len(values), classes, size))

    def _cells(self, masses: Tensor) -> Tensor:
        """The cells, (4, classes, thresholds), from the weight in each interval, or how far it is from the ends."""
        dtype = masses.dtype

        def summed(*pairs: tuple[np.ndarray, Tensor]) -> list[Tensor]:
            """The products of (thresholds, intervals) with (classes, label, intervals), of negatives and positives."""
            products = [ops.einsum("tk,clk->lct", ops.cast(values, dtype), found) for values, found in pairs]
            return ops.unstack(sum(products[1:], start=products[0]), 2)

        # Not a difference of sums, which would leave a remainder where h is 1.
        if self.constant:
            (fp, tp), (tn, fn) = (summed((values, masses[0])) for values in (self.left, 1 - self.left))
            return ops.stack([tp, fp, fn, tn])
        to_end, from_start = self._normalized(masses)
        (fp, tp), (tn, fn) = (
            summed((left, to_end), (right, from_start))
            for left, right in ((self.left, self.right), (1 - self.left, 1 - self.right))
        )
        return ops.stack([tp, fp, fn, tn])

    def _normalized(self, masses: Tensor) -> tuple[Tensor, Tensor]:
        """Distances in widths of the interval, from the true edges instead of the float32 numbers beside them."""
        to_end, from_start = ops.unstack(masses, 2)
        width, beside_start, beside_end, true_width = (
            ops.cast(x, masses.dtype)
            for x in (
                self.end.astype("float64") - self.start,
                self.edges[:-1] - self.start,
                self.edges[1:] - self.end,
                np.diff(self.edges),
            )
        )
        weight = (to_end + from_start) / width
        to_end = (to_end + weight * beside_end) / true_width
        return to_end, (from_start - weight * beside_start) / true_width

    def slopes(self, negative: Tensor, positive: Tensor, y: Tensor, p: Tensor) -> Tensor:
        """The gradient in p, from how much a loss rises with h of negatives and of positives, (thresholds, classes)."""
        below = _backend.count_below(p, self.bounds[1:-1])
        at = ops.convert_to_tensor(self.rounded)
        on_start, on_end = (ops.cast(ops.equal(p, _backend.look_up(at, below + k)), "int32") for k in (0, 1))
        return self.slopes_at(2 * below + 1 - on_start + on_end, negative, positive, y)

    def slopes_at(self, place: Tensor, negative: Tensor, positive: Tensor, y: Tensor) -> Tensor:
        """The same where places in the table of slopes are known."""
        places, classes = 2 * self.size + 1, place.shape[-1]
        place = place if classes == 1 else place + places * ops.arange(classes, dtype="int32")
        slope = ops.cast(self.slope, y.dtype)
        of_negatives, of_positives = (
            _backend.look_up(ops.reshape(ops.einsum("tc,tk->ck", pull, slope), (-1,)), place)
            for pull in (negative, positive)
        )
        return of_negatives + y * (of_positives - of_negatives)
