"""The sums as they are defined, in `keras.ops`: what backends without kernels of their own compute.

Nothing of size samples x thresholds is stored. Few thresholds are summed one after the other; many, between whose edges
every h(., threshold) is a straight line, in one pass: the sums follow from the weight in each interval and its place
there. Both write their gradient down, and so recompute h instead of keeping it.

What differs between backends is asked of `keras_softsets._backend`: sums that keep their digits, functions with a
gradient of their own, histograms.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from keras import ops

from keras_softsets import _backend
from keras_softsets._backend._bins import Intervals
from keras_softsets._backend._types import Boundary, Tensor

if TYPE_CHECKING:
    from keras_softsets.heaviside import Heaviside
    from keras_softsets.samples import Samples

_FEW = 16  # thresholds, up to which a loop over them is written out
_SLACK = 1e-6  # share of the total by which float32 sums may miss a rate


def sum_cells(
    samples: Samples, thresholds: tuple[float, ...], heaviside: Heaviside, *, per_class: bool = False
) -> Tensor:
    """Returns tp, fp, fn, tn as one tensor of shape (4, thresholds, classes), differentiable in p.

    Args:
        samples: The batch.
        thresholds: The thresholds: each gives a row of cells, or if `per_class`, each belongs to a class of one row.
        heaviside: The approximation.
        per_class: Whether there is one threshold for each class.
    """
    rows = [np.asarray(thresholds, "float64")] if per_class else list(thresholds)
    kernel: Any = _OneByOne(heaviside, rows)
    if len(rows) > _backend.FEW_ROWS and not per_class:
        intervals = _intervals(heaviside, tuple(thresholds)) if heaviside.is_value() else _made(heaviside, thresholds)
        kernel = kernel if intervals is None else _backend.faster(kernel, intervals, samples.prediction.shape)
    return _differentiable(kernel, samples)


def _made(heaviside: Heaviside, thresholds: Sequence[float]) -> Intervals | None:
    pieces = heaviside.pieces(thresholds)
    return None if pieces is None else Intervals(pieces)


_intervals = functools.lru_cache(maxsize=64)(_made)


def _differentiable(kernel: Any, samples: Samples) -> Tensor:
    """The cells of a kernel, whose gradient in p is the kernel's; labels and weights have none."""
    clean = _backend.cleaned(samples._replace(prediction=samples.probability, logits=False))
    y, w = (None if x is None else ops.stop_gradient(x) for x in (clean.label, clean.weight))

    def cells(p: Tensor) -> Tensor:
        return kernel.cells(y, p, w)

    def slope(p: Tensor, upstream: Tensor) -> Tensor:
        tp, fp, fn, tn = ops.unstack(ops.cast(_backend.or_zero(upstream), p.dtype), 4)
        found = kernel.slopes(fp - tn, tp - fn, y, p)
        return _backend.or_zero(found if w is None else found * w)

    return _backend.with_gradient(cells, slope)(clean.prediction)


def sides(y: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor]:
    """The weights of positives and of negatives."""
    return (y, 1 - y) if w is None else (w * y, w - w * y)


def cells_of(predicted: Sequence[Tensor], positives: Tensor, negatives: Tensor) -> Tensor:
    """tp, fp, fn, tn from the weights of predicted positives, (tp, fp), and of both classes."""
    tp, fp = predicted
    # Not by `ops.maximum`, which Keras (3.15.1) makes float32 of with PyTorch.
    fn, tn = (ops.where(x < 0, ops.zeros_like(x), x) for x in (positives - tp, negatives - fp))
    return ops.stack([tp, fp, fn, tn])


class _OneByOne:
    """Cells at thresholds, each a number or an array with one for each class, one after the other."""

    def __init__(self, heaviside: Heaviside, rows: Sequence[Any]) -> None:
        self.heaviside, self.rows = heaviside, rows

    def cells(self, y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        """The cells, (4, rows, classes)."""
        positive, negative = sides(y, w)

        def predicted(at: Any) -> Tensor:
            h = self.heaviside(p, at)
            return _backend.sum_samples(positive * h, negative * h)

        predicted_positives = ops.moveaxis(self._map(predicted), 0, 1)  # (label, rows, classes)
        positives, negatives = ops.unstack(_backend.sum_samples(positive, negative)[:, None], 2)
        return cells_of(ops.unstack(predicted_positives, 2), positives, negatives)

    def slopes(self, negative: Tensor, positive: Tensor, y: Tensor, p: Tensor) -> Tensor:
        """The gradient in p, from how much a loss rises with h of negatives and of positives, (rows, classes)."""

        def add(sum: Tensor, at: Any, negative: Tensor, positive: Tensor) -> Tensor:
            return sum + _backend.gradient(lambda p: self.heaviside(p, at), p, negative + y * (positive - negative))

        if len(self.rows) <= _FEW:
            total = ops.zeros_like(p)
            for k, at in enumerate(self.rows):
                total = add(total, at, negative[k], positive[k])
            return total
        rows = (self._tensor(), negative, positive)
        return ops.scan(lambda sum, row: (add(sum, *row), ops.zeros(())), ops.zeros_like(p), rows)[0]

    def _map(self, function: Callable[[Any], Tensor]) -> Tensor:
        if len(self.rows) <= _FEW:
            return ops.stack([function(at) for at in self.rows])
        return ops.scan(lambda none, at: (none, function(at)), ops.zeros(()), self._tensor())[1]

    def _tensor(self) -> Tensor:
        return ops.cast(np.asarray(self.rows), "float32")


class AtOnce:
    """Cells from one product of matrices for all intervals, for small batches, where the number of operations counts.

    Every h is its value at 0, and in each interval that p reaches or has passed, that share of its rise there.
    """

    def __init__(self, intervals: Intervals) -> None:
        self.intervals = intervals
        self.rise = np.column_stack([intervals.right - intervals.left, intervals.left[:, 0]])

    def cells(self, y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        """The cells, (4, rows, classes)."""
        reached = self.reached(y, p, w)
        rise = _backend.constant(self.rise.T.astype(ops.dtype(reached)))
        fp, tp = ops.unstack(ops.transpose(_backend.matmul(reached, rise), (1, 2, 0)), 2)
        negatives, positives = ops.unstack(ops.transpose(reached[..., -1])[:, None], 2)
        return cells_of((tp, fp), positives, negatives)

    def reached(self, y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        """How much weight has reached each interval, and the totals, (classes, label, intervals + 1)."""
        both = ops.stack(sides(y, w)[::-1], -1)  # (samples, classes, label)
        shares = ops.concatenate([self.intervals.shares(p), ops.ones_like(p)[..., None]], -1)
        return _backend.products(both, shares)

    def slopes(self, negative: Tensor, positive: Tensor, y: Tensor, p: Tensor) -> Tensor:
        """The gradient in p, from how much a loss rises with h of negatives and of positives, (rows, classes)."""
        return self.intervals.slopes_at(self.intervals.place(p), negative, positive, y)


def sum_moving_cells(samples: Samples, thresholds: Tensor, heaviside: Heaviside) -> Tensor:
    """Returns tp, fp, fn, tn at thresholds of shape (rates, classes), and how tp and fp change with the threshold.

    The result is one tensor of shape (6, rates, classes), differentiable in p. The changes are measured in units of the
    distance from the threshold to the nearer end, 0 or 1.
    """
    rates = [thresholds[k] for k in range(thresholds.shape[0])]
    cells = _differentiable(_OneByOne(heaviside, rates), samples)
    y, p, w = samples._replace(prediction=samples.probability, logits=False).cleaned()[:3]
    y, p, w = (None if x is None else ops.stop_gradient(x) for x in (y, p, w))

    def change(at: Tensor) -> Tensor:
        everywhere = at + ops.zeros_like(p)
        slope = ops.stop_gradient(_backend.gradient(lambda at: heaviside(p, at), everywhere, ops.ones_like(p)))
        return _backend.sum_samples(*(side * slope for side in sides(y, w)))

    # In units of the distance to the nearer end, so that changes near 0 and 1 compare with those elsewhere.
    unit = ops.cast(ops.minimum(thresholds, 1 - thresholds), cells.dtype)
    changes = ops.moveaxis(ops.stack([change(at) for at in rates]), 0, 1)
    return ops.concatenate([cells, unit * changes], 0)


def sum_sides(
    label: Tensor, logits: Tensor, weight: Tensor | None, membership: Callable[[Tensor], Tensor], offset: Any
) -> Tensor:
    """Returns tp, fp, fn, tn, and the cross-entropies of positives and negatives, (6, classes).

    Only the cross-entropies, softplus(-z) and softplus(z), are differentiable.

    Args:
        label: Labels in [0, 1], (samples, classes).
        logits: Logits of a sigmoid.
        weight: Weights, or `None`.
        membership: How much a probability counts as positive.
        offset: What is taken off the logits to get z, a number or one for each class.
    """
    positive, negative = sides(label, weight)
    z = logits - ops.cast(offset, logits.dtype)
    h = membership(ops.stop_gradient(ops.sigmoid(logits)))
    tp, fp, positives, negatives = ops.unstack(_backend.sum_samples(positive * h, negative * h, positive, negative), 4)
    entropies = _backend.sum_samples(positive * ops.softplus(-z), negative * ops.softplus(z))
    cells = cells_of((tp, fp), positives, negatives)
    return ops.concatenate([ops.stop_gradient(cells), entropies], 0)


def boundary(samples: Samples, rate: str, rates: tuple[float, ...]) -> Boundary:
    """Finds the thresholds at which rates are just met on these samples.

    Bisection over the bit patterns of float32 numbers, which have the same order as the numbers themselves, finds the
    exact number in thirty passes. Precision both rises and falls, so there the samples are sorted.

    Args:
        samples: The samples, (samples, classes).
        rate: `"recall"` (the highest threshold that meets it), `"specificity"` or `"precision"` (the lowest).
        rates: The values that must be met.
    """
    clean = samples._replace(prediction=samples.probability, logits=False).cleaned()
    y, p, w = (None if x is None else ops.stop_gradient(x) for x in clean[:3])
    p, positive, negative = ops.absolute(p), *sides(y, w)
    if p.shape[0] == 0:  # a sample of weight 0 at p = 0; always adding one would shift samples between devices
        p, positive, negative = (ops.pad(x, [[0, 1], [0, 0]]) for x in (p, positive, negative))
    if rate == "precision":
        return Boundary(*_precision(p, positive, negative, rates))
    wanted = ops.cast(np.asarray(rates)[:, None], _backend.wide())
    bits = _backend.bit_patterns(p)
    if rate == "recall":
        found = _last(bits, positive, wanted - _SLACK, operator.ge)
    else:
        found = _last(bits, negative, 1 - wanted + _SLACK, operator.gt) + 1
    return Boundary(_backend.from_bit_patterns(found), ops.ones_like(found, "bool"))


def _last(bits: Tensor, weight: Tensor, share: Tensor, compare: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The largest bit pattern such that the weight from there up is at least, or more than, the given share of all."""

    def weights_from(start: Tensor) -> Tensor:
        rows = [_backend.sum_samples(ops.where(bits >= start[k], weight, 0.0))[0] for k in range(start.shape[0])]
        return ops.stack(rows)

    needed = share * weights_from(ops.zeros((1, bits.shape[1]), "int32"))

    def halve(k: Tensor, found: Tensor) -> Tensor:
        higher = found + ops.left_shift(ops.cast(1, "int32"), ops.cast(29 - k, "int32"))
        return ops.where(compare(weights_from(higher), needed), higher, found)

    return ops.fori_loop(0, 30, halve, ops.zeros(needed.shape, "int32"))


def _precision(p: Tensor, positive: Tensor, negative: Tensor, rates: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    order = ops.argsort(-p, axis=0)
    p, positive, negative = (ops.take_along_axis(x, order, 0) for x in (p, positive, negative))
    tp, fp = (_backend.cumsum(ops.cast(x, _backend.wide()), 0) for x in (positive, negative))
    predicted = tp + fp
    last = ops.concatenate([ops.not_equal(p[:-1], p[1:]), ops.ones_like(p[:1], "bool")], 0)  # of equal probabilities
    there = ops.logical_and(last, predicted > 0)
    height = ops.where(there, tp / ops.where(predicted > 0, predicted, 1.0), -1.0)
    wanted = ops.cast(np.asarray(rates)[:, None, None], height.dtype)
    meets = height[None] >= wanted - _SLACK  # (rates, samples, classes)
    number = ops.arange(p.shape[0], dtype="int32")[:, None]
    lowest = ops.max(ops.where(meets, number, -1), 1)
    met = lowest >= 0
    row = ops.where(met, lowest, ops.cast(ops.argmax(height, 0), "int32"))
    return ops.take_along_axis(p, row, 0), met
