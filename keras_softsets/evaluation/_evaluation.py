"""The path from labels and predictions to the value of a score, which losses, metrics and `evaluate` share."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from keras_softsets import _operating, decisions, scores
from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor, without_autograph
from keras_softsets._checks import check_whole_number
from keras_softsets._inputs import Sets, as_samples, as_sets
from keras_softsets._ranked import ranked
from keras_softsets._samples import Samples, explain
from keras_softsets.confusion import ConfusionMatrix, sum_cells_of_sets, sum_stacked_cells
from keras_softsets.decisions import Argmax, AtRate, DecisionLike, Thresholds
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.multiclass import MulticlassMatrix, sum_counts
from keras_softsets.scores import Score

ScoreLike = str | Score | Callable[[Any], Tensor]
AverageLike = str | Sequence[float] | None
PAPER_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# Hundredths, and powers of ten near the ends: set losses saturate, and without points there the area is too small.
_ENDS = [10 ** (-k / 2) for k in range(13, 4, -1)]
CURVE_THRESHOLDS = (*_ENDS, *(k / 100 for k in range(1, 100)), *(1 - end for end in reversed(_ENDS)))


class Evaluation:
    """One or several scores of one confusion matrix, with all their settings; checks its arguments.

    The path has two halves. `totals` are sums over samples, which may be added up over batches and replicas; `values`
    are the scores of the totals, wherever these were added up.

    Args:
        named: The scores, by name, as values or as functions.
        threshold: The decision; `None` is 0.5, `curve` for a curve score, and the argmax for scores of classes.
        heaviside: The approximation.
        average: How the values of several classes become one.
        from_logits: Whether predictions are logits.
        zero_division: Value of 0 / 0.
        per_sample: Whether each sample is a separate set.
        ignore_class: Class id that does not count.
        curve: Thresholds of a curve score if none are given.
        **score_args: Parameters of the only score.
    """

    def __init__(
        self,
        named: Sequence[ScoreLike],
        /,
        *,
        threshold: DecisionLike | None = None,
        heaviside: HeavisideLike = "step",
        average: AverageLike = "macro",
        from_logits: bool = False,
        zero_division: float | str = 0.0,
        per_sample: bool = False,
        ignore_class: int | None = None,
        curve: Sequence[float] = CURVE_THRESHOLDS,
        **score_args: Any,
    ) -> None:
        self.scores = tuple(scores.get(score, **score_args) for score in named)
        self.of_classes = any(score.of == "classes" for score in self.scores)
        self.decision, self._default = self._decision(threshold, curve), self._decision(None, curve)
        self.heaviside = heavisides.get(heaviside)
        self.decision.check(self.heaviside)
        self.average = scores.check_average(average)
        self.from_logits = bool(from_logits)
        self.zero_division = scores.check_zero_division(zero_division)
        self.per_sample = bool(per_sample)
        self._check_mixture()
        if isinstance(self.decision, AtRate):
            self.decision.check_use(self.scores, self.per_sample)
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
            # The order has no meaning, and must not determine slopes where points coincide.
            return Thresholds(tuple(sorted(decision.thresholds)))
        return decision

    def _check_mixture(self) -> None:
        if self.per_sample and self.average is None and len({score.of for score in self.scores}) == 2:
            raise ValueError(
                "`average` must not be None if each sample is a set and scores of the c x c matrix, which have one "
                f"value for all classes, are mixed with others. Received: scores={list(self.scores)}"
            )

    @without_autograph
    def totals(
        self,
        y_true: Tensor,
        y_pred: Tensor,
        sample_weight: Tensor | None = None,
        *,
        gather: Callable[[Samples], Samples] | None = None,
    ) -> Tensor:
        """Returns what is summed over samples, in float64.

        * the cells of the batch, (4, thresholds, classes), or for scores of classes the counts, (classes, classes);
        * with `per_sample`, each score's weighted sum over sets and the sum of the weights, (scores, 2, values);
        * at an operating point, the totals of `_operating.totals`, for which `gather` collects the samples of all
          replicas.
        """
        return self.totals_of(self.data(y_true, y_pred, sample_weight), gather=gather)

    @without_autograph
    def totals_of(self, data: Any, **options: Any) -> Tensor:
        """Returns the totals of what `data` returned; the options are those of `_operating.totals`."""
        samples = data.samples if isinstance(data, Sets) else data
        self.decision.check(self.heaviside, samples.classes)
        if isinstance(self.decision, AtRate):
            totals = _operating.totals(samples, self.decision, self.heaviside, **options)
        else:
            totals = self._totals_of_sets(data) if isinstance(data, Sets) else self._matrix(data)
        explain(samples, totals)
        return totals

    @without_autograph
    def values(self, totals: Tensor) -> list[Tensor]:
        """Returns the scores, averaged over thresholds, classes and, with `per_sample`, samples."""
        if isinstance(self.decision, AtRate):
            settings = (self.decision, self.average, self.zero_division)
            return [_operating.value(score, totals, self.heaviside, *settings) for score in self.scores]
        if self.per_sample:
            sums, weights = totals[:, 0], totals[:, 1]
            return ops.unstack(sums / ops.where(ops.equal(weights, 0), 1.0, weights), len(self.scores))
        if self.of_classes:
            return [self._value(score, MulticlassMatrix(totals)) for score in self.scores]
        cells = ConfusionMatrix.from_stacked(totals)
        with self._rows_in_order():
            return [scores.averaged(score, cells, self.average, self.zero_division) for score in self.scores]

    @without_autograph
    def values_at_points(self, samples: Samples) -> list[Tensor]:
        """Returns the scores at an operating point of samples that are all available at once."""
        settings: Any = (self.heaviside, self.decision, self.average, self.zero_division)
        return [_operating.value_of_samples(score, samples, *settings) for score in self.scores]

    def every_threshold(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Returns the hard cells at every threshold that decides differently; these cannot be summed over batches."""
        samples = self.data(y_true, y_pred, sample_weight)
        if samples.prediction.shape[0] == 0:
            return ops.zeros((4, 1, samples.classes), "float64")
        totals = ranked(samples).cells.map(lambda cell: ops.flip(cell, 0)).stacked()  # rising thresholds
        explain(samples, totals)
        return totals

    @without_autograph
    def data(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Any:
        """Returns `Samples`, or `Sets` with `per_sample`."""
        prepare: Any = as_sets if self.per_sample else as_samples
        return prepare(
            y_true,
            y_pred,
            sample_weight,
            mask=getattr(y_pred, "_keras_mask", None),  # Keras attaches a layer's mask to the predictions
            from_logits=self.from_logits,
            ignore_class=self.ignore_class,
            rivals=self.decision.one_class_wins,
            whole_rows=self.of_classes,
        )

    def _matrix(self, samples: Samples) -> Tensor:
        if self.of_classes:
            return sum_counts(samples, self.decision, self.heaviside)
        return sum_stacked_cells(samples, self.decision, self.heaviside)

    def _value(self, score: Score, matrix: MulticlassMatrix) -> Tensor:
        if score.of == "cells":
            return scores.averaged(score, matrix.one_vs_rest(), self.average, self.zero_division)
        return scores.of_matrix(score, matrix, self.zero_division)[0]

    def _totals_of_sets(self, sets: Sets) -> Tensor:
        def weighted(values: Tensor, defined: Tensor) -> Tensor:
            importance = ops.cast(sets.importance, "float64")
            importance = defined * (importance[:, None] if len(values.shape) == 2 else importance)
            return ops.stack([ops.sum(importance * values, 0), ops.sum(importance, 0)])

        return ops.stack([weighted(*pair) for pair in self._values_of_sets(sets.samples)])

    def _values_of_sets(self, samples: Samples) -> list[tuple[Tensor, Tensor]]:
        """Each score of each set, and whether it is defined."""
        kinds = {score.of for score in self.scores}
        cells: Any = sum_cells_of_sets(samples, self.decision, self.heaviside) if "cells" in kinds else None
        counts: Any = sum_counts(samples, self.decision, self.heaviside) if "classes" in kinds else None
        with self._rows_in_order():
            return [
                scores.averaged_sets(score, cells, self.average, self.zero_division)
                if score.of == "cells"
                else scores.of_matrices(score, counts, self.zero_division)
                for score in self.scores
            ]

    def _rows_in_order(self) -> contextlib.AbstractContextManager[None]:
        thresholds = self.decision.thresholds if isinstance(self.decision, Thresholds) else ()
        return scores.rows_in_order(bool(thresholds) and list(thresholds) == sorted(thresholds))

    def config(self) -> dict[str, Any]:
        """Returns all arguments except the scores, in a form that Keras can save."""
        saved = {
            "threshold": self.decision.config(),
            "heaviside": keras.saving.serialize_keras_object(self.heaviside),
        }
        return {**self.arguments(), **saved}

    def arguments(self) -> dict[str, Any]:
        """Returns all arguments except the scores, as a user would write them; the default threshold is `None`."""
        return {
            "threshold": None if self.decision == self._default else decisions.written(self.decision),
            "heaviside": heavisides.written(self.heaviside),
            "average": list(self.average) if isinstance(self.average, tuple) else self.average,
            "from_logits": self.from_logits,
            "zero_division": self.zero_division,
            "per_sample": self.per_sample,
            "ignore_class": self.ignore_class,
        }

    def score_config(self) -> dict[str, Any]:
        """Returns the arguments that identify the score."""
        (score,) = self.scores
        return {"score": saved_name(score), **score.parameters}

    def adds_up_with(self, other: Evaluation) -> bool:
        """Whether the totals of two evaluations can be added."""
        return self._kind_of_totals() == other._kind_of_totals()

    def _kind_of_totals(self) -> Any:
        of_sets = (self.average, self.zero_division, *map(repr, self.scores)) if self.per_sample else ()
        return (self.decision, self.heaviside.cache_key(), self.of_classes, self.per_sample, of_sets)


def saved_name(score: Score) -> str:
    """Returns the name under which a saved score is found."""
    if not score.registered:
        raise ValueError(
            "A score must be registered to be saved: decorate the function with @keras_softsets.score. "
            f"Received: score={score.function!r}"
        )
    return score.name
