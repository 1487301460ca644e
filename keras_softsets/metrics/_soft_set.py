"""The metric of any score, and the base of the named metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from keras import ops

from keras_softsets._adapters import registered
from keras_softsets._backend import Tensor
from keras_softsets._checks import Average, ZeroDivision, refuse_positional
from keras_softsets._evaluation import Evaluation
from keras_softsets.decisions import PerClass
from keras_softsets.decisions._decision import DecisionLike, is_threshold
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.metrics._base import CellsMetric
from keras_softsets.operating import thresholds_among, thresholds_of
from keras_softsets.scores._registry import ScoreLike, resolve

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

    from keras_softsets._adapters import ScoreParameters

register = registered("keras_softsets>metrics", module="keras_softsets.metrics")


@register
class SoftSetMetric(CellsMetric):
    """Metric for any score of the confusion matrix.

    Args:
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`.
        threshold: How probabilities become decisions: a number in [0, 1], a sequence over which the score is
            averaged, `"argmax"`, or a value such as `PerClass([0.2, 0.7])`; see `keras_softsets.decisions`. Defaults to
            `None`: 0.5; the argmax for scores of the c x c matrix; for areas under a curve every distinct threshold
            (exact up to 16,384 samples, within about 1e-4 beyond, average precision 1e-3; if `heaviside` is soft, 0.01,
            0.02, ..., 0.99 and nine more towards each end).
        heaviside: `"step"` (the usual metric), `"linear"`, `"sigmoid"` or a `Heaviside`. Defaults to `"step"`.
        average: How the values of several classes become one: `"macro"` (mean), `"micro"` (cells summed over classes),
            `"weighted"` (by positives), a sequence of the classes' importances, `"samples"` (`"micro"`
            of each sample: `per_sample=True`), or `None` for one value for each
            class. Scores of the c x c matrix have one value anyway. Defaults to `"macro"`.
        from_logits: Whether predictions are logits, of a sigmoid or, where the largest class wins, of a softmax.
            Defaults to `False`.
        zero_division: Value of a score that is 0 / 0: `0.0`, `1.0`, or `"ignore"` to leave it out of the average (for
            a class that is absent). Defaults to `0.0`.
        per_sample: Whether each sample (image, sequence) is scored as a separate set and the scores are averaged.
            Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
        class_names: Names of the classes, for `average=None`: the result is then a dict of numbers with the keys
            `f1_cat`, `f1_dog` and so on, as callbacks such as TensorBoard and EarlyStopping need them. Defaults to
            `None`: an array.
        name: Name of the metric. Defaults to `None`, the name of the score.
        dtype: Type of the result. Defaults to `None`, floatx.
        **score_args: Parameters of the score, such as `beta=2`.

    Examples:
        >>> metric = SoftSetMetric("f_beta", beta=2)
        >>> metric.update_state([0, 1], [0.6, 0.4])
        >>> metric.update_state([1, 1], [0.7, 0.9], sample_weight=[2, 1])
        >>> round(float(metric.result()), 4)
        0.75
    """

    def __init__(
        self,
        score: ScoreLike,
        *,
        threshold: DecisionLike | None = None,
        heaviside: HeavisideLike = "step",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        per_sample: bool = False,
        ignore_class: int | None = None,
        class_names: Sequence[str] | None = None,
        name: str | None = None,
        dtype: Any = None,
        **score_args: Unpack[ScoreParameters],
    ) -> None:
        evaluation = Evaluation(
            [resolve(score, score_args, type(self))],
            threshold=threshold,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            zero_division=zero_division,
            per_sample=per_sample,
            ignore_class=ignore_class,
        )
        name = name or evaluation.scores[0].name
        super().__init__(evaluation, name=name, dtype=dtype, class_names=class_names)

    def result(self) -> Tensor | dict[str, Tensor]:
        """Returns the score of everything since the last reset, by class if these have names; 0 before any batch."""
        (value,) = [ops.zeros(())] if self._empty else self._values()
        named = self._named(self.name, value)
        return named if self.class_names else named[self.name]

    def threshold(self) -> float | PerClass | tuple[float | PerClass, ...]:
        """Returns the threshold of an operating point, which gives exactly the result and suits `export_classifier`.

        It is a float, or a `PerClass` for several classes; for several rates, a tuple of these. If no threshold meets
        the rate, it is `inf`, with which nothing is positive.
        """
        decision, score = self.evaluation.decision, self.evaluation.scores[0]
        if not decision.rates or self._kept is None:
            raise ValueError(
                "`threshold()` must be called on a metric at an operating point, after the first batch. "
                f"Received: threshold={decision!r}{' and no batch' if self._kept is None else ''}"
            )
        found = self._kept.choose(
            lambda samples: thresholds_among(score, samples, decision),
            lambda bins, weights: thresholds_of(score, bins, weights, decision),
        )
        each = tuple(float(row[0]) if len(row) == 1 else PerClass(row) for row in found)
        return each[0] if len(each) == 1 else each

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return {**self.evaluation.score_config(), **super().get_config()}


class NamedMetric(SoftSetMetric):
    """A `SoftSetMetric` whose class determines the score; otherwise takes the same arguments.

    Attributes:
        score_name: The score.
    """

    score_name: ClassVar[str]

    def __init__(
        self,
        *positional: Never,
        threshold: DecisionLike | None = None,
        heaviside: HeavisideLike = "step",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        per_sample: bool = False,
        ignore_class: int | None = None,
        class_names: Sequence[str] | None = None,
        name: str | None = None,
        dtype: Any = None,
        **score_args: Never,
    ) -> None:
        refuse_positional(type(self), positional, is_threshold)
        super().__init__(
            self.score_name,
            threshold=threshold,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            zero_division=zero_division,
            per_sample=per_sample,
            ignore_class=ignore_class,
            class_names=class_names,
            name=name,
            dtype=dtype,
            **score_args,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return {name: value for name, value in super().get_config().items() if name != "score"}
