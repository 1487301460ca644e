"""Curve scores: they read the whole threshold axis and give one value for each class."""

from __future__ import annotations

from keras import ops

from keras_softsets._backend import Tensor, clip, maximum
from keras_softsets._checks import check_number
from keras_softsets.matrices import ConfusionMatrix, ratio, undefined_where
from keras_softsets.scores._formulas import precision, recall, specificity
from keras_softsets.scores._registry import score


@score(curve=True)
def roc_auc(cells: ConfusionMatrix, max_fpr: float | None = None) -> Tensor:
    """Area under the ROC curve through the thresholds' points and the corners (0, 0) and (1, 1).

    Formula: trapezoidal rule over `fpr = fp / (fp + tn)` of `tpr = tp / (tp + fn)`. 0 if a class is missing.

    With `max_fpr`, only false positive rates up to that value count, and the area A is standardised so that chance is
    0.5 and perfection is 1: `(1 + (A - max_fpr^2 / 2) / (max_fpr - max_fpr^2 / 2)) / 2`, as in scikit-learn.

    Examples:
        >>> cells = ConfusionMatrix(tp=[[4.0], [2.0]], fp=[[2.0], [0.0]], fn=[[1.0], [3.0]], tn=[[3.0], [5.0]])
        >>> round(float(roc_auc(cells)[0]), 3), round(float(roc_auc(cells, max_fpr=0.2)[0]), 3)
        (0.78, 0.722)

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), supplement, "AUROC";
        [McClish, 1989](https://doi.org/10.1177/0272989X8900900307)
    """
    cells = _by_threshold(cells)
    tpr, fpr = _with_corners(recall(cells)), _with_corners(1 - specificity(cells))
    if max_fpr is None:
        area = ops.sum((fpr[:-1] - fpr[1:]) * (tpr[:-1] + tpr[1:]), 0) / 2
    else:
        limit = check_number("max_fpr", max_fpr, 0.0, 1.0, open_low=True)
        chance = limit**2 / 2
        area = (1 + (_area_below(fpr, tpr, limit) - chance) / (limit - chance)) / 2
    missing = ops.logical_or(cells.positives[0] <= 0, cells.negatives[0] <= 0)
    return undefined_where(missing, area, cells)


@score(curve=True)
def pr_auc(cells: ConfusionMatrix, min_recall: float | None = None) -> Tensor:
    """Area under the precision-recall curve through the thresholds' points.

    Formula: trapezoidal rule over recall of precision. The end points are recall 1 at the share of positives
    (everything is positive) and recall 0 at the precision of the last threshold at which something is still positive.
    A constant prediction therefore scores the share of positives, and a perfect one scores 1.

    With `min_recall`, less than 1, only recalls from there up count: the mean precision over them.

    Examples:
        >>> cells = ConfusionMatrix(tp=[[4.0], [2.0]], fp=[[2.0], [0.0]], fn=[[1.0], [3.0]], tn=[[3.0], [5.0]])
        >>> round(float(pr_auc(cells)[0]), 3), round(float(pr_auc(cells, min_recall=0.8)[0]), 3)
        (0.85, 0.583)

    Reference:
        [Davis and Goadrich, 2006](https://doi.org/10.1145/1143844.1143874)
    """
    cells = _by_threshold(cells)
    called = ops.concatenate([cells.total[:1], cells.predicted_positives, ops.zeros_like(cells.total[:1])], 0)
    share = ratio(cells.positives, cells.total, cells)[:1]
    # Where nothing is positive, the height has no weight in the area, but must not pull recall down.
    point = ops.where(cells.predicted_positives <= 0, share, precision(cells))
    height = ops.concatenate([share, point, ops.zeros_like(share)], 0)
    width = _with_corners(recall(cells))
    mean = ops.where(called[1:] > 0, (height[:-1] + height[1:]) / 2, height[:-1])
    if min_recall is None:
        area = ops.sum((width[:-1] - width[1:]) * mean, 0)
    else:
        span = max(1 - check_number("min_recall", min_recall, 0.0, 1.0, open_high=True), 1e-9)
        end = ops.where(called[1:] > 0, height[1:], height[:-1])
        # The part up to `span` of 1 - recall, which rises with the threshold.
        area = _area_of_parts(1 - width[1:], 1 - width[:-1], end, height[:-1], span) / span
    return undefined_where(cells.positives[0] <= 0, area, cells)


@score(curve=True)
def average_precision(cells: ConfusionMatrix) -> Tensor:
    """Mean of the precisions at all thresholds, each weighted by its gain in recall, as in scikit-learn.

    Formula: `sum of (recall_k - recall_(k + 1)) precision_k` over rising thresholds k, of which the first is 0.
    Unlike `pr_auc`, it does not interpolate between the points. 0 without positives.

    Examples:
        >>> cells = ConfusionMatrix(tp=[[4.0], [2.0]], fp=[[2.0], [0.0]], fn=[[1.0], [3.0]], tn=[[3.0], [5.0]])
        >>> round(float(average_precision(cells)[0]), 3)
        0.767

    Reference:
        [scikit-learn](https://scikit-learn.org/stable/modules/generated/sklearn.metrics.average_precision_score.html)
    """
    cells = _by_threshold(cells)
    share = ratio(cells.positives, cells.total, cells)[:1]
    height = ops.concatenate([share, precision(cells)], 0)
    width = _with_corners(recall(cells))
    return undefined_where(cells.positives[0] <= 0, ops.sum((width[:-1] - width[1:]) * height, 0), cells)


def _area_below(x: Tensor, y: Tensor, limit: float) -> Tensor:
    """The area under falling points (x, y), up to a limit of x."""
    return _area_of_parts(x[:-1], x[1:], y[:-1], y[1:], limit)


def _area_of_parts(right: Tensor, left: Tensor, right_height: Tensor, left_height: Tensor, limit: float) -> Tensor:
    """Adds up trapezia from `left` to `right`, cut off at a limit."""
    width = right - left
    inside = clip(limit - left, 0.0, maximum(width, 0.0))
    slope = (right_height - left_height) / ops.where(width > 0, width, 1.0)
    return ops.sum(inside * (left_height + slope * inside / 2), 0)


def _by_threshold(cells: ConfusionMatrix) -> ConfusionMatrix:
    """Cells in order of rising threshold, in whatever order the user gave them; XLA takes seconds to compile a sort."""
    if cells.rising:
        return cells
    order = ops.argsort(-ops.stop_gradient(recall(cells) - specificity(cells)), 0)
    return cells.map(lambda cell: ops.take_along_axis(cell, order, 0))


def _with_corners(rate: Tensor) -> Tensor:
    one = ops.ones_like(rate[:1])
    return ops.concatenate([one, rate, 0 * one], 0)
