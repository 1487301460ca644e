"""The average of a score at operating points over rates and classes."""

from __future__ import annotations

from collections.abc import Callable

from keras import ops

from keras_softsets import scores
from keras_softsets._backend import Tensor
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.decisions import AtRate
from keras_softsets.scores import Score
from keras_softsets.scores._arithmetic import undefined_where
from keras_softsets.scores._averaging import Average, ZeroDivision


def averaged_at_points(
    score: Score,
    cells: ConfusionMatrix,
    met: Tensor,
    otherwise: Callable[[ConfusionMatrix], Tensor],
    decision: AtRate,
    average: Average,
    zero_division: ZeroDivision,
) -> Tensor:
    """Averages the scores of cells with one row for each rate, with another value where the rate is not met."""
    counts = cells.negatives if decision.rate == "specificity" else cells.positives
    meaningless = counts <= 0
    if average == "micro":
        met, meaningless = ops.any(met, 1, keepdims=True), ops.all(meaningless, 1, keepdims=True)

    def at_point(cells: ConfusionMatrix) -> Tensor:
        value = ops.where(met, score(cells), otherwise(cells))
        return undefined_where(meaningless, value)

    return scores.averaged(Score(at_point, registered=False), cells, average, zero_division)
