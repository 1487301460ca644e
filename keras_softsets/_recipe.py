"""What a loss and a metric have in common: a score, thresholds, an approximation, and how classes are averaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_softsets import heaviside as heavisides
from keras_softsets import scores
from keras_softsets._inputs import Tensor, as_samples, as_thresholds, check_choice
from keras_softsets.confusion import ConfusionMatrix, cells_of

ScoreLike = str | scores.Score | Callable[[ConfusionMatrix], Tensor]
HeavisideLike = heavisides.HeavisideLike
ThresholdLike = float | Sequence[float]


class Recipe:
    """From labels and predictions to cells, and from cells to the averaged score; checks its arguments."""

    def __init__(
        self,
        score: ScoreLike,
        threshold: ThresholdLike,
        heaviside: HeavisideLike,
        average: str | None,
        from_logits: bool,
        score_args: dict[str, Any],
    ) -> None:
        self.score = scores.get(score, **score_args)
        self.thresholds = as_thresholds(threshold)
        if self.score.curve:  # the order has no meaning, and must not decide about slopes where points coincide
            self.thresholds = tuple(sorted(self.thresholds))
        self.heaviside = heavisides.get(heaviside)
        self.average = check_choice("average", average, scores.AVERAGES)
        self.from_logits = bool(from_logits)

    def cells(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None, dtype: str) -> ConfusionMatrix:
        """The batch's cells; Keras leaves a layer's mask on the predictions."""
        mask = getattr(y_pred, "_keras_mask", None)
        samples = as_samples(y_true, y_pred, sample_weight, mask=mask, from_logits=self.from_logits)
        return cells_of(samples, self.thresholds, self.heaviside, dtype=dtype)

    def value(self, cells: ConfusionMatrix) -> Tensor:
        """The score, averaged over thresholds and classes."""
        return scores.averaged(self.score, cells, self.average)

    def config(self) -> dict[str, Any]:
        """The arguments, in a form that Keras can write to a file."""
        if not self.score.registered:
            raise ValueError(
                "A score must be registered to be saved: decorate the function with @keras_softsets.score. "
                f"Received: score={self.score.function!r}"
            )
        return {
            "score": self.score.name,
            "threshold": self.thresholds[0] if len(self.thresholds) == 1 else list(self.thresholds),
            "heaviside": keras.saving.serialize_keras_object(self.heaviside),
            "average": self.average,
            "from_logits": self.from_logits,
            **self.score.parameters,
        }
