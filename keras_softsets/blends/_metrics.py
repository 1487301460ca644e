"""The parts of a blend as sums, which can be added up over replicas and batches, and as metrics.

A Keras loss is a sum over samples, divided by a number that depends on its `reduction`. The ratios of parts of a batch
cannot be averaged if the parts differ in size, but their numerators and denominators can be added.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_softsets import _backend
from keras_softsets._adapters import call, registered, written_dtype
from keras_softsets._backend import Tensor
from keras_softsets._inputs import paired
from keras_softsets.losses import GuidedCrossentropy, SoftSetLoss
from keras_softsets.metrics._base import CellsMetric

MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")


class Sums(NamedTuple):
    """Numerator and denominator of a loss."""

    total: Tensor
    divisor: Tensor

    def ratio(self) -> Tensor:
        """The loss; 0 if there are no samples, as in Keras."""
        return ops.divide_no_nan(self.total, self.divisor)


def sums(part: keras.losses.Loss, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Sums:
    """Computes both for the given samples, not divided by the number of replicas.

    The divisor is 0 for `reduction="sum"`. A part whose `call` returns a single number (`keras.losses.Dice`) is not a
    sum over samples; it counts as the mean over all samples of the batch, which is how Keras averages it over batches.
    """
    weighted, values = _unreduced(part, y_true, y_pred, sample_weight)
    if part.reduction == "sum":
        return Sums(ops.sum(weighted), ops.zeros((), weighted.dtype))
    if len(weighted.shape) == 0:
        samples = ops.cast(ops.shape(y_pred)[0], weighted.dtype)
        return Sums(ops.where(samples > 0, samples * weighted, 0.0), samples)
    mask = _all_of(_backend.mask_of(y_pred), _backend.mask_of(values))
    return Sums(ops.sum(weighted), ops.cast(_divisor(part.reduction, weighted, sample_weight, mask), weighted.dtype))


def _unreduced(
    part: keras.losses.Loss, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The part's values times weights and mask, from its own `__call__`, and the values that its `call` returned."""
    values: list[Tensor] = []

    def call(y_true: Tensor, y_pred: Tensor) -> Tensor:
        values.append(part.call(y_true, y_pred))
        return values[-1]

    unreduced: Any = copy.copy(part)
    unreduced.reduction, unreduced.call = None, call
    weighted = unreduced(y_true, y_pred, sample_weight)
    return weighted, values[-1] if values else weighted  # some losses override `__call__` altogether


def _divisor(reduction: str, values: Tensor, weight: Tensor | None, mask: Tensor | None) -> Tensor:
    """What Keras (3.15.1) divides the sum by."""
    count = ops.cast(ops.size(values), "float32")
    if reduction == "mean_with_sample_weight":
        given = [ops.cast(x, "float32") for x in (weight, mask) if x is not None]
        return ops.sum(_product(given)) if given else count
    if mask is None:
        return count
    mask = ops.cast(mask, "float32")
    return ops.divide_no_nan(count * ops.sum(mask), ops.cast(ops.size(mask), "float32"))


def _product(given: list[Tensor]) -> Tensor:
    if len(given) == 1:
        return given[0]
    weight, mask = given
    if len(weight.shape) == len(mask.shape) - 1:
        weight = ops.expand_dims(weight, -1)
    elif len(mask.shape) == len(weight.shape) - 1:
        mask = ops.expand_dims(mask, -1)
    return weight * mask


def _all_of(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    if first is None or second is None:
        return second if first is None else first
    return ops.logical_and(first, second)


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
        if self._empty:
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
        self._total, self._divisor = (_backend.add_total(self, (), which) for which in ("total", "divisor"))

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Adds a batch."""
        found = sums(self.part, *paired(y_true, y_pred, sample_weight))
        self._total.assign_add(ops.cast(found.total, _backend.wide()))
        self._divisor.assign_add(ops.cast(found.divisor, _backend.wide()))

    def result(self) -> Tensor:
        """Returns the loss of everything since the last reset; 0 before the first batch."""
        found = Sums(_backend.value_of(self._total), _backend.value_of(self._divisor))
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


@register
class GuidedPart(keras.metrics.Metric):
    """A `GuidedCrossentropy` as a metric: its value on all samples, weighted by their own matrix.

    Args:
        part: The loss.
        name: Name of the metric.
        dtype: Type of the result. Defaults to `None`, floatx.
    """

    def __init__(self, part: GuidedCrossentropy, name: str, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.part = part
        self._direction = "down"
        self._totals: Any = None

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Adds a batch."""
        totals = self.part.totals(y_true, y_pred, sample_weight)
        if self._totals is None:
            shape = tuple(totals.shape)
            self._totals = _backend.add_total(self, shape, "totals")
        self._totals.assign_add(totals)

    def result(self) -> Tensor:
        """Returns the loss of everything since the last reset; 0 before the first batch."""
        if self._totals is None:
            return ops.zeros((), dtype=self.dtype)
        return ops.cast(self.part.of_totals(_backend.value_of(self._totals)), self.dtype)

    def __repr__(self) -> str:
        return _call(self)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return _config(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> GuidedPart:
        """Rebuilds the metric and its part."""
        return cls(**_with_part(config))


def of_part(key: str, part: keras.losses.Loss) -> keras.metrics.Metric:
    """Returns the metric of a part, called `<key>_loss`, the name Keras gives to losses of several outputs."""
    kinds: dict[type, Any] = {SoftSetLoss: SetPart, GuidedCrossentropy: GuidedPart}
    kind = next((metric for loss, metric in kinds.items() if isinstance(part, loss)), MeanPart)
    return kind(part, name=f"{key}_loss")


def _call(metric: Any) -> str:
    return call(type(metric), {"part": metric.part, "name": metric.name, "dtype": written_dtype(metric)})


def _config(metric: Any) -> dict[str, Any]:
    part = keras.saving.serialize_keras_object(metric.part)
    return {"part": part, **keras.metrics.Metric.get_config(metric)}


def _with_part(config: dict[str, Any]) -> dict[str, Any]:
    return {**config, "part": keras.saving.deserialize_keras_object(config["part"])}
