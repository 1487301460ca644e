"""The settings that losses, metrics and `evaluate` share: they are checked, and pick the kind of totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_softsets import _totals, decisions
from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor, mask_of, untraced
from keras_softsets._checks import (
    Average,
    ZeroDivision,
    check_average,
    check_flag,
    check_whole_number,
    check_zero_division,
)
from keras_softsets._inputs import as_samples, as_sets
from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.heaviside import Heaviside, HeavisideLike, LinearHeaviside
from keras_softsets.samples import Samples, explain
from keras_softsets.scores import Score
from keras_softsets.scores._registry import at_argmax

PAPER_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# Hundredths, and powers of ten near the ends: set losses saturate, and without points there the area is too small.
_ENDS = [10 ** (-k / 2) for k in range(13, 4, -1)]
CURVE_THRESHOLDS = (*_ENDS, *(k / 100 for k in range(1, 100)), *(1 - end for end in reversed(_ENDS)))


class Evaluation:
    """The settings that losses, metrics and `evaluate` share: checks them, and picks the kind of totals.

    Args:
        scores: The scores of one matrix.
        threshold: The decision; `None` is 0.5, `curve` for a curve score, and the argmax for scores of classes.
        heaviside: The approximation.
        average: How the values of several classes become one; `"samples"` is `"micro"` with `per_sample`.
        from_logits: Whether predictions are logits.
        zero_division: Value of 0 / 0.
        per_sample: Whether each sample is a separate set.
        ignore_class: Class id that does not count.
        curve: Thresholds of a curve score if none are given.
    """

    def __init__(
        self,
        scores: Sequence[Score],
        *,
        threshold: DecisionLike | None = None,
        heaviside: HeavisideLike = "step",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        per_sample: bool = False,
        ignore_class: int | None = None,
        curve: Sequence[float] = CURVE_THRESHOLDS,
    ) -> None:
        self.scores = tuple(scores)
        self.decision = self._decision(threshold, curve)
        self.scores = tuple(map(at_argmax, self.scores)) if self.decision.argmax else self.scores
        self._default = self._decision(None, curve)
        self.heaviside = self._heaviside(heaviside)
        self.decision.check(self.heaviside)
        if isinstance(average, str) and average == "samples":  # scikit-learn's word for the classes of each sample
            average, per_sample = "micro", True
        self.average = check_average(average)
        self.from_logits = check_flag("from_logits", from_logits)
        self.zero_division = check_zero_division(zero_division)
        self.per_sample = check_flag("per_sample", per_sample)
        self.ignore_class = (
            None if ignore_class is None else check_whole_number("ignore_class", ignore_class, -(2**31), 2**31)
        )
        self.decision.check_use(self.scores, self.per_sample)
        self.totals = self._totals(threshold is None)

    def _decision(self, threshold: DecisionLike | None, curve: Sequence[float]) -> decisions.Decision:
        curves, of_classes = any(score.curve for score in self.scores), self._score_of_classes()
        default: DecisionLike = "argmax" if of_classes else curve if curves else 0.5
        decision = decisions.get(default if threshold is None else threshold)
        if of_classes and not decision.argmax:
            raise ValueError(
                f"`threshold` must be None, 'argmax' or Argmax(...) for scores of the c x c matrix such as "
                f"{of_classes.name}. Received: threshold={threshold}"
            )
        return decision.in_order() if curves else decision

    @property
    def c_x_c(self) -> bool:
        """Whether a score needs the c x c matrix."""
        return self._score_of_classes() is not None

    def _score_of_classes(self) -> Score | None:
        return next((score for score in self.scores if score.of == "classes"), None)

    def _heaviside(self, heaviside: HeavisideLike) -> Heaviside:
        found = heavisides.get(heaviside)
        if isinstance(heaviside, dict) and self.decision.argmax and found.differentiable:
            return LinearHeaviside()  # saved when any other had no effect; now it would be refused
        return found

    def _totals(self, default: bool) -> Any:
        """The kind of totals. Areas through thresholds of the data are hard, and have no other threshold."""
        every = default and not self.heaviside.differentiable and all(score.curve for score in self.scores)
        settings = (self.decision, self.heaviside, self.average, self.zero_division)
        if self.per_sample:
            self._check_mixture()
            return _totals.PerSet(*settings, self.scores, every)
        if self.decision.rates:
            return _totals.AtRate(*settings)
        if self.c_x_c:
            return _totals.Counts(*settings)
        return _totals.EveryThreshold(*settings) if every else _totals.Cells(*settings)

    def _check_mixture(self) -> None:
        if self.average is None and len({score.of for score in self.scores}) == 2:
            raise ValueError(
                "`average` must not be None if each sample is a set and scores of the c x c matrix, which have one "
                f"value for all classes, are mixed with others. Received: scores={list(self.scores)}"
            )

    @untraced
    def samples(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Samples:
        """Returns a batch as tensors of (samples, classes), or with `per_sample` of (sets, elements, classes)."""
        prepare: Any = as_sets if self.per_sample else as_samples
        samples = prepare(
            y_true,
            y_pred,
            sample_weight,
            mask=mask_of(y_pred),  # Keras attaches a layer's mask to the predictions
            from_logits=self.from_logits,
            ignore_class=self.ignore_class,
            argmax=self.decision.argmax,
            c_x_c=self.c_x_c,
        )
        self.decision.check(self.heaviside, samples.classes)
        return samples

    @untraced
    def sum(self, samples: Samples) -> Tensor:
        """Returns the totals of a batch; an eager one with invalid values raises the reason."""
        totals = self.totals.sum(samples)
        explain(samples, totals)
        return totals

    @untraced
    def values(self, totals: Tensor) -> list[Tensor]:
        """Returns the scores of totals, wherever these were added up."""
        return [self.totals.value(score, totals) for score in self.scores]

    @untraced
    def values_of(self, samples: Samples) -> list[Tensor]:
        """Returns the scores of samples that are all available at once."""
        if self.totals.bits is None:
            return self.values(self.sum(samples))
        values = [self.totals.of_samples(score, samples) for score in self.scores]
        explain(samples, values[0])
        return values

    def config(self) -> dict[str, Any]:
        """Returns all arguments except the scores, in a form that Keras can save."""
        saved = {
            "threshold": None if self._every_threshold else self.decision.config(),
            "heaviside": keras.saving.serialize_keras_object(self.heaviside),
        }
        return {**self.arguments(), **saved}

    def arguments(self) -> dict[str, Any]:
        """Returns all arguments except the scores, as a user would write them; the default threshold is `None`."""
        return {
            "threshold": None if self._has_default_threshold() else self.decision.written(),
            "heaviside": heavisides.written(self.heaviside),
            "average": list(self.average) if isinstance(self.average, tuple) else self.average,
            "from_logits": self.from_logits,
            "zero_division": self.zero_division,
            "per_sample": self.per_sample,
            "ignore_class": self.ignore_class,
        }

    @property
    def _every_threshold(self) -> bool:
        return isinstance(self.totals, _totals.EveryThreshold) or getattr(self.totals, "every_threshold", False)

    def _has_default_threshold(self) -> bool:
        hard_curves = not self.heaviside.differentiable and all(score.curve for score in self.scores)
        return self._every_threshold if hard_curves else self.decision == self._default

    def score_config(self) -> dict[str, Any]:
        """Returns the arguments that identify the score."""
        (score,) = self.scores
        return score.config()
