"""Curve scores: they read the whole threshold axis and give one value for each class."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.scores._arithmetic import ratio, undefined_where
from keras_softsets.scores._formulas import precision, recall, specificity
from keras_softsets.scores._registry import score

_in_order: ContextVar[bool] = ContextVar("in_order", default=False)


@contextlib.contextmanager
def rows_in_order(known: bool = True) -> Iterator[None]:
    """Curve scores computed inside take the rows to be those of rising thresholds, if that is `known`.

    Sorting them, as they must where cells are given by hand, takes XLA seconds to compile.
    """
    token = _in_order.set(known)
    try:
        yield
    finally:
        _in_order.reset(token)


@score(curve=True)
def roc_auc(cells: ConfusionMatrix) -> Tensor:
    """Area under the ROC curve through the thresholds' points and the corners (0, 0) and (1, 1).

    Formula: trapezoidal rule over `fpr = fp / (fp + tn)` of `tpr = tp / (tp + fn)`. 0 if a class is missing.

    Examples:
        >>> cells = ConfusionMatrix(tp=[[4.0], [2.0]], fp=[[2.0], [0.0]], fn=[[1.0], [3.0]], tn=[[3.0], [5.0]])
        >>> round(float(roc_auc(cells)[0]), 3)
        0.78

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), supplement, "AUROC"
    """
    cells = _by_threshold(cells)
    tpr, fpr = _with_corners(recall(cells)), _with_corners(1 - specificity(cells))
    area = ops.sum((fpr[:-1] - fpr[1:]) * (tpr[:-1] + tpr[1:]), 0) / 2
    missing = ops.logical_or(cells.positives[0] <= 0, cells.negatives[0] <= 0)
    return undefined_where(missing, area)


@score(curve=True)
def pr_auc(cells: ConfusionMatrix) -> Tensor:
    """Area under the precision-recall curve through the thresholds' points.

    Formula: trapezoidal rule over recall of precision. The end points are recall 1 at the share of positives (call
    everything positive) and recall 0 at the precision of the last threshold that still calls something positive; so
    a constant prediction scores the share of positives, a perfect one 1.

    Examples:
        >>> cells = ConfusionMatrix(tp=[[4.0], [2.0]], fp=[[2.0], [0.0]], fn=[[1.0], [3.0]], tn=[[3.0], [5.0]])
        >>> round(float(pr_auc(cells)[0]), 3)
        0.85

    Reference:
        [Davis and Goadrich, 2006](https://doi.org/10.1145/1143844.1143874)
    """
    cells = _by_threshold(cells)
    called = ops.concatenate([cells.total[:1], cells.predicted_positives, ops.zeros_like(cells.total[:1])], 0)
    share = ratio(cells.positives, cells.total, cells)[:1]
    # Where nothing is called, the height has no weight in the area, but must not draw recall down.
    point = ops.where(cells.predicted_positives <= 0, share, precision(cells))
    height = ops.concatenate([share, point, ops.zeros_like(share)], 0)
    width = _with_corners(recall(cells))
    mean = ops.where(called[1:] > 0, (height[:-1] + height[1:]) / 2, height[:-1])
    area = ops.sum((width[:-1] - width[1:]) * mean, 0)
    return undefined_where(cells.positives[0] <= 0, area)


def _by_threshold(cells: ConfusionMatrix) -> ConfusionMatrix:
    """Cells in order of rising threshold, whatever the order in which the user gave them."""
    if _in_order.get():
        return cells
    order = ops.argsort(-ops.stop_gradient(recall(cells) - specificity(cells)), 0)
    return cells.map(lambda cell: ops.take_along_axis(cell, order, 0))


def _with_corners(rate: Tensor) -> Tensor:
    one = ops.ones_like(rate[:1])
    return ops.concatenate([one, rate, 0 * one], 0)
