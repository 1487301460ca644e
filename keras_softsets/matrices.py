"""What scores read: the cells of classes against the rest, the c x c matrix, and how to divide them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from keras import ops

from keras_softsets._backend import Tensor

__all__ = ["ConfusionMatrix", "MulticlassMatrix"]


class Scored:
    """What a matrix carries to the scores, besides its numbers; `map` and `_replace` keep it.

    Attributes:
        zero_division: Value of 0 / 0; NaN marks those places.
        rising: Whether rows are known to be in order of rising thresholds; otherwise curve scores sort them.
        hard: Whether they are sums of 0 and 1, which have no gradient that `ratio` would have to bound.
    """

    zero_division: float = 0.0
    rising: bool = False
    hard: bool = False

    def carrying(self, **settings: Any) -> Any:
        """The same matrix with other settings."""
        matrix: Any = type(self)(*cast("Iterable[Any]", self))
        vars(matrix).update({**vars(self), **settings})
        return matrix

    def map(self, function: Callable[[Tensor], Tensor]) -> Any:
        """Applies a function to each cell."""
        matrix: Any = type(self)(*map(function, cast("Iterable[Any]", self)))
        return matrix.carrying(**vars(self))

    def _replace(self, **cells: Tensor) -> Any:
        general: Any = super()
        return general._replace(**cells).carrying(**vars(self))


class _FourCells(NamedTuple):
    tp: Tensor
    fp: Tensor
    fn: Tensor
    tn: Tensor


class ConfusionMatrix(Scored, _FourCells):
    """Cells of shape (thresholds, classes), as real numbers.

    Attributes:
        tp: True positives, sum of w y h.
        fp: False positives, sum of w (1 - y) h.
        fn: False negatives, sum of w y (1 - h).
        tn: True negatives, sum of w (1 - y) (1 - h).
    """

    @property
    def positives(self) -> Tensor:
        """Weight of the positive class, the same at every threshold."""
        return self.tp + self.fn

    @property
    def negatives(self) -> Tensor:
        """Weight of the negative class, the same at every threshold."""
        return self.fp + self.tn

    @property
    def predicted_positives(self) -> Tensor:
        """Weight of everything decided as positive."""
        return self.tp + self.fp

    @property
    def predicted_negatives(self) -> Tensor:
        """Weight of everything decided as negative."""
        return self.fn + self.tn

    @property
    def total(self) -> Tensor:
        """Weight of everything."""
        return self.positives + self.negatives

    def stacked(self) -> Tensor:
        """All cells in one tensor, tp, fp, fn and tn along a new first axis."""
        return ops.stack(self)

    @classmethod
    def from_stacked(cls, cells: Tensor) -> ConfusionMatrix:
        """The inverse of `stacked`."""
        return cls(*ops.unstack(cells, 4))


class _Counts(NamedTuple):
    counts: Tensor


class MulticlassMatrix(Scored, _Counts):
    """Weights by true and by decided class, as real numbers.

    Attributes:
        counts: `counts[i, j]` is the weight of true class i decided as j, (classes, classes).
    """

    @property
    def true(self) -> Tensor:
        """Weight of each true class, (classes,)."""
        return ops.sum(self.counts, -1)

    @property
    def decided(self) -> Tensor:
        """Weight decided as each class, (classes,)."""
        return ops.sum(self.counts, -2)

    @property
    def right(self) -> Tensor:
        """Weight of each class decided as itself, (classes,)."""
        return ops.diagonal(self.counts, axis1=-2, axis2=-1)

    @property
    def total(self) -> Tensor:
        """Weight of everything."""
        return ops.sum(self.counts, (-2, -1))

    def one_vs_rest(self) -> ConfusionMatrix:
        """Returns each class against the rest: cells of shape (1, classes)."""
        tp, fp, fn = self.right, self.decided - self.right, self.true - self.right
        cells = ConfusionMatrix(tp, fp, fn, self.total - tp - fp - fn).map(lambda cell: cell[None])
        return cells.carrying(**vars(self))


def undefined_where(undefined: Tensor, value: Tensor, cells: Scored) -> Tensor:
    """Replaces undefined scores by the value of 0 / 0, which is 0 unless `zero_division` says otherwise."""
    return ops.where(undefined, cells.zero_division, value)


def ratio(numerator: Tensor, denominator: Tensor, cells: ConfusionMatrix | MulticlassMatrix) -> Tensor:
    """Divides; 0 / 0 is 0 (or what `zero_division` says) with a zero gradient.

    If the denominator is positive but less than a millionth of all weight (for example, that of precision when every
    prediction is saturated at 0), the value is exact and the gradient is that at a millionth: large, but bounded.
    """
    nothing = denominator <= 0  # False for NaN, which stays NaN
    if cells.hard:
        return undefined_where(nothing, numerator / ops.where(nothing, 1.0, denominator), cells)
    floor = 1e-6 * ops.stop_gradient(cells.total)
    regular = denominator > floor  # False for NaN, too
    exact = numerator / ops.where(regular, denominator, 1.0)
    fixed = ops.stop_gradient(numerator / ops.where(nothing, 1.0, denominator))
    bounded = fixed + (numerator - fixed * denominator) / ops.where(ops.logical_or(nothing, regular), 1.0, floor)
    return ops.where(regular, exact, undefined_where(nothing, bounded, cells))


def square_root(x: Tensor) -> Tensor:
    """Square root whose slope is bounded by 500, so that a root near 0 does not make a training step explode."""
    nothing = x <= 0
    value = ops.sqrt(ops.where(nothing, 1.0, x))
    bounded = ops.stop_gradient(value) + (x - ops.stop_gradient(x)) * 500.0
    return ops.where(nothing, ops.zeros_like(x), ops.where(value < 1e-3, bounded, value))
