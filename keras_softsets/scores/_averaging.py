"""From the values of thresholds, classes and sets to one number."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._checks import as_floats, check_choice, check_number
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.multiclass import MulticlassMatrix
from keras_softsets.scores._arithmetic import zero_division_as
from keras_softsets.scores._registry import Score

AVERAGES = ("macro", "micro", "weighted", None)
Average = str | Sequence[float] | None
ZeroDivision = float | str


def check_average(average: Any) -> Average:
    """Returns `average` if it is a known word, or the classes' importances as a tuple."""
    if isinstance(average, (str, numbers.Number, type(None))):
        return check_choice("average", average, AVERAGES)
    importances = tuple(check_number("average", importance, 0.0) for importance in as_floats(average))
    if not sum(importances) > 0:
        raise ValueError(
            "`average` must be a word or a sequence of the classes' importances, at least one of them greater than 0. "
            f"Received: average={average}"
        )
    return importances


def check_zero_division(value: Any) -> ZeroDivision:
    """Returns 0.0, 1.0 or `"ignore"`."""
    known = value == "ignore" if isinstance(value, str) else value in (0, 1)
    if not known:
        raise ValueError(f"`zero_division` must be 0.0, 1.0 or 'ignore'. Received: zero_division={value!r}")
    return value if isinstance(value, str) else float(value)


def averaged(
    score: Score, cells: ConfusionMatrix, average: Average = "macro", zero_division: ZeroDivision = 0.0
) -> Tensor:
    """Scores cells, then averages over thresholds and over classes.

    Args:
        score: The score.
        cells: Cells of shape (thresholds, classes).
        average: `"macro"` is the mean over classes, `"micro"` scores the cells summed over classes, `"weighted"`
            weights classes by their positives, a sequence by their importance, and `None` gives one value for each
            class.
        zero_division: Value of a score that is 0 / 0, or `"ignore"` to leave it out of the average. If nothing is
            left, the value is 0.
    """
    average = check_average(average)
    if average == "micro":
        cells = cells.map(lambda cell: ops.sum(cell, 1, keepdims=True))
    values, defined = _scored(score, cells, zero_division)
    return values if average is None else _mean(values, [defined, _importance(cells, average)], axis=0)[0]


def averaged_sets(
    score: Score, cells: ConfusionMatrix, average: Average, zero_division: ZeroDivision
) -> tuple[Tensor, Tensor]:
    """Scores each of several sets, from cells of shape (thresholds, sets, classes).

    Returns:
        The values of the sets, (sets,) or, for `average=None`, (sets, classes), and in the same shape whether each is
        defined, as 0 and 1.
    """
    if average == "micro":
        cells = cells.map(lambda cell: ops.sum(cell, 2, keepdims=True))
    thresholds, *sets = ops.shape(cells.tp)
    flat = cells.map(lambda cell: ops.reshape(cell, (thresholds, sets[0] * sets[1])))  # scores take two axes
    values, defined = (None if x is None else ops.reshape(x, sets) for x in _scored(score, flat, zero_division))
    if average is not None:
        values, defined = _mean(values, [defined, _importance(cells, average)], axis=1)
    return values, ops.ones_like(values) if defined is None else defined


def _scored(score: Score, cells: ConfusionMatrix, zero_division: ZeroDivision) -> tuple[Tensor, Tensor | None]:
    """The score of each class, averaged over thresholds, and where it is defined; None means everywhere."""
    ignore = zero_division == "ignore"
    with zero_division_as(0.0 if ignore else float(zero_division)):
        values = score(cells)
    if len(values.shape) not in (1, 2):
        raise ValueError(
            "A score must keep the cells' shape (thresholds, classes), or give (classes,) from all thresholds. "
            f"Received: {score!r} of shape {tuple(values.shape)}"
        )
    defined = _defined(score, cells, values) if ignore else None
    return (values, defined) if len(values.shape) == 1 else _mean(values, [defined], axis=0)


def of_matrix(score: Score, matrix: MulticlassMatrix, zero_division: ZeroDivision) -> tuple[Tensor, Tensor]:
    """Scores a c x c matrix; returns the value, and whether it is defined, as 0 or 1."""
    with zero_division_as(1.0 if zero_division == 1 else 0.0):
        value = score(matrix)
    if len(value.shape):
        raise ValueError(
            f"A score of classes must give a single number. Received: {score!r} of shape {tuple(value.shape)}"
        )
    return value, _defined(score, matrix, value) if zero_division == "ignore" else ops.ones_like(value)


def of_matrices(score: Score, counts: Tensor, zero_division: ZeroDivision) -> tuple[Tensor, Tensor]:
    """Scores each of several c x c matrices, (sets, classes, classes), like `averaged_sets`."""
    both = ops.vectorized_map(lambda c: ops.stack(of_matrix(score, MulticlassMatrix(c), zero_division)), counts)
    return both[:, 0], both[:, 1]


def _defined(score: Score, matrix: ConfusionMatrix | MulticlassMatrix, values: Tensor) -> Tensor:
    """Where a score is not 0 / 0: it is computed again with NaN for 0 / 0; a NaN in the data does not count as one."""
    with zero_division_as(math.nan):
        marked = score(type(matrix)(*map(ops.stop_gradient, matrix)))
    undefined = ops.logical_and(ops.isnan(marked), ops.logical_not(ops.isnan(values)))
    return 1 - ops.cast(undefined, values.dtype)


def _importance(cells: ConfusionMatrix, average: Average) -> Tensor | None:
    """Weights of the classes, (sets, classes) or (classes,); None if all are alike."""
    if average == "weighted":
        return ops.stop_gradient(cells.positives[0])
    if isinstance(average, str) or average is None:
        return None
    classes = cells.tp.shape[-1]
    if classes not in (None, len(average)):
        raise ValueError(f"`average` must have one importance for each of {classes} classes. Received: {average}")
    return ops.cast(ops.convert_to_tensor(average), cells.tp.dtype)


def _mean(values: Tensor, weights: Sequence[Tensor | None], axis: int) -> tuple[Tensor, Tensor | None]:
    """The weighted mean, 0 where all weights are 0, and where some weight is not; None means everywhere."""
    given = [weight for weight in weights if weight is not None]
    if not given and values.shape[axis]:
        return ops.mean(values, axis), None
    weight = math.prod(given, start=ops.ones_like(values))
    # First to a scale on which no sum is lost, however small weights are.
    largest = ops.max(weight, axis, keepdims=True, initial=0.0)
    shares = weight / ops.where(largest > 0, largest, 1.0)
    total = ops.sum(shares, axis)
    return ops.sum(values * shares, axis) / ops.where(total > 0, total, 1.0), ops.cast(total > 0, values.dtype)
