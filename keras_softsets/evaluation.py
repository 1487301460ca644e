"""From labels and predictions to the value of a score: the path that losses, metrics and `evaluate` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets import decisions, scores
from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor
from keras_softsets._checks import check_choice
from keras_softsets._inputs import Samples, as_samples, explain
from keras_softsets._ranked import ranked
from keras_softsets.confusion import ConfusionMatrix, sum_cells
from keras_softsets.decisions import DecisionLike
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.scores import Score

ScoreLike = str | Score | Callable[[ConfusionMatrix], Tensor]
PAPER_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# Hundredths, and closer to the ends powers of ten: set losses saturate, and a curve without points there reads low.
_ENDS = [10 ** (-k / 2) for k in range(13, 4, -1)]
CURVE_THRESHOLDS = (*_ENDS, *(k / 100 for k in range(1, 100)), *(1 - end for end in reversed(_ENDS)))


class Evaluation:
    """One or several scores of one set of cells, with everything that they need; checks its arguments.

    The path has a seam in its middle. `totals` are sums over samples, so they may be added up over batches and
    replicas; `values` are scores of the totals, whatever they have been added up from.

    Args:
        named: The scores, by name, as values or as functions.
        threshold: The decision, or `None` for 0.5 (`curve` for a curve score).
        heaviside: The approximation.
        average: How classes become one.
        from_logits: Whether predictions are logits.
        curve: Thresholds of a curve score for which none are given.
        **score_args: Parameters of the only score.
    """

    def __init__(
        self,
        named: Sequence[ScoreLike],
        /,
        *,
        threshold: DecisionLike | None,
        heaviside: HeavisideLike,
        average: str | None,
        from_logits: bool,
        curve: Sequence[float] = CURVE_THRESHOLDS,
        **score_args: Any,
    ) -> None:
        self.scores = tuple(scores.get(score, **score_args) for score in named)
        curves = any(score.curve for score in self.scores)
        self.decision = decisions.get((curve if curves else 0.5) if threshold is None else threshold)
        if curves and isinstance(self.decision, decisions.Thresholds):
            # The order has no meaning, and must not decide about slopes where points coincide.
            self.decision = decisions.Thresholds(tuple(sorted(self.decision.thresholds)))
        self.heaviside = heavisides.get(heaviside)
        self.decision.check(self.heaviside)
        self.average = check_choice("average", average, scores.AVERAGES)
        self.from_logits = bool(from_logits)

    def totals(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Returns what is summed over samples, in float64: the cells of the batch, (4, thresholds, classes)."""
        samples = self._samples(y_true, y_pred, sample_weight)
        self.decision.check(self.heaviside, samples.classes)
        totals = sum_cells(samples, self.decision, self.heaviside).stacked()
        explain(samples, totals)
        return totals

    def every_threshold(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Returns the hard cells at every threshold that decides differently, which are not sums over batches."""
        samples = self._samples(y_true, y_pred, sample_weight)
        totals = ranked(samples).cells.stacked()
        explain(samples, totals)
        return totals

    def _samples(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None) -> Samples:
        mask = getattr(y_pred, "_keras_mask", None)  # Keras leaves a layer's mask on the predictions
        return as_samples(y_true, y_pred, sample_weight, mask=mask, from_logits=self.from_logits)

    def values(self, totals: Tensor) -> list[Tensor]:
        """Returns the scores, averaged over thresholds and classes."""
        cells = ConfusionMatrix.from_stacked(totals)
        return [scores.averaged(score, cells, self.average) for score in self.scores]

    def config(self) -> dict[str, Any]:
        """Returns all arguments but the scores, in a form that Keras can write to a file."""
        return {
            "threshold": self.decision.config(),
            "heaviside": keras.saving.serialize_keras_object(self.heaviside),
            "average": self.average,
            "from_logits": self.from_logits,
        }

    def score_config(self) -> dict[str, Any]:
        """Returns the arguments that say which score it is."""
        (score,) = self.scores
        return {"score": saved_name(score), **score.parameters}

    def adds_up_with(self, other: Evaluation) -> bool:
        """Whether the totals of two evaluations may be added."""
        return (self.decision, self.heaviside.cache_key()) == (other.decision, other.heaviside.cache_key())


def saved_name(score: Score) -> str:
    """Returns the name under which a score is found again."""
    if not score.registered:
        raise ValueError(
            "A score must be registered to be saved: decorate the function with @keras_softsets.score. "
            f"Received: score={score.function!r}"
        )
    return score.name


def evaluate(
    y_true: Tensor,
    y_pred: Tensor,
    score: ScoreLike = "f1",
    sample_weight: Tensor | None = None,
    *,
    threshold: DecisionLike | None = None,
    heaviside: HeavisideLike = "step",
    average: str | None = "macro",
    from_logits: bool = False,
    **score_args: Any,
) -> Any:
    """Computes a score of predictions: the pure function behind losses and metrics.

    Args:
        y_true: Labels in [0, 1]: `(n,)` or `(..., classes)`, bool, integer or float.
        y_pred: Probabilities of the same shape (up to a last axis of length 1), or logits.
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`.
            Defaults to `"f1"`.
        sample_weight: Weights that line up with `y_pred` from the left. Weight 2 equals two copies, weight 0 equals
            absence. Defaults to `None`.
        threshold: How probabilities become decisions: a number, a sequence over which the score is averaged, or a
            value such as `PerClass([0.2, 0.7])`, which `tune_threshold` returns for several classes. Defaults to
            `None`: 0.5; for areas under a curve, every threshold that decides differently.
        heaviside: `"step"` (the usual score), `"linear"`, `"sigmoid"` or a `Heaviside`. Defaults to `"step"`.
        average: How the values of several classes become one: `"macro"` (mean), `"micro"` (cells summed over classes),
            `"weighted"` (by positives), or `None` for one value for each class. Defaults to `"macro"`.
        from_logits: Whether predictions are logits, to which a sigmoid is applied. Defaults to `False`.
        **score_args: Parameters of the score, such as `beta=2`.

    Returns:
        A float, or a NumPy array with one number for each class; for tensors, a tensor, differentiable in `y_pred`
        unless `heaviside` is the step.

    Examples:
        >>> y, p = [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]
        >>> evaluate(y, p), evaluate(y, p, "f_beta", beta=2, threshold=0.3)
        (0.5, 0.9090909090909091)
        >>> evaluate(y, p, "roc_auc")
        0.75
        >>> evaluate([[0, 1], [1, 1]], [[0.2, 0.6], [0.9, 0.3]], average=None)
        array([1.        , 0.66666667])
    """
    evaluation = Evaluation(
        [score],
        threshold=threshold,
        heaviside=heaviside,
        average=average,
        from_logits=from_logits,
        **score_args,
    )
    every = threshold is None and evaluation.scores[0].curve and not evaluation.heaviside.differentiable
    totals = evaluation.every_threshold if every else evaluation.totals
    (value,) = evaluation.values(totals(y_true, y_pred, sample_weight))
    if ops.is_tensor(y_pred):
        return ops.cast(value, keras.config.floatx())
    array = np.asarray(ops.convert_to_numpy(value))
    return array if array.ndim else float(array)
