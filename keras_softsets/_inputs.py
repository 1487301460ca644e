"""The single entry point for data: whatever was passed becomes tensors of (samples, classes), or a clear error."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_softsets import _backend
from keras_softsets._backend import Tensor
from keras_softsets.samples import Samples, as_numbers, or_nan, range_of, without_absent

Shape = tuple[int | None, ...]


def as_samples(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    from_logits: bool = False,
    argmax: bool = False,
    c_x_c: bool = False,
    **alignment: Any,
) -> Samples:
    """Lines everything up with `y_pred`, merges mask and weights, and flattens all leading axes into samples.

    Args:
        y_true: Labels in [0, 1], of the shape of `y_pred` up to a trailing axis of length 1, or class ids.
        y_pred: Probabilities, or logits if `from_logits`: `(n,)` or `(..., classes)`.
        sample_weight: Weights that line up with `y_pred` from the left: a scalar, per sample `(n,)` or `(n, 1)`, per
            leading axes (`(n, time)` for sequences, `(n, height, width)` for images), per element, or per class
            `(1, classes)`.
        from_logits: Whether `y_pred` holds logits.
        argmax: Whether the largest class of a sample wins.
        c_x_c: Whether they are meant for the c x c matrix: a sample has one weight for all classes, (samples, 1).
        **alignment: `mask`, shaped like `sample_weight`, in which False removes an element; `ignore_class`, a class id
            (or a label of a single class) that does not count; and `dtype` of the tensors, float32 by default: half
            precision is widened before anything is summed, and float64 is narrowed, as in every Keras loss.
    """
    labels, predictions, weights = _lined_up(y_true, y_pred, sample_weight, c_x_c=c_x_c, **alignment)
    weight = _product(weights, predictions, c_x_c)
    return _samples(_two_axes, labels, predictions, weight, from_logits, argmax)


def paired(y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Labels and predictions for losses of other packages, in one shape, (..., classes), so that nothing broadcasts.

    Class ids are left unchanged, and so is the mask that a layer attached to the predictions. Weights get as many axes
    as the mask: Keras (3.15.1) lines up weights of sequences (n,) with a mask of steps (n, steps) from the right.
    """
    labels, predictions = as_numbers("y_true", y_true), as_numbers("y_pred", y_pred)
    predictions = ops.cast(predictions, keras.backend.result_type(predictions.dtype, "float32"))
    if getattr(labels.shape, "rank", 0) is None or not are_ids(tuple(labels.shape), tuple(predictions.shape)):
        (labels, *_), predictions = _lined_up_labels(labels, predictions, None)
    mask = _backend.mask_of(y_pred)
    if mask is None:
        return labels, predictions, sample_weight
    predictions = _backend.with_mask(predictions, mask)
    if sample_weight is not None:
        weight = as_numbers("sample_weight", sample_weight)
        more = max(len(mask.shape) - len(weight.shape), 0)
        sample_weight = ops.reshape(weight, (*ops.shape(weight), *(1,) * more))
    return labels, predictions, sample_weight


def as_sets(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    from_logits: bool = False,
    argmax: bool = False,
    c_x_c: bool = False,
    **alignment: Any,
) -> Samples:
    """Like `as_samples`, but keeps the first axis separate.

    Weights and masks with one number for each set, `(n,)` or `(n, 1)`, weight the sets; all others weight the elements
    inside them. A set in which nothing counts is absent.
    """
    labels, predictions, weights = _lined_up(y_true, y_pred, sample_weight, c_x_c=c_x_c, **alignment)
    of_sets = [weight for weight in weights if all(side == 1 for side in weight.shape[1:])]
    of_elements = [weight for weight in weights if not any(weight is other for other in of_sets)]
    # A set of weight 0 is absent, even if it holds a NaN or an id to be ignored.
    present = [ops.cast(ops.not_equal(weight, 0), weight.dtype) for weight in of_sets]
    weight = _product([*of_elements, *present], predictions, c_x_c)
    importance = _importance(ops.ones_like(predictions) if weight is None else weight, of_sets)
    samples = _samples(_three_axes, labels, predictions, weight, from_logits, argmax)
    return samples._replace(importance=importance)


def _samples(
    shaped: Callable[[Tensor], Tensor],
    labels: Tensor,
    predictions: Tensor,
    weight: Tensor | None,
    from_logits: bool,
    argmax: bool,
) -> Samples:
    if from_logits and not argmax:
        # The slope of a sigmoid at NaN is NaN, and so is NaN * 0, so logits of weight 0 must never reach the sigmoid.
        predictions = without_absent(predictions, weight)
    weight = None if weight is None else shaped(weight)
    return Samples(shaped(labels), shaped(predictions), weight, from_logits, argmax)


def _importance(weight: Tensor, of_sets: list[Tensor]) -> Tensor:
    """The weight of each set, 0 where nothing in it counts."""
    counts = ops.any(ops.not_equal(weight, 0), axis=tuple(range(1, len(weight.shape))))
    importance = ops.cast(counts, weight.dtype)
    for other in of_sets:
        importance = importance * ops.reshape(other, (-1,))
    valid = ops.logical_and(importance >= 0, importance < np.inf)
    if _backend.is_eager(valid) and not np.all(ops.convert_to_numpy(valid)):
        raise ValueError(
            f"`sample_weight` must be finite and non-negative. Received: {range_of(ops.convert_to_numpy(importance))}"
        )
    return or_nan(valid, importance)


def _lined_up(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None,
    *,
    c_x_c: bool,
    mask: Tensor | None = None,
    ignore_class: int | None = None,
    dtype: str = "float32",
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Labels, predictions and all weights with the same number of axes, (..., classes)."""
    predictions = ops.cast(as_numbers("y_pred", y_pred), dtype)
    shape = tuple(predictions.shape)
    found, predictions = _lined_up_labels(as_numbers("y_true", y_true), predictions, ignore_class)
    if c_x_c and predictions.shape[-1] == 1:
        raise _one_class(shape)
    named = {"sample_weight": sample_weight, "mask": mask}
    weights = [_lined_up_weights(name, x, predictions, c_x_c) for name, x in named.items() if x is not None]
    weights = weights if found.present is None else [*weights, found.present]
    if found.ids is not None:
        check_ids(found.ids, predictions.shape[-1], weights)
    return found.label, predictions, weights


def _lined_up_labels(labels: Tensor, predictions: Tensor, ignore_class: int | None) -> tuple[Labels, Tensor]:
    """Gives labels and predictions the shape (..., classes) and never broadcasts one against the other."""
    if getattr(labels.shape, "rank", 0) is None:  # tf.data with py_function loses even the rank
        labels = ops.reshape(labels, ops.shape(predictions))
    truth, shape = tuple(labels.shape), tuple(predictions.shape)
    if not shape:
        raise ValueError("`y_pred` must have at least one axis, (n,) or (..., classes). Received: a scalar")
    if are_ids(truth, shape):
        found = from_ids(labels[..., 0] if len(truth) == len(shape) else labels, shape[-1], ignore_class, predictions)
    else:
        labels, predictions = _one_more_axis(labels, predictions)
        found = from_one_class(ops.cast(labels, predictions.dtype), ignore_class)
    if not _fits(tuple(found.label.shape), tuple(predictions.shape)):
        raise ValueError(
            "`y_true` and `y_pred` must have the same shape, up to a last axis of length 1, or `y_true` must hold "
            f"class ids for all but the last axis. Received: y_true.shape={truth}, y_pred.shape={shape}"
        )
    # The static check cannot see a batch size that is known only at run time; this one can.
    return found._replace(label=ops.reshape(found.label, ops.shape(predictions))), predictions


def _one_class(shape: Shape) -> ValueError:
    return ValueError(
        "`y_pred` must have two or more classes, (..., classes), for the c x c matrix and its scores; for one class "
        "use `confusion_matrix` and its scores: `cohen_kappa` for `kappa`, `mcc` for `multiclass_mcc`, `accuracy` for "
        f"`multiclass_accuracy`. Received: y_pred.shape={shape}"
    )


def _one_more_axis(labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
    """(n,) and (n, 1) mix freely, and so do images with and without a last axis for their only class."""
    truth, shape = tuple(labels.shape), tuple(predictions.shape)
    if len(shape) == 1 or (len(shape) == len(truth) - 1 and truth[-1] == 1):
        predictions = ops.expand_dims(predictions, -1)
    if len(truth) == 1 or (len(truth) == len(shape) - 1 and shape[-1] == 1):
        labels = ops.expand_dims(labels, -1)
    return labels, predictions


def _fits(left: Shape, right: Shape) -> bool:
    return len(left) == len(right) and all(a == b or a is None or b is None for a, b in zip(left, right))


def _lined_up_weights(name: str, weight: Any, like: Tensor, c_x_c: bool) -> Tensor:
    """Lines weights up with predictions from the left, samples first, as Keras does."""
    weight = ops.cast(as_numbers(name, weight), like.dtype)
    given, shape = tuple(weight.shape), (*like.shape[:-1], 1) if c_x_c else tuple(like.shape)
    padding = len(shape) - len(given)
    if padding > 0:
        weight = ops.reshape(weight, (*ops.shape(weight), *(1,) * padding))
    if padding < 0 or not all(a in (1, b, None) or b is None for a, b in zip(weight.shape, shape)):
        more = "" if c_x_c else ", per element, or per class (1, classes)"
        raise ValueError(
            f"`{name}` must line up with `y_pred` from the left: per sample (n,){more}. "
            f"Received: {name}.shape={given}, y_pred.shape={tuple(like.shape)}"
        )
    return weight


def _product(weights: list[Tensor], like: Tensor, c_x_c: bool) -> Tensor | None:
    if not weights:
        return None
    shape = ops.shape(like)
    return ops.broadcast_to(functools.reduce(ops.multiply, weights), (*shape[:-1], 1) if c_x_c else shape)


def _two_axes(x: Tensor) -> Tensor:
    # -1 cannot be inferred when the number of classes is unknown or 0, hence the product.
    classes = x.shape[-1]
    return x if len(x.shape) == 2 else ops.reshape(x, (-1, classes if classes is not None else ops.shape(x)[-1]))


def _three_axes(x: Tensor) -> Tensor:
    shape = ops.shape(x)
    # -1 cannot be inferred when there are no sets, as on a replica that receives nothing.
    return ops.reshape(x, (shape[0], functools.reduce(operator.mul, shape[1:-1], 1), shape[-1]))


class Labels(NamedTuple):
    """Labels in the shape of the predictions, which of them count (None: all), and the ids they come from."""

    label: Tensor
    present: Tensor | None
    ids: Tensor | None = None


def are_ids(truth: Shape, shape: Shape) -> bool:
    """Whether labels of shape `truth` are ids of the classes in the last axis of predictions of `shape`."""
    several = len(shape) > 1 and shape[-1] is not None and shape[-1] > 1
    return several and (len(truth) == len(shape) - 1 or (len(truth) == len(shape) and truth[-1] == 1))


def from_ids(ids: Tensor, classes: int, ignore_class: int | None, like: Tensor) -> Labels:
    """One-hot labels along a new last axis, in the dtype of the predictions; NaN for ids that do not exist."""
    if not keras.backend.is_float_dtype(ops.dtype(ids)):
        ids = ops.cast(ids, "int64")  # in eight bits, comparisons with 300 or 255 would overflow
    present = None if ignore_class is None else ops.not_equal(ids, ops.cast(ignore_class, ids.dtype))
    known = _exist(ids, classes)
    hot = _backend.one_hot(ops.cast(ids, "int32"), classes, dtype=like.dtype)
    label = ops.where(known[..., None], hot, ops.cast(np.nan, like.dtype))
    return Labels(label, None if present is None else ops.cast(present[..., None], like.dtype), ids)


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
    if not _backend.is_eager(ids):  # inside a graph no error can be raised, and NaN is the only signal
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
