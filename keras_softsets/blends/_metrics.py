"""The parts of a blend as metrics: each part's value on all samples since the last reset, as if they were one batch."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_softsets._adapters import registered
from keras_softsets._backend import Tensor
from keras_softsets._inputs import paired
from keras_softsets._repr import call, written_dtype
from keras_softsets.blends._sums import Sums, sums
from keras_softsets.losses import SoftSetLoss
from keras_softsets.metrics._cells import CellsMetric

register = registered("keras_softsets>blends", module="keras_softsets.blends")


@register
class SetPart(CellsMetric):
    """A set loss as a metric: 1 - score of all cells, with the loss's own approximation and decision.

    Args:
        part: The loss.
        name: Name of the metric.
        dtype: Type of the result. Defaults to `None`, floatx.
    """

    def __init__(self, part: SoftSetLoss, name: str, dtype: Any = None) -> None:
        super().__init__(part.evaluation, name=name, dtype=dtype)
        self.part = part
        self._direction = "down"

    def result(self) -> Tensor:
        """Returns the loss of everything since the last reset; 0 before the first batch."""
        if self._totals is None:
            return ops.zeros((), dtype=self.dtype)
        (value,) = self._values()
        return ops.cast(self.part.of_value(value), self.dtype)

    def __repr__(self) -> str:
        return _call(self)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return _config(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SetPart:
        """Rebuilds the metric and its part."""
        return cls(**_with_part(config))


@register
class MeanPart(keras.metrics.Metric):
    """A Keras loss as a metric: its sum over samples, divided according to its `reduction`.

    Args:
        part: The loss.
        name: Name of the metric.
        dtype: Type of the result. Defaults to `None`, floatx.
    """

    def __init__(self, part: keras.losses.Loss, name: str, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.part = part
        self._direction = "down"
        self._total, self._divisor = (
            self.add_variable((), "zeros", dtype="float64", name=which) for which in ("total", "divisor")
        )

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Adds a batch."""
        found = sums(self.part, *paired(y_true, y_pred), sample_weight)
        self._total.assign_add(ops.cast(found.total, "float64"))
        self._divisor.assign_add(ops.cast(found.divisor, "float64"))

    def result(self) -> Tensor:
        """Returns the loss of everything since the last reset; 0 before the first batch."""
        found = Sums(ops.convert_to_tensor(self._total), ops.convert_to_tensor(self._divisor))
        return ops.cast(found.total if self.part.reduction == "sum" else found.ratio(), self.dtype)

    def __repr__(self) -> str:
        return _call(self)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return _config(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> MeanPart:
        """Rebuilds the metric and its part."""
        return cls(**_with_part(config))


def of_part(key: str, part: keras.losses.Loss) -> keras.metrics.Metric:
    """Returns the metric of a part, called `<key>_loss`, the name Keras gives to losses of several outputs."""
    kind: Any = SetPart if isinstance(part, SoftSetLoss) else MeanPart
    return kind(part, name=f"{key}_loss")


def _call(metric: Any) -> str:
    return call(type(metric), {"part": metric.part, "name": metric.name, "dtype": written_dtype(metric)})


def _config(metric: Any) -> dict[str, Any]:
    part = keras.saving.serialize_keras_object(metric.part)
    return {"part": part, **keras.metrics.Metric.get_config(metric)}


def _with_part(config: dict[str, Any]) -> dict[str, Any]:
    return {**config, "part": keras.saving.deserialize_keras_object(config["part"])}
