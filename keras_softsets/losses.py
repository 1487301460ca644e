"""Losses: 1 - score of the soft confusion matrix of the batch, over all replicas.

Any score in `keras_softsets.scores`, or a function of your own, becomes a loss through `SoftSetLoss`; the common ones
have a class. Weights, `class_weight` and masks enter the cells, never the finished loss.
"""

from __future__ import annotations

from typing import Any, ClassVar

import keras
from keras import ops

from keras_softsets import _replicas
from keras_softsets._inputs import Tensor
from keras_softsets._recipe import HeavisideLike, Recipe, ScoreLike, ThresholdLike

PAPER_THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

_register = keras.saving.register_keras_serializable(package="keras_softsets")


@_register
class SoftSetLoss(keras.losses.Loss):
    """Loss 1 - score for any score of the confusion matrix.

    Formula: `loss = 1 - score(TP, FP, FN, TN)`, with the cells summed over the whole (global) batch. Not differentiable
    in labels and weights.

    Args:
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`.
        threshold: Where a probability turns positive, inside (0, 1); for a sequence the score is averaged over it.
            Defaults to `0.5`.
        heaviside: `"linear"`, `"sigmoid"` or a `Heaviside`. Defaults to `"linear"`.
        average: How the values of several classes become one: `"macro"` (mean), `"micro"` (cells summed over classes),
            `"weighted"` (by positives) or `None` (left to `reduction`). Defaults to `"macro"`.
        from_logits: Whether predictions are logits, to which a sigmoid is applied. Defaults to `False`.
        reduction: What becomes of the classes' losses if `average=None`: their mean, their `"sum"`, or with `None` all
            of them. Without effect otherwise, for the loss of a set is one number. Defaults to
            `"sum_over_batch_size"`.
        name: Name of the loss. Defaults to `None`, the name of the score after `soft_`.
        dtype: Type of the result; the computation is in float32 whatever the model's. Defaults to `None`, floatx.
        **score_args: Parameters of the score, such as `beta=2`.

    Examples:
        >>> loss = SoftSetLoss("f_beta", beta=2)
        >>> round(float(loss([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.3143

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367)
    """

    def __init__(
        self,
        score: ScoreLike,
        *,
        threshold: ThresholdLike = 0.5,
        heaviside: HeavisideLike = "linear",
        average: str | None = "macro",
        from_logits: bool = False,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **score_args: Any,
    ) -> None:
        self.recipe = Recipe(score, threshold, heaviside, average, from_logits, score_args)
        super().__init__(name=name or f"soft_{self.recipe.score.name}", reduction=reduction, dtype=dtype)
        if not self.recipe.heaviside.differentiable:
            raise ValueError(
                "`heaviside` of a loss must have a slope, or nothing is learnt; the step is for metrics. "
                f"Received: heaviside={self.recipe.heaviside!r}"
            )

    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Computes the loss of the global batch, divided by the number of replicas.

        Keras (3.15.1) multiplies the finished loss by weights and masks, which for the loss of a set changes its scale
        and leaves the cells as they were; so this replaces it.
        """
        with keras.name_scope(self.name):
            cells = self.recipe.cells(y_true, y_pred, sample_weight, dtype="float32")
            loss = self._reduced(1 - self.recipe.value(_replicas.sum_over(cells)))
            return ops.cast(loss / _replicas.count(), self.dtype)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Computes the loss without weights."""
        return self(y_true, y_pred)

    def _reduced(self, loss: Tensor) -> Tensor:
        if self.reduction in (None, "none") or len(loss.shape) == 0:
            return loss
        return ops.sum(loss) if self.reduction == "sum" else ops.mean(loss)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the loss."""
        # keras.losses.Loss.get_config (3.15.1) forgets dtype.
        return {**self.recipe.config(), **super().get_config(), "dtype": self.dtype}


class NamedLoss(SoftSetLoss):
    """A `SoftSetLoss` whose score is given by its class; takes the same arguments otherwise."""

    score_name: ClassVar[str]

    def __init__(
        self,
        *,
        threshold: ThresholdLike = 0.5,
        heaviside: HeavisideLike = "linear",
        average: str | None = "macro",
        from_logits: bool = False,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **score_args: Any,
    ) -> None:
        super().__init__(
            self.score_name,
            threshold=threshold,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            reduction=reduction,
            name=name,
            dtype=dtype,
            **score_args,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the loss."""
        config = super().get_config()
        del config["score"]
        return config


@_register
class SoftFBeta(NamedLoss):
    """Loss 1 - F-beta: recall counts `beta` times as much as precision. See `scores.f_beta`.

    Args:
        beta: Weight of recall, greater than 0. Defaults to `1.0`.
        **options: Those of `SoftSetLoss`.

    Examples:
        >>> round(float(SoftFBeta(beta=2)([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.3143
    """

    score_name = "f_beta"

    def __init__(self, beta: float = 1.0, **options: Any) -> None:
        super().__init__(beta=beta, **options)


@_register
class SoftF1(NamedLoss):
    """Loss 1 - F1. See `scores.f1`.

    Examples:
        >>> round(float(SoftF1()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.2529
    """

    score_name = "f1"


@_register
class SoftAccuracy(NamedLoss):
    """Loss 1 - accuracy. See `scores.accuracy`, and there why not to use it on imbalanced data.

    Examples:
        >>> round(float(SoftAccuracy()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.2933
    """

    score_name = "accuracy"


@_register
class SoftBalancedAccuracy(NamedLoss):
    """Loss 1 - balanced accuracy. See `scores.balanced_accuracy`.

    Examples:
        >>> round(float(SoftBalancedAccuracy()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.265
    """

    score_name = "balanced_accuracy"


@_register
class SoftPrecision(NamedLoss):
    """Loss 1 - precision. See `scores.precision`; alone it asks for few, sure positives.

    Examples:
        >>> round(float(SoftPrecision()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.1216
    """

    score_name = "precision"


@_register
class SoftRecall(NamedLoss):
    """Loss 1 - recall. See `scores.recall`; alone it calls everything positive, so combine it.

    Examples:
        >>> round(float(SoftRecall()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.35
    """

    score_name = "recall"


@_register
class SoftSpecificity(NamedLoss):
    """Loss 1 - specificity. See `scores.specificity`; alone it calls nothing positive, so combine it.

    Examples:
        >>> round(float(SoftSpecificity()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.18
    """

    score_name = "specificity"


@_register
class SoftJaccard(NamedLoss):
    """Loss 1 - Jaccard index (intersection over union). See `scores.jaccard`.

    Examples:
        >>> round(float(SoftJaccard()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.4037
    """

    score_name = "jaccard"


@_register
class SoftGMean(NamedLoss):
    """Loss 1 - geometric mean of recall and specificity. See `scores.g_mean`.

    Examples:
        >>> round(float(SoftGMean()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.2699
    """

    score_name = "g_mean"


@_register
class SoftMCC(NamedLoss):
    """Loss 1 - Matthews correlation coefficient, from 0 to 2. See `scores.mcc`.

    Examples:
        >>> round(float(SoftMCC()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.5568
    """

    score_name = "mcc"


@_register
class SoftTversky(NamedLoss):
    """Loss 1 - Tversky index. See `scores.tversky`.

    Args:
        alpha: Price of a false positive, at least 0. Defaults to `0.5`.
        beta: Price of a false negative, at least 0. Defaults to `0.5`.
        **options: Those of `SoftSetLoss`.

    Examples:
        >>> round(float(SoftTversky(alpha=0.3, beta=0.7)([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.295
    """

    score_name = "tversky"

    def __init__(self, alpha: float = 0.5, beta: float = 0.5, **options: Any) -> None:
        super().__init__(alpha=alpha, beta=beta, **options)


@_register
class SoftAUROC(NamedLoss):
    """Loss 1 - area under the ROC curve over `threshold`. See `scores.roc_auc`.

    Args:
        threshold: Thresholds of the curve; the corners are always added. Defaults to 0.1, 0.2, ..., 0.9.
        **options: Those of `SoftSetLoss`.

    Examples:
        >>> round(float(SoftAUROC()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.2076
    """

    score_name = "roc_auc"

    def __init__(self, threshold: ThresholdLike = PAPER_THRESHOLDS, name: str = "soft_auroc", **options: Any) -> None:
        super().__init__(threshold=threshold, name=name, **options)


@_register
class SoftAUPRC(NamedLoss):
    """Loss 1 - area under the precision-recall curve over `threshold`. See `scores.pr_auc`.

    Args:
        threshold: Thresholds of the curve; the end points are always added. Defaults to 0.1, 0.2, ..., 0.9.
        **options: Those of `SoftSetLoss`.

    Examples:
        >>> round(float(SoftAUPRC()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.1178
    """

    score_name = "pr_auc"

    def __init__(self, threshold: ThresholdLike = PAPER_THRESHOLDS, name: str = "soft_auprc", **options: Any) -> None:
        super().__init__(threshold=threshold, name=name, **options)
