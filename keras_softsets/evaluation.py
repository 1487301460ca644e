"""From labels and predictions to the value of a score: the path that losses, metrics and `evaluate` share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets import decisions, scores
from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor, without_autograph
from keras_softsets._checks import check_whole_number
from keras_softsets._inputs import Samples, Sets, as_samples, as_sets, explain
from keras_softsets._ranked import ranked
from keras_softsets.confusion import ConfusionMatrix, sum_cells, sum_cells_of_sets
from keras_softsets.decisions import Argmax, DecisionLike, Thresholds
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.multiclass import MulticlassMatrix, sum_counts
from keras_softsets.scores import Score

ScoreLike = str | Score | Callable[[Any], Tensor]
AverageLike = str | Sequence[float] | None
PAPER_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# Hundredths, and closer to the ends powers of ten: set losses saturate, and a curve without points there reads low.
_ENDS = [10 ** (-k / 2) for k in range(13, 4, -1)]
CURVE_THRESHOLDS = (*_ENDS, *(k / 100 for k in range(1, 100)), *(1 - end for end in reversed(_ENDS)))


class Evaluation:
    """One or several scores of one confusion matrix, with everything that they need; checks its arguments.

    The path has a seam in its middle. `totals` are sums over samples, so they may be added up over batches and
    replicas; `values` are scores of the totals, whatever they have been added up from.

    Args:
        named: The scores, by name, as values or as functions.
        threshold: The decision; `None` is 0.5, `curve` for a curve score, and the argmax for scores of classes.
        heaviside: The approximation.
        average: How classes become one.
        from_logits: Whether predictions are logits.
        zero_division: Value of 0 / 0.
        per_sample: Whether every sample is a set of its own.
        ignore_class: Class id that does not count.
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
        average: AverageLike,
        from_logits: bool,
        ignore_class: int | None,
        zero_division: float | str = 0.0,
        per_sample: bool = False,
        curve: Sequence[float] = CURVE_THRESHOLDS,
        **score_args: Any,
    ) -> None:
        self.scores = tuple(scores.get(score, **score_args) for score in named)
        self.of_classes = any(score.of == "classes" for score in self.scores)
        self.decision = self._decision(threshold, curve)
        self.heaviside = heavisides.get(heaviside)
        self.decision.check(self.heaviside)
        self.average = scores.check_average(average)
        self.from_logits = bool(from_logits)
        self.zero_division = scores.check_zero_division(zero_division)
        self.per_sample = bool(per_sample)
        self.ignore_class = (
            None if ignore_class is None else check_whole_number("ignore_class", ignore_class, -(2**31), 2**31)
        )

    def _decision(self, threshold: DecisionLike | None, curve: Sequence[float]) -> decisions.Decision:
        curves = any(score.curve for score in self.scores)
        default: DecisionLike = "argmax" if self.of_classes else curve if curves else 0.5
        decision = decisions.get(default if threshold is None else threshold)
        if self.of_classes and not isinstance(decision, Argmax):
            raise ValueError(
                f"`threshold` must be None, 'argmax' or Argmax(...) for scores of the c x c matrix such as "
                f"{next(score.name for score in self.scores if score.of == 'classes')}. Received: threshold={threshold}"
            )
        if curves and isinstance(decision, Thresholds):
            # The order has no meaning, and must not decide about slopes where points coincide.
            return Thresholds(tuple(sorted(decision.thresholds)))
        return decision

    @without_autograph
    def totals(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Returns what is summed over samples, in float64.

        These are the cells of the batch, (4, thresholds, classes), or for scores of classes the counts, (classes,
        classes); with `per_sample` each score's weighted sum over sets and the weights' sum, (scores, 2, values).
        """
        data = self._data(y_true, y_pred, sample_weight)
        samples = data.samples if isinstance(data, Sets) else data
        self.decision.check(self.heaviside, samples.classes)
        totals = self._totals_of_sets(data) if isinstance(data, Sets) else self._matrix(data)
        explain(samples, totals)
        return totals

    @without_autograph
    def values(self, totals: Tensor) -> list[Tensor]:
        """Returns the scores, averaged over thresholds and classes, and with `per_sample` over samples."""
        if self.per_sample:
            return [
                total / ops.where(weight > 0, weight, 1.0) for total, weight in ops.unstack(totals, len(self.scores))
            ]
        if self.of_classes:
            return [self._value(score, MulticlassMatrix(totals)) for score in self.scores]
        cells = ConfusionMatrix.from_stacked(totals)
        with self._rows_in_order():
            return [scores.averaged(score, cells, self.average, self.zero_division) for score in self.scores]

    def every_threshold(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Returns the hard cells at every threshold that decides differently, which are not sums over batches."""
        samples = self._data(y_true, y_pred, sample_weight)
        totals = ranked(samples).cells.map(lambda cell: ops.flip(cell, 0)).stacked()  # rising thresholds
        explain(samples, totals)
        return totals

    def _data(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None) -> Any:
        prepare: Any = as_sets if self.per_sample else as_samples
        return prepare(
            y_true,
            y_pred,
            sample_weight,
            mask=getattr(y_pred, "_keras_mask", None),  # Keras leaves a layer's mask on the predictions
            from_logits=self.from_logits,
            ignore_class=self.ignore_class,
            rivals=self.decision.one_class_wins,
            whole_rows=self.of_classes,
        )

    def _matrix(self, samples: Samples) -> Tensor:
        if isinstance(self.decision, Argmax) and self.of_classes:
            return sum_counts(samples, self.decision, self.heaviside)
        return sum_cells(samples, self.decision, self.heaviside).stacked()

    def _value(self, score: Score, matrix: MulticlassMatrix) -> Tensor:
        if score.of == "cells":
            return scores.averaged(score, matrix.one_vs_rest(), self.average, self.zero_division)
        with scores.zero_division_as(1.0 if self.zero_division == 1 else 0.0):
            return score(matrix)

    def _totals_of_sets(self, sets: Sets) -> Tensor:
        def weighted(values: Tensor, defined: Tensor) -> Tensor:
            importance = ops.cast(sets.importance, "float64")
            importance = defined * (importance[:, None] if len(values.shape) == 2 else importance)
            return ops.stack([ops.sum(importance * values, 0), ops.sum(importance, 0)])

        if isinstance(self.decision, Argmax) and self.of_classes:
            counts = sum_counts(sets.samples, self.decision, self.heaviside)
            each = [ops.vectorized_map(lambda c, s=s: self._value(s, MulticlassMatrix(c)), counts) for s in self.scores]
            return ops.stack([weighted(values, ops.ones_like(values)) for values in each])
        cells = sum_cells_of_sets(sets.samples, self.decision, self.heaviside)
        with self._rows_in_order():
            pairs = [scores.averaged_sets(score, cells, self.average, self.zero_division) for score in self.scores]
        return ops.stack([weighted(*pair) for pair in pairs])

    def _rows_in_order(self) -> contextlib.AbstractContextManager[None]:
        thresholds = self.decision.thresholds if isinstance(self.decision, Thresholds) else ()
        return scores.rows_in_order(bool(thresholds) and list(thresholds) == sorted(thresholds))

    def config(self) -> dict[str, Any]:
        """Returns all arguments but the scores, in a form that Keras can write to a file."""
        return {
            "threshold": self.decision.config(),
            "heaviside": keras.saving.serialize_keras_object(self.heaviside),
            "average": list(self.average) if isinstance(self.average, tuple) else self.average,
            "from_logits": self.from_logits,
            "zero_division": self.zero_division,
            "per_sample": self.per_sample,
            "ignore_class": self.ignore_class,
        }

    def score_config(self) -> dict[str, Any]:
        """Returns the arguments that say which score it is."""
        (score,) = self.scores
        return {"score": saved_name(score), **score.parameters}

    def adds_up_with(self, other: Evaluation) -> bool:
        """Whether the totals of two evaluations may be added."""
        return self._kind_of_totals() == other._kind_of_totals()

    def _kind_of_totals(self) -> Any:
        of_sets = (self.average, self.zero_division, *map(repr, self.scores)) if self.per_sample else ()
        return (self.decision, self.heaviside.cache_key(), self.of_classes, self.per_sample, of_sets)


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
    average: AverageLike = "macro",
    from_logits: bool = False,
    zero_division: float | str = 0.0,
    per_sample: bool = False,
    ignore_class: int | None = None,
    **score_args: Any,
) -> Any:
    """Computes a score of predictions: the pure function behind losses and metrics.

    Args:
        y_true: Labels in [0, 1]: `(n,)` or `(..., classes)`, bool, integer or float. Or class ids, without the last
            axis of `y_pred`.
        y_pred: Probabilities of the same shape (up to a last axis of length 1), or logits.
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`.
            Defaults to `"f1"`.
        sample_weight: Weights that line up with `y_pred` from the left. Weight 2 equals two copies, weight 0 equals
            absence. Defaults to `None`.
        threshold: How probabilities become decisions: a number, a sequence over which the score is averaged,
            `"argmax"`, or a value such as `PerClass([0.2, 0.7])`, which `tune_threshold` returns for several classes.
            Defaults to `None`: 0.5; for areas under a curve, every threshold that decides differently; for scores of
            the c x c matrix, the argmax.
        heaviside: `"step"` (the usual score), `"linear"`, `"sigmoid"` or a `Heaviside`. Defaults to `"step"`.
        average: How the values of several classes become one: `"macro"` (mean), `"micro"` (cells summed over classes),
            `"weighted"` (by positives), a sequence of the classes' importances, or `None` for one value for each
            class. Defaults to `"macro"`.
        from_logits: Whether predictions are logits, of a sigmoid or, where the largest class wins, of a softmax.
            Defaults to `False`.
        zero_division: Value of a score that is 0 / 0: `0.0`, `1.0`, or `"ignore"` to leave it out of the average (a
            class that is absent, say). Defaults to `0.0`.
        per_sample: Whether every sample (image, sequence) is a set of its own, over which the score is averaged.
            Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
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
        >>> evaluate([0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]], threshold="argmax", average=None)
        array([0.66666667, 0.66666667])
    """
    evaluation = Evaluation(
        [score],
        threshold=threshold,
        heaviside=heaviside,
        average=average,
        from_logits=from_logits,
        zero_division=zero_division,
        per_sample=per_sample,
        ignore_class=ignore_class,
        **score_args,
    )
    exact = threshold is None and evaluation.scores[0].curve and not (evaluation.heaviside.differentiable or per_sample)
    totals = evaluation.every_threshold if exact else evaluation.totals
    (value,) = evaluation.values(totals(y_true, y_pred, sample_weight))
    if ops.is_tensor(y_pred):
        return ops.cast(value, keras.config.floatx())
    array = np.asarray(ops.convert_to_numpy(value))
    return array if array.ndim else float(array)
