"""The metrics at operating points, named as in `keras.metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from keras_softsets._adapters import AtRateArguments
from keras_softsets._checks import Average, ZeroDivision
from keras_softsets.decisions import AtPrecision, AtRecall, AtSpecificity
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.metrics._soft_set import SoftSetMetric, register

if TYPE_CHECKING:
    from typing_extensions import Never


class OperatingPointMetric(AtRateArguments, SoftSetMetric):
    """A `SoftSetMetric` at an operating point: takes a rate first, then the same arguments except `threshold`."""


@register
class PrecisionAtRecall(OperatingPointMetric):
    """The best precision among all thresholds that find a given share of the positives; 0 if none does.

    Like `keras.metrics.PrecisionAtRecall`, but with thresholds fine enough for probabilities of any size: exact up to
    16,384 samples. Beyond that, thresholds are 1/4,096 of p or of 1 - p apart, or closer, so a value can be off by
    what the share of the data between two of them changes. `threshold()` returns the threshold at which the metric has
    exactly this value.

    Args:
        recall: The recall, greater than 0 and at most 1, or a sequence over which precision is averaged.
        name: Name of the metric.
        heaviside: As in `SoftSetMetric`. Defaults to `"step"`.
        average: As in `SoftSetMetric`. Defaults to `"macro"`.
        from_logits: As in `SoftSetMetric`. Defaults to `False`.
        zero_division: As in `SoftSetMetric`. Defaults to `0.0`.
        ignore_class: As in `SoftSetMetric`. Defaults to `None`.
        class_names: As in `SoftSetMetric`. Defaults to `None`.
        dtype: As in `SoftSetMetric`. Defaults to `None`, floatx.

    Examples:
        >>> metric = PrecisionAtRecall(0.9)
        >>> round(float(metric([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.6667
        >>> round(metric.threshold(), 3)
        0.4
    """

    score_name, rate_name, decision = "precision", "recall", AtRecall

    def __init__(
        self,
        recall: float | Sequence[float],
        name: str = "precision_at_recall",
        *,
        heaviside: HeavisideLike = "step",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        ignore_class: int | None = None,
        class_names: Sequence[str] | None = None,
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
            class_names=class_names,
            dtype=dtype,
        )


@register
class RecallAtPrecision(OperatingPointMetric):
    """The best recall among all thresholds with a given precision; 0 if none has it. See `PrecisionAtRecall`.

    Args:
        precision: The precision, greater than 0 and at most 1, or a sequence over which recall is averaged.
        name: Name of the metric.
        heaviside: As in `SoftSetMetric`. Defaults to `"step"`.
        average: As in `SoftSetMetric`. Defaults to `"macro"`.
        from_logits: As in `SoftSetMetric`. Defaults to `False`.
        zero_division: As in `SoftSetMetric`. Defaults to `0.0`.
        ignore_class: As in `SoftSetMetric`. Defaults to `None`.
        class_names: As in `SoftSetMetric`. Defaults to `None`.
        dtype: As in `SoftSetMetric`. Defaults to `None`, floatx.

    Examples:
        >>> round(float(RecallAtPrecision(0.6)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        1.0
    """

    score_name, rate_name, decision = "recall", "precision", AtPrecision

    def __init__(
        self,
        precision: float | Sequence[float],
        name: str = "recall_at_precision",
        *,
        heaviside: HeavisideLike = "step",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        ignore_class: int | None = None,
        class_names: Sequence[str] | None = None,
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
            class_names=class_names,
            dtype=dtype,
        )


@register
class SensitivityAtSpecificity(OperatingPointMetric):
    """The best recall among all thresholds with a given specificity. See `PrecisionAtRecall`.

    Args:
        specificity: The specificity, greater than 0 and at most 1, or a sequence over which recall is averaged; `0.99`
            is 1 % false positives.
        name: Name of the metric.
        heaviside: As in `SoftSetMetric`. Defaults to `"step"`.
        average: As in `SoftSetMetric`. Defaults to `"macro"`.
        from_logits: As in `SoftSetMetric`. Defaults to `False`.
        zero_division: As in `SoftSetMetric`. Defaults to `0.0`.
        ignore_class: As in `SoftSetMetric`. Defaults to `None`.
        class_names: As in `SoftSetMetric`. Defaults to `None`.
        dtype: As in `SoftSetMetric`. Defaults to `None`, floatx.

    Examples:
        >>> round(float(SensitivityAtSpecificity(0.9)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name, rate_name, decision = "recall", "specificity", AtSpecificity

    def __init__(
        self,
        specificity: float | Sequence[float],
        name: str = "sensitivity_at_specificity",
        *,
        heaviside: HeavisideLike = "step",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        ignore_class: int | None = None,
        class_names: Sequence[str] | None = None,
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
            class_names=class_names,
            dtype=dtype,
        )


@register
class SpecificityAtSensitivity(OperatingPointMetric):
    """The best specificity among all thresholds that find a given share of the positives. See `PrecisionAtRecall`.

    Args:
        sensitivity: The recall, greater than 0 and at most 1, or a sequence over which specificity is averaged.
        name: Name of the metric.
        heaviside: As in `SoftSetMetric`. Defaults to `"step"`.
        average: As in `SoftSetMetric`. Defaults to `"macro"`.
        from_logits: As in `SoftSetMetric`. Defaults to `False`.
        zero_division: As in `SoftSetMetric`. Defaults to `0.0`.
        ignore_class: As in `SoftSetMetric`. Defaults to `None`.
        class_names: As in `SoftSetMetric`. Defaults to `None`.
        dtype: As in `SoftSetMetric`. Defaults to `None`, floatx.

    Examples:
        >>> round(float(SpecificityAtSensitivity(0.9)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.6667
    """

    score_name, rate_name, decision = "specificity", "sensitivity", AtRecall

    def __init__(
        self,
        sensitivity: float | Sequence[float],
        name: str = "specificity_at_sensitivity",
        *,
        heaviside: HeavisideLike = "step",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        ignore_class: int | None = None,
        class_names: Sequence[str] | None = None,
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
            class_names=class_names,
            dtype=dtype,
        )
