"""The losses at operating points, named as in `keras.metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from keras_softsets._adapters import AtRateArguments
from keras_softsets._checks import Average, ZeroDivision
from keras_softsets.decisions import AtPrecision, AtRecall, AtSpecificity
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.losses._base import SoftSetLoss, register

if TYPE_CHECKING:
    from typing_extensions import Never


class OperatingPointLoss(AtRateArguments, SoftSetLoss):
    """A `SoftSetLoss` at an operating point: takes a rate first, then the same arguments except `threshold`."""


@register
class SoftPrecisionAtRecall(OperatingPointLoss):
    """Loss 1 - precision at the threshold that finds a given share of the positives: as few false alarms as possible.

    The threshold is exact for the global batch, with its weights, and the gradient takes into account that it moves
    with the predictions: raising the positives at the threshold raises the threshold. See "Operating points" in the
    documentation. A batch needs enough positives for its threshold to mean something: at recall 0.95, twenty or more.

    Args:
        recall: The recall, greater than 0 and at most 1, or a sequence over which precision is averaged: 0.95, 0.96,
            ..., 1 gives the area under that part of the precision-recall curve.
        name: Name of the loss.
        heaviside: As in `SoftSetLoss`. Defaults to `"linear"`.
        average: As in `SoftSetLoss`. Defaults to `"macro"`.
        from_logits: As in `SoftSetLoss`. Defaults to `False`.
        zero_division: As in `SoftSetLoss`. Defaults to `0.0`.
        ignore_class: As in `SoftSetLoss`. Defaults to `None`.
        reduction: As in `SoftSetLoss`. Defaults to `"sum_over_batch_size"`.
        dtype: As in `SoftSetLoss`. Defaults to `None`, floatx.

    Examples:
        >>> round(float(SoftPrecisionAtRecall(0.9)([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.9])), 4)
        0.404

    Reference:
        [Kumar et al., 2021](https://arxiv.org/abs/2107.10960)
    """

    score_name, rate_name, decision = "precision", "recall", AtRecall

    def __init__(
        self,
        recall: float | Sequence[float],
        name: str = "soft_precision_at_recall",
        *,
        heaviside: HeavisideLike = "linear",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: Any = None,
        **score_args: Never,
    ) -> None:
        self._start(
            recall,
            name,
            score_args,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            zero_division=zero_division,
            ignore_class=ignore_class,
            reduction=reduction,
            dtype=dtype,
        )


@register
class SoftRecallAtPrecision(OperatingPointLoss):
    """Loss 1 - recall at the threshold with a given precision: find as many positives as possible.

    The threshold is the lowest one with that precision on the global batch; finding it means sorting the batch. If no
    threshold reaches that precision, the loss is 1 plus the shortfall at the threshold with the best precision.

    Args:
        precision: The precision, greater than 0 and at most 1, or a sequence over which recall is averaged.
        name: Name of the loss.
        heaviside: As in `SoftSetLoss`. Defaults to `"linear"`.
        average: As in `SoftSetLoss`. Defaults to `"macro"`.
        from_logits: As in `SoftSetLoss`. Defaults to `False`.
        zero_division: As in `SoftSetLoss`. Defaults to `0.0`.
        ignore_class: As in `SoftSetLoss`. Defaults to `None`.
        reduction: As in `SoftSetLoss`. Defaults to `"sum_over_batch_size"`.
        dtype: As in `SoftSetLoss`. Defaults to `None`, floatx.

    Examples:
        >>> round(float(SoftRecallAtPrecision(0.6)([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.9])), 4)
        0.2625

    Reference:
        [Kumar et al., 2021](https://arxiv.org/abs/2107.10960)
    """

    score_name, rate_name, decision = "recall", "precision", AtPrecision

    def __init__(
        self,
        precision: float | Sequence[float],
        name: str = "soft_recall_at_precision",
        *,
        heaviside: HeavisideLike = "linear",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: Any = None,
        **score_args: Never,
    ) -> None:
        self._start(
            precision,
            name,
            score_args,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            zero_division=zero_division,
            ignore_class=ignore_class,
            reduction=reduction,
            dtype=dtype,
        )


@register
class SoftSensitivityAtSpecificity(OperatingPointLoss):
    """Loss 1 - recall at the threshold with a given specificity: `0.99` is 1 % false positives.

    Args:
        specificity: The specificity, greater than 0 and at most 1, or a sequence over which recall is averaged, which
            gives a part of the area under the ROC curve.
        name: Name of the loss.
        heaviside: As in `SoftSetLoss`. Defaults to `"linear"`.
        average: As in `SoftSetLoss`. Defaults to `"macro"`.
        from_logits: As in `SoftSetLoss`. Defaults to `False`.
        zero_division: As in `SoftSetLoss`. Defaults to `0.0`.
        ignore_class: As in `SoftSetLoss`. Defaults to `None`.
        reduction: As in `SoftSetLoss`. Defaults to `"sum_over_batch_size"`.
        dtype: As in `SoftSetLoss`. Defaults to `None`, floatx.

    Examples:
        >>> round(float(SoftSensitivityAtSpecificity(0.9)([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.9])), 4)
        0.475

    Reference:
        [Kumar et al., 2021](https://arxiv.org/abs/2107.10960)
    """

    score_name, rate_name, decision = "recall", "specificity", AtSpecificity

    def __init__(
        self,
        specificity: float | Sequence[float],
        name: str = "soft_sensitivity_at_specificity",
        *,
        heaviside: HeavisideLike = "linear",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: Any = None,
        **score_args: Never,
    ) -> None:
        self._start(
            specificity,
            name,
            score_args,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            zero_division=zero_division,
            ignore_class=ignore_class,
            reduction=reduction,
            dtype=dtype,
        )


@register
class SoftSpecificityAtSensitivity(OperatingPointLoss):
    """Loss 1 - specificity at the threshold that finds a given share of the positives.

    Args:
        sensitivity: The recall, greater than 0 and at most 1, or a sequence over which specificity is averaged.
        name: Name of the loss.
        heaviside: As in `SoftSetLoss`. Defaults to `"linear"`.
        average: As in `SoftSetLoss`. Defaults to `"macro"`.
        from_logits: As in `SoftSetLoss`. Defaults to `False`.
        zero_division: As in `SoftSetLoss`. Defaults to `0.0`.
        ignore_class: As in `SoftSetLoss`. Defaults to `None`.
        reduction: As in `SoftSetLoss`. Defaults to `"sum_over_batch_size"`.
        dtype: As in `SoftSetLoss`. Defaults to `None`, floatx.

    Examples:
        >>> round(float(SoftSpecificityAtSensitivity(0.9)([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.9])), 4)
        0.5

    Reference:
        [Kumar et al., 2021](https://arxiv.org/abs/2107.10960)
    """

    score_name, rate_name, decision = "specificity", "sensitivity", AtRecall

    def __init__(
        self,
        sensitivity: float | Sequence[float],
        name: str = "soft_specificity_at_sensitivity",
        *,
        heaviside: HeavisideLike = "linear",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: Any = None,
        **score_args: Never,
    ) -> None:
        self._start(
            sensitivity,
            name,
            score_args,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            zero_division=zero_division,
            ignore_class=ignore_class,
            reduction=reduction,
            dtype=dtype,
        )
