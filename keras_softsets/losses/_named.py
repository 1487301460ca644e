"""The named losses: each is the loss of one score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.losses._base import NamedLoss, SoftSetLoss, register

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from keras_softsets._adapters import CurveLossOptions, LossOptions, ScoreParameters


@register
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

    def __init__(self, beta: float = 1.0, **options: Unpack[LossOptions]) -> None:
        SoftSetLoss.__init__(self, self.score_name, beta=beta, **options)


@register
class SoftF1(NamedLoss):
    """Loss 1 - F1. See `scores.f1`.

    Examples:
        >>> round(float(SoftF1()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.2529
    """

    score_name = "f1"


@register
class SoftAccuracy(NamedLoss):
    """Loss 1 - accuracy. See `scores.accuracy`, which says why not to use it on imbalanced data.

    Examples:
        >>> round(float(SoftAccuracy()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.2933
    """

    score_name = "accuracy"


@register
class SoftBalancedAccuracy(NamedLoss):
    """Loss 1 - balanced accuracy. See `scores.balanced_accuracy`.

    Examples:
        >>> round(float(SoftBalancedAccuracy()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.265
    """

    score_name = "balanced_accuracy"


@register
class SoftPrecision(NamedLoss):
    """Loss 1 - precision. See `scores.precision`; used alone, it favours a few sure positives.

    Examples:
        >>> round(float(SoftPrecision()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.1216
    """

    score_name = "precision"


@register
class SoftRecall(NamedLoss):
    """Loss 1 - recall. See `scores.recall`; used alone, it makes everything positive, so blend it.

    Examples:
        >>> round(float(SoftRecall()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.35
    """

    score_name = "recall"


@register
class SoftSpecificity(NamedLoss):
    """Loss 1 - specificity. See `scores.specificity`; used alone, it makes nothing positive, so blend it.

    Examples:
        >>> round(float(SoftSpecificity()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.18
    """

    score_name = "specificity"


@register
class SoftJaccard(NamedLoss):
    """Loss 1 - Jaccard index (intersection over union). See `scores.jaccard`.

    Alone, it does not start where classes are rare, as in most masks: use `loss_for("jaccard")`, which adds
    cross-entropy.

    Examples:
        >>> round(float(SoftJaccard()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.4037
    """

    score_name = "jaccard"


@register
class SoftGMean(NamedLoss):
    """Loss 1 - geometric mean of recall and specificity. See `scores.g_mean`.

    Examples:
        >>> round(float(SoftGMean()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.2699
    """

    score_name = "g_mean"


@register
class SoftMCC(NamedLoss):
    """Loss 1 - Matthews correlation coefficient, from 0 to 2. See `scores.mcc`.

    Examples:
        >>> round(float(SoftMCC()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.5568
    """

    score_name = "mcc"


@register
class SoftTversky(NamedLoss):
    """Loss 1 - Tversky index. See `scores.tversky`.

    Args:
        alpha: Cost of a false positive, at least 0. Defaults to `0.5`.
        beta: Cost of a false negative, at least 0. Defaults to `0.5`.
        **options: Those of `SoftSetLoss`.

    Examples:
        >>> round(float(SoftTversky(alpha=0.3, beta=0.7)([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.295
    """

    score_name = "tversky"

    def __init__(self, alpha: float = 0.5, beta: float = 0.5, **options: Unpack[LossOptions]) -> None:
        SoftSetLoss.__init__(self, self.score_name, alpha=alpha, beta=beta, **options)


@register
class SoftAUROC(NamedLoss):
    """Loss 1 - area under the ROC curve over `threshold`. See `scores.roc_auc`.

    Args:
        threshold: Thresholds of the curve; the end points are always added. Defaults to `None`: 0.1, 0.2,
            ..., 0.9.
        max_fpr: False positive rate up to which the area counts, in (0, 1]; standardised as in scikit-learn. Defaults
            to `None`: all of it.
        **options: Those of `SoftSetLoss`.

    Examples:
        >>> round(float(SoftAUROC()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.2076
    """

    score_name = "roc_auc"

    def __init__(
        self,
        threshold: DecisionLike | None = None,
        name: str = "soft_auroc",
        max_fpr: float | None = None,
        **options: Unpack[CurveLossOptions],
    ) -> None:
        part: ScoreParameters = {} if max_fpr is None else {"max_fpr": max_fpr}
        SoftSetLoss.__init__(self, self.score_name, threshold=threshold, name=name, **part, **options)


@register
class SoftAUPRC(NamedLoss):
    """Loss 1 - area under the precision-recall curve over `threshold`. See `scores.pr_auc`.

    Args:
        threshold: Thresholds of the curve; the end points are always added. Defaults to `None`: 0.1,
            0.2, ..., 0.9.
        min_recall: Recall from which the area counts, in [0, 1): the mean precision from there up. Defaults to `None`:
            all of it.
        **options: Those of `SoftSetLoss`.

    Examples:
        >>> round(float(SoftAUPRC()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.1178
    """

    score_name = "pr_auc"

    def __init__(
        self,
        threshold: DecisionLike | None = None,
        name: str = "soft_auprc",
        min_recall: float | None = None,
        **options: Unpack[CurveLossOptions],
    ) -> None:
        part: ScoreParameters = {} if min_recall is None else {"min_recall": min_recall}
        SoftSetLoss.__init__(self, self.score_name, threshold=threshold, name=name, **part, **options)


@register
class SoftAveragePrecision(NamedLoss):
    """Loss 1 - average precision over `threshold`. See `scores.average_precision`.

    `threshold` holds the thresholds of the curve, by default 0.1, 0.2, ..., 0.9; "everything is positive" is always
    added.

    Examples:
        >>> round(float(SoftAveragePrecision()([0, 1, 1], [0.3, 0.4, 0.9])), 4)
        0.1294
    """

    score_name = "average_precision"


@register
class SoftKappa(NamedLoss):
    """Loss 1 - Cohen's kappa of the soft c x c matrix, from 0 to about 2. See `scores.kappa`.

    For ordinal classes (grades, stages, stars): deciding 5 instead of 1 costs sixteen times as much as 2 instead of 1.

    Args:
        weights: Cost of a wrong class: `"quadratic"` or `"linear"` in the distance between classes, or `None` for a
            cost of 1. Defaults to `"quadratic"`.
        **options: Those of `SoftSetLoss`; `threshold` is `"argmax"` or a value such as `Argmax(temperature=0.5)`.

    Examples:
        >>> round(float(SoftKappa()([0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.4, 0.5]])), 4)
        0.4359
    """

    score_name = "kappa"

    def __init__(self, weights: str | None = "quadratic", **options: Unpack[LossOptions]) -> None:
        SoftSetLoss.__init__(self, self.score_name, weights=weights, **options)


@register
class SoftMulticlassMCC(NamedLoss):
    """Loss 1 - Matthews correlation coefficient of the soft c x c matrix, from 0 to about 2.

    See `scores.multiclass_mcc`.

    Examples:
        >>> round(float(SoftMulticlassMCC()([0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.4, 0.5]])), 4)
        0.5477
    """

    score_name = "multiclass_mcc"
