"""The numerator and denominator of a Keras loss, which can be added up over replicas and batches.

A Keras loss is a sum over samples, divided by a number that depends on its `reduction`. The ratios of parts of a batch
cannot be averaged if the parts differ in size, but their numerators and denominators can be added.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import keras
from keras import ops

from keras_softsets._backend import Tensor

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
    mask = _all_of(getattr(y_pred, "_keras_mask", None), getattr(values, "_keras_mask", None))
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
