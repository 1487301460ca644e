"""Scores of the c x c matrix: one small function each, from a `MulticlassMatrix` to a number, higher is better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._checks import check_choice, check_costs
from keras_softsets.matrices import MulticlassMatrix, ratio, square_root
from keras_softsets.scores._registry import score


@score(of="classes")
def multiclass_accuracy(matrix: MulticlassMatrix) -> Tensor:
    """Share of samples whose class is right.

    Formula: `sum of counts[i, i] / sum of counts`

    Examples:
        >>> float(multiclass_accuracy(MulticlassMatrix([[3.0, 1.0], [0.0, 4.0]])))
        0.875

    Reference:
        [Wikipedia](https://en.wikipedia.org/wiki/Accuracy_and_precision)
    """
    return ratio(ops.sum(matrix.right), matrix.total, matrix)


@score(of="classes")
def multiclass_mcc(matrix: MulticlassMatrix) -> Tensor:
    """Matthews correlation coefficient of many classes, from below 0 to 1 (Gorodkin's R_K).

    Formula: `(c s - sum t_k p_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2))`, where c is the weight of right
    decisions, s is all weight, and t_k and p_k are the true and the decided weight of class k.

    Examples:
        >>> round(float(multiclass_mcc(MulticlassMatrix([[3.0, 1.0], [0.0, 4.0]]))), 4)
        0.7746

    Reference:
        [Gorodkin, 2004](https://doi.org/10.1016/j.compbiolchem.2004.09.006)
    """
    share = _shares(matrix)
    true, decided = share.true, share.decided
    # 1 - sum t^2 as a sum of products, which keeps its digits when one class has nearly all weight.
    spread = square_root(ops.sum(true * (1 - true))) * square_root(ops.sum(decided * (1 - decided)))
    return ratio(ops.sum(share.right) - ops.sum(true * decided), spread, share)


@score(of="classes")
def kappa(matrix: MulticlassMatrix, weights: str | None = None) -> Tensor:
    """Agreement of true and decided class beyond chance, from below 0 to 1 (Cohen's kappa).

    Formula: `1 - sum w_ij counts[i, j] / sum w_ij t_i p_j * s`, where the cost w_ij of deciding class i as j is 1
    (`weights=None`), |i - j| (`"linear"`) or (i - j)^2 (`"quadratic"`, for ordinal classes).

    Examples:
        >>> round(float(kappa(MulticlassMatrix([[3.0, 1.0, 0.0], [0.0, 4.0, 0.0], [0.0, 1.0, 3.0]]))), 4)
        0.75
        >>> round(float(kappa(MulticlassMatrix([[3.0, 1.0, 0.0], [0.0, 4.0, 0.0], [0.0, 1.0, 3.0]]), "quadratic")), 4)
        0.8571

    Reference:
        [Cohen, 1968](https://doi.org/10.1037/h0026256)
    """
    share = _shares(matrix)
    cost = _costs(check_choice("weights", weights, (None, "linear", "quadratic")), share)
    expected = ops.sum(cost * share.true[:, None] * share.decided[None, :])
    return ratio(expected - ops.sum(cost * share.counts), expected, share)


@score(of="classes")
def multiclass_cost(matrix: MulticlassMatrix, costs: Sequence[Sequence[float]] | None = None) -> Tensor:
    """Minus the mean cost of a decision among many classes; by default, minus the share of errors.

    Formula: `-sum of costs[i][j] counts[i, j] / sum of counts`, where `costs[i][j]` is the cost of deciding true class
    i as j. `Argmax(costs=...)` decides for the class of least expected cost.

    Examples:
        >>> float(multiclass_cost(MulticlassMatrix([[3.0, 1.0], [0.0, 4.0]]), costs=[[0, 2], [50, 0]]))
        -0.25

    Reference:
        [Elkan, 2001](https://dl.acm.org/doi/10.5555/1642194.1642224)
    """
    classes = matrix.counts.shape[-1]
    each = 1 - np.eye(classes) if costs is None else np.array(check_costs("costs", costs, classes))
    return -ratio(ops.sum(ops.cast(each, matrix.counts.dtype) * matrix.counts), matrix.total, matrix)


def _costs(weights: str | None, matrix: MulticlassMatrix) -> Tensor:
    classes = matrix.counts.shape[-1]
    distance = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes)))
    power = {None: distance > 0, "linear": distance, "quadratic": distance**2}[weights]
    # Relative to the largest, so that sums have the size of shares for any number of classes.
    return ops.cast(power / max(power.max(), 1), matrix.counts.dtype)


def _shares(matrix: MulticlassMatrix) -> MulticlassMatrix:
    total = ops.stop_gradient(matrix.total)
    return matrix._replace(counts=matrix.counts / ops.where(total > 0, total, 1.0))
