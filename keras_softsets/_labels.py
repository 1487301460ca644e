"""Class ids as labels: one-hot encoding, ids to be ignored, and the rule that tells ids from labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import Tensor

Shape = tuple[int | None, ...]


class Labels(NamedTuple):
    """Labels in the shape of the predictions, which of them count (None: all), and the ids they come from."""

    label: Tensor
    counts: Tensor | None
    ids: Tensor | None = None


def are_ids(truth: Shape, shape: Shape) -> bool:
    """Whether labels of shape `truth` are ids of the classes in the last axis of predictions of `shape`."""
    several = len(shape) > 1 and shape[-1] is not None and shape[-1] > 1
    return several and (len(truth) == len(shape) - 1 or (len(truth) == len(shape) and truth[-1] == 1))


def from_ids(ids: Tensor, classes: int, ignore_class: int | None, like: Tensor) -> Labels:
    """One-hot labels along a new last axis, in the dtype of the predictions; NaN for ids that do not exist."""
    if not keras.backend.is_float_dtype(ops.dtype(ids)):
        ids = ops.cast(ids, "int64")  # in eight bits, comparisons with 300 or 255 would overflow
    counts = None if ignore_class is None else ops.not_equal(ids, ops.cast(ignore_class, ids.dtype))
    known = _exist(ids, classes)
    hot = ops.one_hot(ops.cast(ids, "int32"), classes, dtype=like.dtype)
    label = ops.where(known[..., None], hot, ops.cast(np.nan, like.dtype))
    return Labels(label, None if counts is None else ops.cast(counts[..., None], like.dtype), ids)


def from_one_class(labels: Tensor, ignore_class: int | None) -> Labels:
    """Labels unchanged; for a single class, `ignore_class` may mark what does not count (255 in masks)."""
    if ignore_class is None:
        return Labels(labels, None)
    if labels.shape[-1] != 1:
        raise ValueError(
            "`ignore_class` must be None unless `y_true` holds class ids or the labels of one class. "
            f"Received: ignore_class={ignore_class}, y_true.shape={tuple(labels.shape)}"
        )
    return Labels(labels, ops.cast(ops.not_equal(labels, ops.cast(ignore_class, labels.dtype)), labels.dtype))


def _exist(ids: Tensor, classes: int) -> Tensor:
    return ops.logical_and(ops.logical_and(ids >= 0, ids < classes), ops.equal(ids, ops.floor(ids)))


def check_ids(ids: Tensor, classes: int, weights: list[Tensor]) -> None:
    """Raises if an eager id that counts does not exist; weights are (..., classes) or (..., 1), and 0 means absent."""
    if not hasattr(ids, "numpy"):  # inside a graph no error can be raised, and NaN is the only signal
        return
    wrong = ~ops.convert_to_numpy(_exist(ids, classes))
    for weight in weights if wrong.any() else []:
        wrong = wrong & np.any(ops.convert_to_numpy(weight) != 0, axis=-1)
    if wrong.any():
        values: Any = np.unique(ops.convert_to_numpy(ids)[wrong])[:5]
        raise ValueError(
            f"`y_true` must hold class ids, whole numbers from 0 to {classes - 1} (`ignore_class` removes another), or "
            f"labels in the shape of `y_pred`. Received: {', '.join(f'{value:g}' for value in values)}"
        )
