"""The one door: whatever the user passed becomes float32 tensors of shape (samples, classes), or a clear error."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

if keras.config.backend() != "tensorflow":  # the kernels and tf.distribute are TensorFlow's
    raise ImportError(
        f"keras_softsets needs Keras's TensorFlow backend. Received: KERAS_BACKEND={keras.config.backend()}"
    )

Tensor = Any  # keras.ops accepts and returns backend tensors, which carry no useful static type


class Samples(NamedTuple):
    """One batch as float32 tensors of shape (samples, classes); `weight` is None where everything counts once.

    The kernels clip probabilities to [0, 1] and ignore what has the weight 0; here that would take passes of its own.
    """

    label: Tensor
    probability: Tensor
    weight: Tensor | None


def as_samples(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    from_logits: bool = False,
) -> Samples:
    """Flattens all leading axes into samples, and merges mask and weights.

    Args:
        y_true: Labels in [0, 1], of the shape of `y_pred` up to a trailing axis of length 1.
        y_pred: Probabilities, or logits if `from_logits`: `(n,)` or `(..., classes)`.
        sample_weight: Weights that broadcast to `y_pred`: a scalar, per sample `(n,)` or `(n, 1)`, per leading axes
            (`(n, time)` for sequences, `(n, height, width)` for images), per element, or per class `(1, classes)`.
        mask: Like `sample_weight`; False removes.
        from_logits: Whether a sigmoid has to be applied to `y_pred`.
    """
    labels, predictions = _tensor(y_true), _tensor(y_pred)
    labels, predictions = _same_shape(labels, predictions)
    shape = tuple(predictions.shape)
    weight = None if sample_weight is None else _broadcast(_tensor(sample_weight), predictions, shape, "sample_weight")
    if mask is not None:
        mask = _broadcast(_tensor(mask), predictions, shape, "mask")
        weight = mask if weight is None else weight * mask
    _check_label_values(y_true, labels, weight)
    if from_logits and weight is not None:
        # The kernel leaves samples of weight 0 out, but the slope of a sigmoid at NaN is NaN, and NaN * 0 as well.
        predictions = ops.where(ops.not_equal(weight, 0.0), predictions, ops.zeros_like(predictions))
    probabilities = ops.sigmoid(predictions) if from_logits else predictions
    return Samples(*(None if x is None else _two_axes(x, shape[-1]) for x in (labels, probabilities, weight)))


def as_thresholds(threshold: float | Sequence[float]) -> tuple[float, ...]:
    """Checks thresholds where the user typed them.

    Args:
        threshold: A number or a sequence of numbers inside (0, 1).
    """
    values = [threshold] if isinstance(threshold, numbers.Real) else threshold
    rule = "`threshold` must be a number inside (0, 1), or a non-empty sequence of such numbers."
    try:
        array = np.asarray(values)
        numeric = array.dtype.kind in "fiu" and array.ndim <= 1
        array = array.astype(str) if array.dtype == "float32" else array  # 0.3 is meant, not 0.30000001192092896
        array = array.astype("float64").reshape(-1) if numeric else np.empty(0)
    except (TypeError, ValueError):
        array = np.empty(0)
    if not array.size or not np.all((array > 0) & (array < 1)):
        raise ValueError(f"{rule} Received: threshold={threshold}")
    return tuple(float(value) for value in array)


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Returns `value` if it is one of `choices`."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        allowed = ", ".join(map(repr, choices))
        raise ValueError(f"`{name}` must be one of {allowed}. Received: {name}={value!r}")
    return value


def check_number(name: str, value: Any, low: float, high: float, *, open_low: bool = False) -> float:
    """Returns `value` as a float if it is a finite number in [low, high], or in (low, high] if `open_low`."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not (low < value if open_low else low <= value) or not value <= high or value == float("inf"):
        bounds = f"{'greater than' if open_low else 'at least'} {low:g}"
        bounds += "" if high == float("inf") else f" and at most {high:g}"
        raise ValueError(f"`{name}` must be a finite number {bounds}. Received: {name}={value!r}")
    return float(value)


def _tensor(value: Tensor) -> Tensor:
    # Half precision is widened before anything is summed; float64 is narrowed, as in every Keras loss.
    return ops.cast(ops.convert_to_tensor(value), "float32")


def _check_label_values(y_true: Tensor, labels: Tensor, weight: Tensor | None) -> None:
    """Checks those that count: where the weight is 0, anything may stand."""
    if not isinstance(y_true, (np.ndarray, list, tuple, numbers.Real)):
        return  # looking into a tensor would cost a device transfer, and is impossible inside a graph
    values = np.asarray(y_true)
    if weight is not None:
        if keras.utils.is_keras_tensor(weight) or not hasattr(weight, "numpy"):
            return
        values = ops.convert_to_numpy(labels)[ops.convert_to_numpy(weight) != 0]
    if values.dtype.kind in "fiu" and values.size and not (np.nanmin(values) >= 0 and np.nanmax(values) <= 1):
        raise ValueError(
            "`y_true` must hold labels in [0, 1]; one-hot encode class ids, and map -1 to 0. "
            f"Received: values from {np.nanmin(values)} to {np.nanmax(values)}"
        )


def _same_shape(labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
    """Gives both the shape (..., classes), without ever broadcasting one against the other."""
    if getattr(labels.shape, "rank", 0) is None:  # tf.data with py_function forgets even the rank
        labels = ops.reshape(labels, ops.shape(predictions))
    truth, shape = tuple(labels.shape), tuple(predictions.shape)
    if not shape:
        raise ValueError("`y_pred` must have at least one axis, (n,) or (..., classes). Received: a scalar")
    if len(shape) == 1 or (len(shape) == len(truth) - 1 and truth[-1] == 1):
        predictions = ops.expand_dims(predictions, -1)
    if len(truth) == 1 or (len(truth) == len(shape) - 1 and shape[-1] == 1):
        labels = ops.expand_dims(labels, -1)
    if not _fits(tuple(labels.shape), tuple(predictions.shape)):
        raise ValueError(
            f"`y_true` and `y_pred` must have the same shape{_hint(truth, shape)}. "
            f"Received: y_true.shape={truth}, y_pred.shape={shape}"
        )
    # The static check cannot see a batch size that is only known at run time; this can.
    return ops.reshape(labels, ops.shape(predictions)), predictions


def _hint(truth: tuple[int | None, ...], shape: tuple[int | None, ...]) -> str:
    classes = shape[-1] if len(shape) > 1 else 1
    ids = truth == shape[:-1] or truth == (*shape[:-1], 1) or len(truth) == 1
    if ids and classes is not None and classes > 1:
        return f"; if `y_true` holds class ids, one-hot encode them with keras.ops.one_hot(y_true, {classes})"
    return ", up to a last axis of length 1"


def _fits(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> bool:
    return len(left) == len(right) and all(a == b or a is None or b is None for a, b in zip(left, right))


def _broadcast(weight: Tensor, like: Tensor, shape: tuple[int | None, ...], name: str) -> Tensor:
    """Lines weights up with predictions from the left (samples first), as Keras does, then from the right (classes)."""
    given = tuple(weight.shape)
    per_class = len(given) == 1 and given != shape[:1] and given[0] is not None and given[0] == shape[-1]
    padding = len(shape) - len(given)
    if padding > 0:
        weight = ops.reshape(weight, (1,) * padding + given if per_class else (*ops.shape(weight), *(1,) * padding))
    fits = padding >= 0 and all(a in (1, b, None) or b is None for a, b in zip(weight.shape, shape))
    if not fits:
        raise ValueError(
            f"`{name}` must broadcast to `y_pred`: per sample (n,), per element, or per class (1, classes). "
            f"Received: {name}.shape={given}, y_pred.shape={shape}"
        )
    return ops.broadcast_to(weight, ops.shape(like))


def _two_axes(x: Tensor, classes: int | None) -> Tensor:
    # -1 cannot be inferred when classes is unknown or 0, hence the product.
    if len(x.shape) == 2:
        return x
    return ops.reshape(x, (-1, classes if classes is not None else ops.shape(x)[-1]))
