"""The metrics at operating points, named as in `keras.metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras_softsets._adapters import AtRateArguments
from keras_softsets.decisions import AtPrecision, AtRecall, AtSpecificity
from keras_softsets.metrics._score import SoftSetMetric, register


class OperatingPointMetric(AtRateArguments, SoftSetMetric):
    """A `SoftSetMetric` at an operating point: takes a rate first, then the same arguments except `threshold`."""


@register
class PrecisionAtRecall(OperatingPointMetric):
    """The best precision among all thresholds that find a given share of the positives; 0 if none does.

    Like `keras.metrics.PrecisionAtRecall`, but with thresholds fine enough for probabilities of any size: exact for the
    first 16,384 samples, and beyond that within 1e-4 unless much of the data is within 1e-5 of the threshold.
    `threshold()` returns the threshold at which the metric has exactly this value.

    Args:
        recall: The recall, greater than 0 and at most 1, or a sequence over which precision is averaged.
        **options: Those of `SoftSetMetric` except `threshold`.

    Examples:
        >>> metric = PrecisionAtRecall(0.9)
        >>> round(float(metric([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.6667
        >>> round(metric.threshold(), 3)
        0.4
    """

    score_name, rate_name, decision = "precision", "recall", AtRecall

    def __init__(self, recall: float | Sequence[float], name: str = "precision_at_recall", **options: Any) -> None:
        self._start(recall, name, options)


@register
class RecallAtPrecision(OperatingPointMetric):
    """The best recall among all thresholds with a given precision; 0 if none has it. See `PrecisionAtRecall`.

    Args:
        precision: The precision, greater than 0 and at most 1, or a sequence over which recall is averaged.
        **options: Those of `SoftSetMetric` except `threshold`.

    Examples:
        >>> round(float(RecallAtPrecision(0.6)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        1.0
    """

    score_name, rate_name, decision = "recall", "precision", AtPrecision

    def __init__(self, precision: float | Sequence[float], name: str = "recall_at_precision", **options: Any) -> None:
        self._start(precision, name, options)


@register
class SensitivityAtSpecificity(OperatingPointMetric):
    """The best recall among all thresholds with a given specificity. See `PrecisionAtRecall`.

    Args:
        specificity: The specificity, greater than 0 and at most 1, or a sequence over which recall is averaged; `0.99`
            is 1 % false positives.
        **options: Those of `SoftSetMetric` except `threshold`.

    Examples:
        >>> round(float(SensitivityAtSpecificity(0.9)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name, rate_name, decision = "recall", "specificity", AtSpecificity

    def __init__(
        self,
        specificity: float | Sequence[float],
        name: str = "sensitivity_at_specificity",
        **options: Any,
    ) -> None:
        self._start(specificity, name, options)


@register
class SpecificityAtSensitivity(OperatingPointMetric):
    """The best specificity among all thresholds that find a given share of the positives. See `PrecisionAtRecall`.

    Args:
        sensitivity: The recall, greater than 0 and at most 1, or a sequence over which specificity is averaged.
        **options: Those of `SoftSetMetric` except `threshold`.

    Examples:
        >>> round(float(SpecificityAtSensitivity(0.9)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.6667
    """

    score_name, rate_name, decision = "specificity", "sensitivity", AtRecall

    def __init__(
        self,
        sensitivity: float | Sequence[float],
        name: str = "specificity_at_sensitivity",
        **options: Any,
    ) -> None:
        self._start(sensitivity, name, options)
