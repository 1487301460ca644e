"""Calibration error and Brier score as metrics, exact over batches and replicas."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_softsets import _backend, calibration
from keras_softsets._backend import Tensor
from keras_softsets._checks import check_whole_number
from keras_softsets._inputs import as_samples
from keras_softsets.metrics._base import check_classes
from keras_softsets.metrics._soft_set import register
from keras_softsets.samples import Samples, explain


class CalibrationMetric(keras.metrics.Metric):
    """Adds up totals over batches and replicas, in float64; subclasses say which, and what follows from them."""

    def __init__(self, name: str, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._direction = "down"  # read by Keras's callbacks with mode="auto" (3.15.1)
        self._totals: Any = None

    @_backend.untraced
    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Adds a batch."""
        samples = as_samples(y_true, y_pred, sample_weight, mask=_backend.mask_of(y_pred))
        totals = self._sums(samples)
        explain(samples, totals)
        if self._totals is None:
            shape = (*totals.shape[:-1], samples.classes)
            self._totals = _backend.add_total(self, shape, "totals")
        check_classes(samples.classes, self._totals.shape[-1])
        self._totals.assign_add(totals)

    def result(self) -> Tensor:
        """Returns the value of everything since the last reset; 0 before the first batch."""
        if self._totals is None:
            return ops.zeros((), dtype=self.dtype)
        return ops.cast(self._value(_backend.value_of(self._totals)), self.dtype)

    def _sums(self, samples: Samples) -> Tensor:
        raise NotImplementedError

    def _value(self, totals: Tensor) -> Tensor:
        raise NotImplementedError


@register
class CalibrationError(CalibrationMetric):
    """How much probabilities differ from shares of positives, lower is better. See `calibration.calibration_error`.

    Args:
        bins: Number of bins of equal width, at least 1. Defaults to `15`.
        name: Name of the metric. Defaults to `"calibration_error"`.
        dtype: Type of the result. Defaults to `None`, floatx.

    Examples:
        >>> round(float(CalibrationError()([0, 0, 1, 1], [0.1, 0.3, 0.3, 0.9])), 4)
        0.15
    """

    def __init__(self, bins: int = 15, name: str = "calibration_error", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.bins = check_whole_number("bins", bins, 1, 10**6)

    def _sums(self, samples: Samples) -> Tensor:
        return calibration.sum_bins(samples, self.bins)

    def _value(self, totals: Tensor) -> Tensor:
        return calibration.error_of_bins(totals)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return {"bins": self.bins, **super().get_config()}


@register
class BrierScore(CalibrationMetric):
    """The mean squared difference between probability and label, lower is better. See `calibration.brier_score`.

    Args:
        name: Name of the metric. Defaults to `"brier_score"`.
        dtype: Type of the result. Defaults to `None`, floatx.

    Examples:
        >>> round(float(BrierScore()([0, 0, 1, 1], [0.1, 0.3, 0.3, 0.9])), 4)
        0.15
    """

    def __init__(self, name: str = "brier_score", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def _sums(self, samples: Samples) -> Tensor:
        return calibration.sum_squares(samples)

    def _value(self, totals: Tensor) -> Tensor:
        return calibration.mean_square(totals)
