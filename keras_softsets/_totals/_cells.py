"""Cells of each class against the rest, and counts of the c x c matrix: their sums, and their scores."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar

from keras import ops

from keras_softsets import _backend
from keras_softsets._backend import Tensor
from keras_softsets._checks import Average, ZeroDivision
from keras_softsets.decisions import Decision
from keras_softsets.heaviside import Heaviside
from keras_softsets.matrices import ConfusionMatrix, MulticlassMatrix, Scored
from keras_softsets.operating import FloatBins, cells_of_bins, ranked
from keras_softsets.samples import Samples
from keras_softsets.scores import Score


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """The usual kind: cells at thresholds that are known beforehand.

    Attributes:
        decision: How probabilities become decisions.
        heaviside: The approximation.
        average: How the values of several classes become one.
        zero_division: Value of 0 / 0.
        bits: The precision of bins by probability, if samples must be kept; otherwise `None`.
    """

    decision: Decision
    heaviside: Heaviside
    average: Average = "macro"
    zero_division: ZeroDivision = 0.0
    bits: ClassVar[int | None] = None

    def sum(self, samples: Samples) -> Tensor:
        """The cells, (4, thresholds, classes)."""
        return sum_cells(samples, self.decision, self.heaviside)

    def value(self, score: Score, totals: Tensor) -> Tensor:
        """The score, averaged over thresholds and classes."""
        settings = {"rising": self.decision.rising, "hard": not self.heaviside.differentiable}
        cells = ConfusionMatrix.from_stacked(totals).carrying(**settings)
        return averaged(score, cells, self.average, self.zero_division)

    def adds_up_with(self, other: Any) -> bool:
        """Whether these are cells at the same thresholds of the same approximation."""
        return type(self) is type(other) and self._key() == other._key()

    def _key(self) -> Any:
        return (self.decision, self.heaviside.cache_key())


class Counts(Cells):
    """Counts by true and by decided class, for an argmax."""

    def sum(self, samples: Samples) -> Tensor:
        """The counts, (classes, classes)."""
        return sum_counts(samples, self.decision, self.heaviside)

    def value(self, score: Score, totals: Tensor) -> Tensor:
        """The score of the matrix, or of each class against the rest, averaged."""
        matrix = MulticlassMatrix(totals)
        if score.of == "cells":
            return averaged(score, matrix.one_vs_rest(), self.average, self.zero_division)
        return value_of_matrix(score, matrix, self.zero_division)[0]


class EveryThreshold(Cells):
    """Areas under curves through every distinct threshold, which only all samples together determine."""

    bits = 8  # an area sees only how curved the curve is inside a bin

    def of_samples(self, score: Score, samples: Samples) -> Tensor:
        """The score of samples that are all available at once."""
        if samples.prediction.shape[0] == 0:
            return self._value(score, ConfusionMatrix(*[ops.zeros((1, samples.classes), _backend.wide())] * 4))
        return self._value(score, ranked(samples.pooled() if self.average == "micro" else samples).cells)

    def of_bins(self, score: Score, bins: FloatBins, weights: Tensor) -> Tensor:
        """The same of weights in bins of probabilities."""
        return self._value(score, cells_of_bins(weights))

    def _value(self, score: Score, falling: ConfusionMatrix) -> Tensor:
        rising = falling.map(lambda cell: ops.flip(cell, 0)).carrying(rising=True)
        return averaged(score, rising, self.average, self.zero_division)


def sum_cells(samples: Samples, decision: Decision, heaviside: Heaviside) -> Tensor:
    """Returns tp, fp, fn and tn in float64, (4, rows, classes): counts stay exact past 2^24.

    Uses a kernel if the decision has thresholds that are known beforehand.
    """
    if decision.thresholds:
        cells = _backend.sum_cells(samples, decision.thresholds, heaviside, per_class=decision.per_class)
        # Kernels accept any shape, and lose the static one.
        return cells if samples.classes is None else ops.reshape(cells, (4, decision.rows, samples.classes))
    if decision.argmax and heaviside.differentiable:  # in a metric, every digit counts
        members = _members(samples, decision, heaviside).map(lambda cell: cell[0])
        return ops.expand_dims(_backend.sum_samples(*members), 1)
    return sum_by_definition(samples, decision, heaviside).stacked()


def sum_by_definition(samples: Samples, decision: Decision, heaviside: Heaviside) -> ConfusionMatrix:
    """The definition of the cells. The kernels compute the same, without storing anything of size rows x samples."""
    members = _members(samples, decision, heaviside)
    return members.map(lambda cell: _backend.total(cell, -2))


def sum_cells_of_sets(samples: Samples, decision: Decision, heaviside: Heaviside) -> ConfusionMatrix:
    """Returns the cells of each of several sets, from (sets, elements, classes) to (rows, sets, classes)."""
    if decision.rows == 1 or not decision.thresholds:
        return sum_by_definition(samples, decision, heaviside)
    sets, _, classes = ops.shape(samples.prediction)
    # To the kernels, a class of one set is an ordinary class.
    cells = _backend.sum_cells(samples.sets_as_classes(), decision.thresholds, heaviside)
    return ConfusionMatrix.from_stacked(ops.reshape(cells, (4, decision.rows, sets, classes)))


def _members(samples: Samples, decision: Decision, heaviside: Heaviside) -> ConfusionMatrix:
    """How much each sample counts in each cell, (rows, samples, classes)."""
    samples = samples.cleaned()
    y, w = samples.label, 1.0 if samples.weight is None else samples.weight
    h = _memberships(samples, decision, heaviside)
    return ConfusionMatrix(tp=w * y * h, fp=w * (1 - y) * h, fn=w * y * (1 - h), tn=w * (1 - y) * (1 - h))


def _memberships(samples: Samples, decision: Decision, heaviside: Heaviside) -> Tensor:
    """How much each prediction, (..., classes), counts as positive: (rows, ..., classes)."""
    if not decision.rates:
        return decision.memberships(samples, heaviside)
    found = _backend.boundary(samples, decision.rate, decision.rates)
    threshold = found.inside() if heaviside.differentiable else found.threshold
    return heaviside(samples.probability[None], threshold[:, None])


def sum_counts(samples: Samples, decision: Decision, heaviside: Heaviside) -> Tensor:
    """The definition: counts[i, j] is the sum of w y_i h_j, in float64, so that counts are exact past 2^24."""
    samples = samples.cleaned()
    h = decision.memberships(samples, heaviside)[0]  # (..., samples, classes)
    label = samples.label if samples.weight is None else samples.weight * samples.label
    label, h = ops.cast(label, _backend.wide()), ops.cast(h, _backend.wide())
    return _backend.matmul(ops.swapaxes(label, -1, -2), h)


def averaged(
    score: Score, cells: ConfusionMatrix, average: Average = "macro", zero_division: ZeroDivision = 0.0
) -> Tensor:
    """Scores cells, then averages over thresholds and over classes.

    Args:
        score: The score.
        cells: Cells of shape (thresholds, classes).
        average: `"macro"` is the mean over classes, `"micro"` scores the cells summed over classes, `"weighted"`
            weights classes by their positives (if there are none, it is the mean), a sequence by their importance, and
            `None` gives one value for each class.
        zero_division: Value of a score that is 0 / 0, or `"ignore"` to leave it out of the average. If nothing is
            left, the value is 0.
    """
    if average == "micro":
        cells = cells.map(lambda cell: ops.sum(cell, 1, keepdims=True))
    values, defined = scored(score, cells, zero_division)
    return values if average is None else mean(values, [defined, importance(cells, average)], axis=0)[0]


def scored(score: Score, cells: ConfusionMatrix, zero_division: ZeroDivision) -> tuple[Tensor, Tensor | None]:
    """The score of each class, averaged over thresholds, and where it is defined; None means everywhere."""
    ignore = zero_division == "ignore"
    values = score(cells.carrying(zero_division=0.0 if ignore else float(zero_division)))
    if len(values.shape) not in (1, 2):
        raise ValueError(
            "A score must keep the cells' shape (thresholds, classes), or give (classes,) from all thresholds. "
            f"Received: {score!r} of shape {tuple(values.shape)}"
        )
    where = defined(score, cells, values) if ignore else None
    return (values, where) if len(values.shape) == 1 else mean(values, [where], axis=0)


def value_of_matrix(score: Score, matrix: MulticlassMatrix, zero_division: ZeroDivision) -> tuple[Tensor, Tensor]:
    """Scores a c x c matrix; returns the value, and whether it is defined, as 0 or 1."""
    value = score(matrix.carrying(zero_division=1.0 if zero_division == 1 else 0.0))
    if len(value.shape):
        raise ValueError(
            f"A score of classes must give a single number. Received: {score!r} of shape {tuple(value.shape)}"
        )
    return value, defined(score, matrix, value) if zero_division == "ignore" else ops.ones_like(value)


def defined(score: Score, matrix: Scored, values: Tensor) -> Tensor:
    """Where a score is not 0 / 0: it is computed again with NaN for 0 / 0; a NaN in the data does not count as one."""
    marked = score(matrix.map(ops.stop_gradient).carrying(zero_division=math.nan))
    undefined = ops.logical_and(ops.isnan(marked), ops.logical_not(ops.isnan(values)))
    return 1 - ops.cast(undefined, values.dtype)


def importance(cells: ConfusionMatrix, average: Average) -> Tensor | None:
    """Weights of the classes, (sets, classes) or (classes,); None if all are alike."""
    if average == "weighted":
        positives = ops.stop_gradient(cells.positives[0])
        none = ops.sum(positives, -1, keepdims=True) <= 0  # without any, all classes are alike, as in scikit-learn
        return ops.where(none, ops.ones_like(positives), positives)
    if isinstance(average, str) or average is None:
        return None
    classes = cells.tp.shape[-1]
    if classes not in (None, len(average)):
        raise ValueError(f"`average` must have one importance for each of {classes} classes. Received: {average}")
    return ops.cast(ops.convert_to_tensor(average), cells.tp.dtype)


def mean(values: Tensor, weights: Sequence[Tensor | None], axis: int) -> tuple[Tensor, Tensor | None]:
    """The weighted mean, 0 where all weights are 0, and where some weight is not; None means everywhere."""
    given = [weight for weight in weights if weight is not None]
    if not given and values.shape[axis] == 1:
        return ops.squeeze(values, axis), None  # fewer operations than a mean, and in its gradient
    if not given and values.shape[axis]:
        return _backend.mean(values, axis), None
    weight = math.prod(given, start=ops.ones_like(values))
    # First to a scale on which no sum is lost, however small weights are.
    largest = ops.max(weight, axis, keepdims=True, initial=0.0)
    shares = weight / ops.where(largest > 0, largest, 1.0)
    total = ops.sum(shares, axis)
    return ops.sum(values * shares, axis) / ops.where(total > 0, total, 1.0), ops.cast(total > 0, values.dtype)
