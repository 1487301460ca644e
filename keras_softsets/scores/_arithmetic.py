"""Divisions and roots for scores: exact values, bounded gradients, a chosen value for 0 / 0, and NaN never hidden."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.multiclass import MulticlassMatrix

_zero_division: ContextVar[float] = ContextVar("zero_division", default=0.0)


@contextlib.contextmanager
def zero_division_as(value: float) -> Iterator[None]:
    """A context in which scores that are 0 / 0 have this value; NaN marks those places."""
    token = _zero_division.set(value)
    try:
        yield
    finally:
        _zero_division.reset(token)


def undefined_where(undefined: Tensor, value: Tensor) -> Tensor:
    """Replaces undefined scores by the value of 0 / 0, which is 0 unless `zero_division` says otherwise."""
    return ops.where(undefined, ops.full_like(value, _zero_division.get()), value)


def ratio(numerator: Tensor, denominator: Tensor, cells: ConfusionMatrix | MulticlassMatrix) -> Tensor:
    """Divides; 0 / 0 is 0 (or what `zero_division` says) with a zero gradient.

    If the denominator is positive but less than a millionth of all weight (for example, that of precision when every
    prediction is saturated at 0), the value is exact and the gradient is that at a millionth: large, but bounded.
    """
    floor = 1e-6 * ops.stop_gradient(cells.total)
    nothing, regular = denominator <= 0, denominator > floor  # both are False for NaN, which stays NaN
    exact = numerator / ops.where(regular, denominator, 1.0)
    fixed = ops.stop_gradient(numerator / ops.where(nothing, 1.0, denominator))
    bounded = fixed + (numerator - fixed * denominator) / ops.where(ops.logical_or(nothing, regular), 1.0, floor)
    return ops.where(regular, exact, undefined_where(nothing, bounded))


def square_root(x: Tensor) -> Tensor:
    """Square root whose slope is bounded by 500, so that a root near 0 does not make a training step explode."""
    nothing = x <= 0
    value = ops.sqrt(ops.where(nothing, 1.0, x))
    bounded = ops.stop_gradient(value) + (x - ops.stop_gradient(x)) * 500.0
    return ops.where(nothing, ops.zeros_like(x), ops.where(value < 1e-3, bounded, value))
