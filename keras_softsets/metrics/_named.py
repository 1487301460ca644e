"""The named metrics: each is the metric of one score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.metrics._soft_set import NamedMetric, SoftSetMetric, register

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from keras_softsets._adapters import CurveMetricOptions, MetricOptions, ScoreParameters


@register
class FBeta(NamedMetric):
    """F-beta: recall counts `beta` times as much as precision. See `scores.f_beta`.

    Args:
        beta: Weight of recall, greater than 0. Defaults to `1.0`.
        **options: Those of `SoftSetMetric`.

    Examples:
        >>> round(float(FBeta(beta=2)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "f_beta"

    def __init__(self, beta: float = 1.0, **options: Unpack[MetricOptions]) -> None:
        SoftSetMetric.__init__(self, self.score_name, beta=beta, **options)


@register
class F1(NamedMetric):
    """F1. See `scores.f1`.

    Examples:
        >>> round(float(F1()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "f1"


@register
class Accuracy(NamedMetric):
    """Accuracy. See `scores.accuracy`.

    Examples:
        >>> round(float(Accuracy()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.6
    """

    score_name = "accuracy"


@register
class BalancedAccuracy(NamedMetric):
    """Balanced accuracy. See `scores.balanced_accuracy`.

    Examples:
        >>> round(float(BalancedAccuracy()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5833
    """

    score_name = "balanced_accuracy"


@register
class Precision(NamedMetric):
    """Precision. See `scores.precision`.

    Examples:
        >>> round(float(Precision()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "precision"


@register
class Recall(NamedMetric):
    """Recall. See `scores.recall`.

    Examples:
        >>> round(float(Recall()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "recall"


@register
class Specificity(NamedMetric):
    """Specificity. See `scores.specificity`.

    Examples:
        >>> round(float(Specificity()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.6667
    """

    score_name = "specificity"


@register
class Jaccard(NamedMetric):
    """Jaccard index (intersection over union). See `scores.jaccard`.

    Examples:
        >>> round(float(Jaccard()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.3333
    """

    score_name = "jaccard"


@register
class GMean(NamedMetric):
    """Geometric mean of recall and specificity. See `scores.g_mean`.

    Examples:
        >>> round(float(GMean()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5774
    """

    score_name = "g_mean"


@register
class MCC(NamedMetric):
    """Matthews correlation coefficient. See `scores.mcc`.

    Examples:
        >>> round(float(MCC()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.1667
    """

    score_name = "mcc"


@register
class Tversky(NamedMetric):
    """Tversky index. See `scores.tversky`.

    Args:
        alpha: Cost of a false positive, at least 0. Defaults to `0.5`.
        beta: Cost of a false negative, at least 0. Defaults to `0.5`.
        **options: Those of `SoftSetMetric`.

    Examples:
        >>> round(float(Tversky(alpha=0.3, beta=0.7)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "tversky"

    def __init__(self, alpha: float = 0.5, beta: float = 0.5, **options: Unpack[MetricOptions]) -> None:
        SoftSetMetric.__init__(self, self.score_name, alpha=alpha, beta=beta, **options)


@register
class AUROC(NamedMetric):
    """Area under the ROC curve over `threshold`. See `scores.roc_auc`.

    Args:
        threshold: Thresholds of the curve; the end points are always added. Defaults to `None`: every distinct
            threshold. The area is then exact up to 16,384 samples, and within about 1e-4 beyond.
        max_fpr: False positive rate up to which the area counts, in (0, 1]; standardised as in scikit-learn. Defaults
            to `None`: all of it.
        **options: Those of `SoftSetMetric`.

    Examples:
        >>> round(float(AUROC()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.8333
    """

    score_name = "roc_auc"

    def __init__(
        self,
        threshold: DecisionLike | None = None,
        name: str = "auroc",
        max_fpr: float | None = None,
        **options: Unpack[CurveMetricOptions],
    ) -> None:
        part: ScoreParameters = {} if max_fpr is None else {"max_fpr": max_fpr}
        SoftSetMetric.__init__(self, self.score_name, threshold=threshold, name=name, **part, **options)


@register
class AUPRC(NamedMetric):
    """Area under the precision-recall curve over `threshold`. See `scores.pr_auc`.

    Args:
        threshold: Thresholds of the curve; the end points are always added. Defaults to `None`: every distinct
            threshold. The area is then exact up to 16,384 samples, and within about 1e-4 beyond.
        min_recall: Recall from which the area counts, in [0, 1): the mean precision from there up. Defaults to `None`:
            all of it.
        **options: Those of `SoftSetMetric`.

    Examples:
        >>> round(float(AUPRC()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.7917
    """

    score_name = "pr_auc"

    def __init__(
        self,
        threshold: DecisionLike | None = None,
        name: str = "auprc",
        min_recall: float | None = None,
        **options: Unpack[CurveMetricOptions],
    ) -> None:
        part: ScoreParameters = {} if min_recall is None else {"min_recall": min_recall}
        SoftSetMetric.__init__(self, self.score_name, threshold=threshold, name=name, **part, **options)


@register
class AveragePrecision(NamedMetric):
    """Average precision, scikit-learn's summary of the precision-recall curve. See `scores.average_precision`.

    `threshold` holds the thresholds of the curve; the end points are always added. By default it is every distinct
    threshold, and the value is then exact up to 16,384 samples, and within about 1e-3 beyond.

    Examples:
        >>> round(float(AveragePrecision()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.8333
    """

    score_name = "average_precision"


@register
class Kappa(NamedMetric):
    """Cohen's kappa of the c x c matrix. See `scores.kappa`.

    Args:
        weights: Cost of a wrong class: `"quadratic"` or `"linear"` in the distance between classes, or `None` for a
            cost of 1, scikit-learn's default and that of `scores.kappa`. Defaults to `"quadratic"`, as in `SoftKappa`.
        **options: Those of `SoftSetMetric`; `threshold` is `"argmax"` or a value such as `Argmax(offsets=[0.0, 0.3])`.

    Examples:
        >>> p = [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.5, 0.4]]
        >>> round(float(Kappa()([0, 1, 2], p)), 4), round(float(Kappa(weights=None)([0, 1, 2], p)), 4)
        (0.6667, 0.5)
    """

    score_name = "kappa"

    def __init__(self, weights: str | None = "quadratic", **options: Unpack[MetricOptions]) -> None:
        SoftSetMetric.__init__(self, self.score_name, weights=weights, **options)


@register
class MulticlassMCC(NamedMetric):
    """Matthews correlation coefficient of the c x c matrix. See `scores.multiclass_mcc`.

    Examples:
        >>> p = [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.5, 0.4]]
        >>> round(float(MulticlassMCC()([0, 1, 2], p)), 4)
        0.6124
    """

    score_name = "multiclass_mcc"
