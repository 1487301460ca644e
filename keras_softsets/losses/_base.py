"""The loss of any score, and the base of the named losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import keras
from keras import ops

from keras_softsets import _backend
from keras_softsets._adapters import Shown, registered
from keras_softsets._backend import Tensor, untraced
from keras_softsets._checks import Average, ZeroDivision, refuse_positional
from keras_softsets._evaluation import PAPER_THRESHOLDS, Evaluation
from keras_softsets.decisions._decision import DecisionLike, is_threshold
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.samples import explain_in_graph
from keras_softsets.scores._registry import ScoreLike, resolve

if TYPE_CHECKING:
    from typing_extensions import Never, Unpack

    from keras_softsets._adapters import ScoreParameters

register = registered("keras_softsets", module="keras_softsets.losses")


@register
class SoftSetLoss(Shown, keras.losses.Loss):
    """Loss 1 - score for any score of the confusion matrix.

    Formula: `loss = 1 - score(TP, FP, FN, TN)`, with the cells summed over the whole (global) batch. It has no
    gradient with respect to labels and weights.

    Args:
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`.
        threshold: How probabilities become decisions: a number inside (0, 1), a sequence over which the score is
            averaged, `"argmax"`, or a value such as `PerClass([0.2, 0.7])`; see `keras_softsets.decisions`. Defaults to
            `None`: 0.5; the argmax for scores of the c x c matrix; for areas under a curve 0.1, 0.2, ..., 0.9.
        heaviside: `"linear"`, `"sigmoid"` or a `Heaviside`; not for an argmax, which has a `temperature` instead.
            Defaults to `"linear"`.
        average: How the values of several classes become one: `"macro"` (mean), `"micro"` (cells summed over classes),
            `"weighted"` (by positives), a sequence of the classes' importances, `"samples"` (`"micro"`
            of each sample: `per_sample=True`), or `None` (left to `reduction`).
            Scores of the c x c matrix have one value anyway. Defaults to `"macro"`.
        from_logits: Whether predictions are logits, of a sigmoid or, where the largest class wins, of a softmax.
            Defaults to `False`.
        zero_division: Value of a score that is 0 / 0: `0.0`, `1.0`, or `"ignore"` to leave it out of the average (for
            a class that is absent). Defaults to `0.0`.
        per_sample: Whether each sample (image, sequence) is scored as a separate set and the scores are averaged.
            Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
        reduction: How the classes' losses are reduced if `average=None`: to their mean, to their `"sum"`, or not at all
            with `None`. It has no effect otherwise, because a set loss is one number. Defaults to
            `"sum_over_batch_size"`.
        name: Name of the loss. Defaults to `None`: `soft_` and the name of the score.
        dtype: Type of the result; it is computed from float32, whatever the model's dtype. Defaults to `None`, floatx.
        **score_args: Parameters of the score, such as `beta=2`.

    Examples:
        >>> loss = SoftSetLoss("f_beta", beta=2)
        >>> round(float(loss([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.3143

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367)
    """

    name_prefix = "soft_"

    def __init__(
        self,
        score: ScoreLike,
        *,
        threshold: DecisionLike | None = None,
        heaviside: HeavisideLike = "linear",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        per_sample: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **score_args: Unpack[ScoreParameters],
    ) -> None:
        self.evaluation = Evaluation(
            [resolve(score, score_args, type(self))],
            threshold=threshold,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            zero_division=zero_division,
            per_sample=per_sample,
            ignore_class=ignore_class,
            curve=PAPER_THRESHOLDS,
        )
        default_name = self.name_prefix + self.evaluation.scores[0].name
        super().__init__(name=name or default_name, reduction=reduction, dtype=dtype)
        if not self.evaluation.heaviside.differentiable:
            raise ValueError(
                "`heaviside` of a loss must be differentiable; the step is for metrics. "
                f"Received: heaviside={self.evaluation.heaviside!r}"
            )

    @untraced
    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Computes the loss of the global batch, divided by the number of replicas.

        This replaces Keras's method (3.15.1), which multiplies the finished loss by weights and masks: for a set loss
        that would only change its scale and leave the cells unchanged.
        """
        with keras.name_scope(self.name):
            totals = self.global_totals(y_true, y_pred, sample_weight)
            return ops.cast(self.of_totals(totals) / _backend.replica_count(), self.dtype)

    def global_totals(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """The totals of the batch over all replicas, in float64: scores do not depend on the order of the samples."""
        samples = self.evaluation.samples(y_true, y_pred, sample_weight)
        totals = self.evaluation.sum(samples)
        explain_in_graph(samples, totals)
        return _backend.sum_over_replicas(totals)

    def of_totals(self, totals: Tensor) -> Tensor:
        """The loss of totals, wherever they were summed."""
        (value,) = self.evaluation.values(totals)
        return self.of_value(value)

    def of_value(self, value: Tensor) -> Tensor:
        """The loss that belongs to a value of the score."""
        return self._reduced(1 - value)

    @property
    def from_logits(self) -> bool:
        """Whether predictions are logits."""
        return self.evaluation.from_logits

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Computes the loss without weights."""
        return self(y_true, y_pred)

    def _reduced(self, loss: Tensor) -> Tensor:
        if self.reduction in (None, "none") or len(loss.shape) == 0:
            return loss
        return ops.sum(loss) if self.reduction == "sum" else _backend.mean(loss)

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "reduction": self.reduction}

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the loss."""
        ours = {**self.evaluation.score_config(), **self.evaluation.config()}
        return {**ours, **super().get_config(), "dtype": self.dtype}  # Keras (3.15.1) omits dtype


class NamedLoss(SoftSetLoss):
    """A `SoftSetLoss` whose class determines the score; otherwise takes the same arguments.

    Attributes:
        score_name: The score.
    """

    score_name: ClassVar[str]

    def __init__(
        self,
        *positional: Never,
        threshold: DecisionLike | None = None,
        heaviside: HeavisideLike = "linear",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        per_sample: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
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
            reduction=reduction,
            name=name,
            dtype=dtype,
            **score_args,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the loss."""
        return {name: value for name, value in super().get_config().items() if name != "score"}
