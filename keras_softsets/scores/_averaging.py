"""From the values of thresholds and classes to one number."""

from __future__ import annotations

from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._checks import check_choice
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.scores._registry import Score

AVERAGES = ("macro", "micro", "weighted", None)


def averaged(score: Score, cells: ConfusionMatrix, average: str | None) -> Tensor:
    """Scores cells, then averages over thresholds and over classes.

    Args:
        score: The score.
        cells: Cells of shape (thresholds, classes).
        average: `"macro"` is the mean over classes, `"micro"` scores the cells summed over classes, `"weighted"`
            weights classes by their positives, and `None` gives one value for each class.
    """
    check_choice("average", average, AVERAGES)
    if average == "micro":
        cells = cells.map(lambda cell: ops.sum(cell, 1, keepdims=True))
    values = _over_thresholds(score, score(cells))
    if average is None:
        return values
    if average == "weighted":
        return ops.sum(values * ops.stop_gradient(_shares(cells.positives[0])))
    return ops.mean(values)


def _over_thresholds(score: Score, values: Tensor) -> Tensor:
    rank = len(values.shape)
    if rank not in (1, 2):
        raise ValueError(
            "A score must keep the cells' shape (thresholds, classes), or give (classes,) from all thresholds. "
            f"Received: {score!r} of shape {tuple(values.shape)}"
        )
    return ops.mean(values, 0) if rank == 2 else values


def _shares(support: Tensor) -> Tensor:
    """Classes' shares of the positives; all 0 where there are none."""
    largest = ops.max(support)  # first to a scale on which no sum is lost, however small the weights are
    scaled = support / ops.where(largest > 0, largest, 1.0)
    total = ops.sum(scaled)
    return scaled / ops.where(total > 0, total, 1.0)
