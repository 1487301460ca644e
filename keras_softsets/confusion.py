"""The soft confusion matrix: its definition, and the cells of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keras import ops

from keras_softsets import _kernels, decisions
from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor
from keras_softsets._inputs import as_samples
from keras_softsets._samples import Samples, explain
from keras_softsets.decisions import Argmax, Decision, DecisionLike, PerClass, Thresholds
from keras_softsets.heaviside import Heaviside, HeavisideLike


class ConfusionMatrix(NamedTuple):
    """Cells of shape (thresholds, classes), as real numbers.

    Attributes:
        tp: True positives, sum of w y h.
        fp: False positives, sum of w (1 - y) h.
        fn: False negatives, sum of w y (1 - h).
        tn: True negatives, sum of w (1 - y) (1 - h).
    """

    tp: Tensor
    fp: Tensor
    fn: Tensor
    tn: Tensor

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

    def map(self, function: Callable[[Tensor], Tensor]) -> ConfusionMatrix:
        """Applies a function to each cell."""
        return ConfusionMatrix(*map(function, self))

    def stacked(self) -> Tensor:
        """All cells in one tensor, tp, fp, fn and tn along a new first axis."""
        return ops.stack(self)

    @classmethod
    def from_stacked(cls, cells: Tensor) -> ConfusionMatrix:
        """The inverse of `stacked`."""
        return cls(*ops.unstack(cells, 4))


def confusion_matrix(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    threshold: DecisionLike = 0.5,
    heaviside: HeavisideLike = "linear",
    from_logits: bool = False,
    ignore_class: int | None = None,
) -> ConfusionMatrix:
    """Computes the soft confusion matrix of a batch.

    TP + FN and FP + TN are the weighted class totals for every approximation and threshold.

    Args:
        y_true: Labels in [0, 1]: `(n,)` or `(..., classes)`, bool, integer or float; soft labels are allowed. Or class
            ids, without the last axis of `y_pred`.
        y_pred: Probabilities of the same shape (up to a last axis of length 1), or logits.
        sample_weight: Weights that line up with `y_pred` from the left: per sample `(n,)`, per element, or per class
            `(1, classes)`. Weight 2 means two copies, weight 0 means absent. Defaults to `None`.
        threshold: A number inside (0, 1), a sequence of them, or a decision such as `PerClass([0.2, 0.7])`; see
            `keras_softsets.decisions`. With the step, also 0, 1 and inf. Defaults to `0.5`.
        heaviside: `"linear"`, `"sigmoid"`, `"step"` (the usual, hard matrix) or a `Heaviside`. Defaults to `"linear"`.
        from_logits: Whether `y_pred` holds logits, of a sigmoid or, with `Argmax`, of a softmax. Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.

    Returns:
        A `ConfusionMatrix` of float32 cells of shape (thresholds, classes).

    Examples:
        >>> cells = confusion_matrix([0, 1, 1], [0.3, 0.4, 0.9], heaviside="step")
        >>> [float(cell[0, 0]) for cell in cells]
        [1.0, 0.0, 1.0, 1.0]
        >>> soft = confusion_matrix([0, 1, 1], [0.3, 0.4, 0.9])
        >>> [round(float(cell[0, 0]), 2) for cell in soft]
        [1.3, 0.18, 0.7, 0.82]

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Section 3.2
    """
    decision, approximation = decisions.get(threshold), heavisides.get(heaviside)
    samples = as_samples(
        y_true,
        y_pred,
        sample_weight,
        from_logits=from_logits,
        ignore_class=ignore_class,
        rivals=decision.one_class_wins,
    )
    decision.check(approximation, samples.classes)
    cells = sum_cells(samples, decision, approximation)
    explain(samples, cells.tp)
    return cells.map(lambda cell: ops.cast(cell, "float32"))


def sum_cells(samples: Samples, decision: Decision, heaviside: Heaviside) -> ConfusionMatrix:
    """Returns the cells in float64, so that counts stay exact past 2^24; uses a kernel if there is one."""
    return ConfusionMatrix.from_stacked(sum_stacked_cells(samples, decision, heaviside))


def sum_stacked_cells(samples: Samples, decision: Decision, heaviside: Heaviside) -> Tensor:
    """Returns the cells of `sum_cells` in one tensor, (4, rows, classes)."""
    if isinstance(decision, Argmax) and heaviside.differentiable:  # in a metric, every digit counts
        members = _members(samples, decision, heaviside).map(lambda cell: cell[0])
        return ops.expand_dims(_kernels.sum_samples(*members), 1)
    if not isinstance(decision, (Thresholds, PerClass)):
        return sum_cells_by_definition(samples, decision, heaviside).stacked()
    per_class = isinstance(decision, PerClass)
    cells = _kernels.sum_cells(samples, decision.thresholds, heaviside, per_class=per_class)
    if samples.classes is None:
        return cells
    return ops.reshape(cells, (4, decision.rows, samples.classes))  # kernels accept any shape, and lose the static one


def sum_cells_by_definition(samples: Samples, decision: Decision, heaviside: Heaviside) -> ConfusionMatrix:
    """The definition of the cells. The kernels compute the same, without storing anything of size rows x samples."""
    members = _members(samples, decision, heaviside)
    return members.map(lambda cell: ops.sum(ops.cast(cell, "float64"), axis=-2))


def _members(samples: Samples, decision: Decision, heaviside: Heaviside) -> ConfusionMatrix:
    """How much each sample counts in each cell, (rows, samples, classes)."""
    samples = samples.counted()
    y, w = samples.label, 1.0 if samples.weight is None else samples.weight
    h = decision.memberships(samples, heaviside)
    return ConfusionMatrix(tp=w * y * h, fp=w * (1 - y) * h, fn=w * y * (1 - h), tn=w * (1 - y) * (1 - h))


def sum_cells_of_sets(samples: Samples, decision: Decision, heaviside: Heaviside) -> ConfusionMatrix:
    """Returns the cells of each of several sets, from (sets, elements, classes) to (rows, sets, classes)."""
    if decision.rows == 1 or not isinstance(decision, Thresholds):
        return sum_cells_by_definition(samples, decision, heaviside)
    sets, elements, classes = ops.shape(samples.prediction)

    def columns(x: Tensor) -> Tensor:  # to the kernels, a class of one set is an ordinary class
        return ops.reshape(ops.transpose(x, (1, 0, 2)), (elements, sets * classes))

    weight = None if samples.weight is None else columns(ops.broadcast_to(samples.weight, (sets, elements, classes)))
    flat = samples._replace(label=columns(samples.label), prediction=columns(samples.prediction), weight=weight)
    cells = _kernels.sum_cells(flat, decision.thresholds, heaviside)
    return ConfusionMatrix.from_stacked(ops.reshape(cells, (4, decision.rows, sets, classes)))
