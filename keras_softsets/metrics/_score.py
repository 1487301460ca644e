"""The metric of any score, and the base of the named metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keras import ops

from keras_softsets._adapters import NamedScore, registered
from keras_softsets._backend import Tensor
from keras_softsets._operating import thresholds_among, thresholds_of
from keras_softsets.decisions import AtRate, PerClass
from keras_softsets.evaluation import Evaluation, ScoreLike
from keras_softsets.metrics._cells import CellsMetric

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from keras_softsets._adapters import Options

register = registered("keras_softsets>metrics", module="keras_softsets.metrics")


@register
class SoftSetMetric(CellsMetric):
    """Metric for any score of the confusion matrix.

    Args:
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`.
        threshold: How probabilities become decisions: a number in [0, 1], a sequence over which the score is
            averaged, `"argmax"`, or a value such as `PerClass([0.2, 0.7])`; see `keras_softsets.decisions`. Defaults to
            `None`: 0.5; the argmax for scores of the c x c matrix; for areas under a curve 0.01, 0.02, ..., 0.99 and
            nine more towards each end.
        heaviside: `"step"` (the usual metric), `"linear"`, `"sigmoid"` or a `Heaviside`. Defaults to `"step"`.
        average: How the values of several classes become one: `"macro"` (mean), `"micro"` (cells summed over classes),
            `"weighted"` (by positives), a sequence of the classes' importances, or `None` for one value for each
            class. Defaults to `"macro"`.
        from_logits: Whether predictions are logits, of a sigmoid or, where the largest class wins, of a softmax.
            Defaults to `False`.
        zero_division: Value of a score that is 0 / 0: `0.0`, `1.0`, or `"ignore"` to leave it out of the average (for
            a class that is absent). Defaults to `0.0`.
        per_sample: Whether each sample (image, sequence) is scored as a separate set and the scores are averaged.
            Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
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
        name: str | None = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        evaluation = Evaluation([score], **options)
        super().__init__(evaluation, name=name or evaluation.scores[0].name, dtype=dtype)

    def result(self) -> Tensor:
        """Returns the score of everything since the last reset; 0 before the first batch."""
        if self._totals is None:
            return ops.zeros((), dtype=self.dtype)
        (value,) = self._values()
        return ops.cast(value, self.dtype)

    def threshold(self) -> float | PerClass | tuple[float | PerClass, ...]:
        """Returns the threshold of an operating point, which gives exactly the result and suits `export_classifier`.

        It is a float, or a `PerClass` for several classes; for several rates, a tuple of these. If no threshold meets
        the rate, it is `inf`, with which nothing is positive.
        """
        decision, score = self.evaluation.decision, self.evaluation.scores[0]
        if not isinstance(decision, AtRate) or self._totals is None:
            raise ValueError(
                "`threshold()` must be called on a metric at an operating point, after the first batch. "
                f"Received: threshold={decision!r}{' and no batch' if self._totals is None else ''}"
            )
        if self._first is not None and bool(self._first.complete()):
            found = thresholds_among(score, self._first.samples(), decision)
        else:
            found = thresholds_of(score, ops.convert_to_tensor(self._totals), decision)
        each = tuple(float(row[0]) if len(row) == 1 else PerClass(row) for row in found)
        return each[0] if len(each) == 1 else each

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return {**self.evaluation.score_config(), **super().get_config()}


class NamedMetric(NamedScore, SoftSetMetric):
    """A `SoftSetMetric` whose class determines the score; otherwise takes the same arguments."""

    def __init__(self, **options: Unpack[Options]) -> None:
        super().__init__(self.score_name, **options)
