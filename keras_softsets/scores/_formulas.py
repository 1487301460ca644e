"""Scores of one threshold: one small function each, from cells to values of the same shape, higher is better."""

from __future__ import annotations

from collections.abc import Sequence

from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._checks import check_costs, check_number
from keras_softsets.matrices import ConfusionMatrix, ratio, square_root
from keras_softsets.scores._registry import score


@score
def precision(cells: ConfusionMatrix) -> Tensor:
    """Share of predicted positives that are positive (positive predictive value).

    Formula: `tp / (tp + fp)`

    Examples:
        >>> float(precision(ConfusionMatrix(tp=3.0, fp=1.0, fn=2.0, tn=3.0)))
        0.75

    Reference:
        [Wikipedia](https://en.wikipedia.org/wiki/Precision_and_recall)
    """
    return ratio(cells.tp, cells.predicted_positives, cells)


@score
def recall(cells: ConfusionMatrix) -> Tensor:
    """Share of positives that are found (sensitivity, true positive rate).

    Formula: `tp / (tp + fn)`

    Examples:
        >>> round(float(recall(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.667

    Reference:
        [Wikipedia](https://en.wikipedia.org/wiki/Precision_and_recall)
    """
    return ratio(cells.tp, cells.positives, cells)


@score
def specificity(cells: ConfusionMatrix) -> Tensor:
    """Share of negatives that are decided as negative (true negative rate).

    Formula: `tn / (tn + fp)`

    Examples:
        >>> float(specificity(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0)))
        0.75

    Reference:
        [Wikipedia](https://en.wikipedia.org/wiki/Sensitivity_and_specificity)
    """
    return ratio(cells.tn, cells.negatives, cells)


@score
def accuracy(cells: ConfusionMatrix) -> Tensor:
    """Share of right decisions. Misleading on imbalanced data: "never" is 99 % right about a 1 % class.

    Formula: `(tp + tn) / (tp + fp + fn + tn)`

    Examples:
        >>> round(float(accuracy(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.7

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Eq. 3
    """
    return ratio(cells.tp + cells.tn, cells.total, cells)


@score
def balanced_accuracy(cells: ConfusionMatrix) -> Tensor:
    """Mean of recall and specificity; 0.5 for any constant prediction.

    Formula: `(tp / (tp + fn) + tn / (tn + fp)) / 2`

    Examples:
        >>> round(float(balanced_accuracy(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.708

    Reference:
        [Brodersen et al., 2010](https://doi.org/10.1109/ICPR.2010.764)
    """
    return (recall(cells) + specificity(cells)) / 2


@score
def f_beta(cells: ConfusionMatrix, beta: float = 1.0) -> Tensor:
    """Weighted harmonic mean of precision and recall, in which recall counts `beta` times as much.

    Formula: `(1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)`

    Examples:
        >>> round(float(f_beta(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0), beta=2)), 3)
        0.69

    Reference:
        van Rijsbergen, Information Retrieval, 1979
    """
    square = check_number("beta", beta, 0.0, 1e12, open_low=True) ** 2  # float32 ends at 3e38
    hits = (1 + square) * cells.tp
    return ratio(hits, hits + square * cells.fn + cells.fp, cells)


@score
def f1(cells: ConfusionMatrix) -> Tensor:
    """Harmonic mean of precision and recall (the Dice coefficient).

    Formula: `2 tp / (2 tp + fn + fp)`

    Examples:
        >>> round(float(f1(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.727

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Eq. 3
    """
    return f_beta(cells, beta=1.0)


@score
def jaccard(cells: ConfusionMatrix) -> Tensor:
    """Intersection over union of predicted and true positives.

    Formula: `tp / (tp + fp + fn)`

    Examples:
        >>> round(float(jaccard(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.571

    Reference:
        [Wikipedia](https://en.wikipedia.org/wiki/Jaccard_index)
    """
    return ratio(cells.tp, cells.tp + cells.fp + cells.fn, cells)


@score
def g_mean(cells: ConfusionMatrix) -> Tensor:
    """Geometric mean of recall and specificity.

    Formula: `sqrt(tp / (tp + fn) * tn / (tn + fp))`

    Examples:
        >>> round(float(g_mean(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.707

    Reference:
        Kubat and Matwin, ICML 1997
    """
    return square_root(recall(cells) * specificity(cells))


@score
def mcc(cells: ConfusionMatrix) -> Tensor:
    """Matthews correlation coefficient between truth and decision, from -1 to 1.

    Formula: `(tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))`

    Examples:
        >>> round(float(mcc(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.408

    Reference:
        [Matthews, 1975](https://doi.org/10.1016/0005-2795(75)90109-9)
    """
    shares = _shares(cells)  # products of four counts would overflow float32 at 10^9.5 samples
    spread = square_root(shares.predicted_positives * shares.predicted_negatives)
    spread = spread * square_root(shares.positives * shares.negatives)
    return ratio(shares.tp * shares.tn - shares.fp * shares.fn, spread, shares)


@score
def cohen_kappa(cells: ConfusionMatrix) -> Tensor:
    """Agreement of truth and decision beyond chance, from -1 to 1.

    Formula: `2 (tp tn - fp fn) / ((tp + fp) (fp + tn) + (tp + fn) (fn + tn))`

    Examples:
        >>> round(float(cohen_kappa(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.4

    Reference:
        [Cohen, 1960](https://doi.org/10.1177/001316446002000104)
    """
    shares = _shares(cells)
    chance = shares.predicted_positives * shares.negatives + shares.positives * shares.predicted_negatives
    return ratio(2 * (shares.tp * shares.tn - shares.fp * shares.fn), chance, shares)


@score
def tversky(cells: ConfusionMatrix, alpha: float = 0.5, beta: float = 0.5) -> Tensor:
    """Tversky index: `alpha` is the cost of a false positive, `beta` that of a false negative.

    Formula: `tp / (tp + alpha fp + beta fn)`. Equals F1 at 0.5, 0.5 and Jaccard at 1, 1.

    Examples:
        >>> round(float(tversky(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0), alpha=0.3, beta=0.7)), 3)
        0.702

    Reference:
        [Salehi et al., 2017](https://arxiv.org/abs/1706.05721)
    """
    alpha, beta = (check_number(n, v, 0.0) for n, v in (("alpha", alpha), ("beta", beta)))
    return ratio(cells.tp, cells.tp + alpha * cells.fp + beta * cells.fn, cells)


@score
def youden_j(cells: ConfusionMatrix) -> Tensor:
    """Recall plus specificity minus 1 (informedness), from -1 to 1; 0 for a constant prediction of both classes.

    Formula: `tp / (tp + fn) + tn / (tn + fp) - 1`

    Examples:
        >>> round(float(youden_j(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.417

    Reference:
        [Youden, 1950](https://doi.org/10.1002/1097-0142(1950)3:1%3C32::AID-CNCR2820030106%3E3.0.CO;2-3)
    """
    return recall(cells) + specificity(cells) - 1


@score
def cost(cells: ConfusionMatrix, costs: Sequence[Sequence[float]] = ((0.0, 1.0), (1.0, 0.0))) -> Tensor:
    """Minus the mean cost of a decision, in the unit of `costs`; with the default costs, minus the share of errors.

    Formula: `-(costs[0][0] tn + costs[0][1] fp + costs[1][0] fn + costs[1][1] tp) / (tp + fp + fn + tn)`

    `costs[i][j]` is the cost of deciding true class i as j, so `[[0, 1], [50, 0]]` says that a miss costs 50 false
    alarms; negative costs are gains. If probabilities are calibrated, the cheapest threshold is known without tuning:
    `a / (a + b)` with `a = costs[0][1] - costs[0][0]` and `b = costs[1][0] - costs[1][1]`, here 1 / 51. A larger matrix
    makes it `multiclass_cost`, and so does an argmax, which decides for all classes at once.

    Examples:
        >>> round(float(cost(ConfusionMatrix(tp=3.0, fp=4.0, fn=1.0, tn=12.0), costs=[[0, 1], [50, 0]])), 4)
        -2.7

    Reference:
        [Elkan, 2001](https://dl.acm.org/doi/10.5555/1642194.1642224)
    """
    ((right_no, alarm), (miss, right_yes)) = check_costs("costs", costs, 2)
    spent = right_no * cells.tn + alarm * cells.fp + miss * cells.fn + right_yes * cells.tp
    return -ratio(spent, cells.total, cells)


def _shares(cells: ConfusionMatrix) -> ConfusionMatrix:
    total = ops.stop_gradient(cells.total)
    return cells.map(lambda cell: cell / ops.where(total > 0, total, 1.0))
