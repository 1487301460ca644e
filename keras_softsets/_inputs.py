"""The single entry point for data: whatever was passed becomes tensors of (samples, classes), or a clear error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_softsets._backend import Tensor

Shape = tuple[int | None, ...]
MARGIN = 0.1  # interpolated probabilities overshoot a little, and are clipped; logits go further


class Samples(NamedTuple):
    """One batch as tensors of shape (samples, classes); `weight` is None where everything counts once.

    Values are as they were passed. Whoever sums them calls `counted` first, in the same pass: here that would take
    passes of its own.
    """

    label: Tensor
    prediction: Tensor
    weight: Tensor | None
    logits: bool = False

    @property
    def probability(self) -> Tensor:
        """Predictions as independent probabilities."""
        return ops.sigmoid(self.prediction) if self.logits else self.prediction

    @property
    def classes(self) -> int | None:
        """The number of classes, where it is known."""
        return self.prediction.shape[1]


def as_samples(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    from_logits: bool = False,
    dtype: str = "float32",
) -> Samples:
    """Flattens all leading axes into samples, and merges mask and weights.

    Args:
        y_true: Labels in [0, 1], of the shape of `y_pred` up to a trailing axis of length 1.
        y_pred: Probabilities, or logits if `from_logits`: `(n,)` or `(..., classes)`.
        sample_weight: Weights that line up with `y_pred` from the left: a scalar, per sample `(n,)` or `(n, 1)`, per
            leading axes (`(n, time)` for sequences, `(n, height, width)` for images), per element, or per class
            `(1, classes)`.
        mask: Like `sample_weight`; False removes.
        from_logits: Whether `y_pred` holds logits.
        dtype: Type of the tensors. Half precision is widened before anything is summed; float64 is narrowed, as in
            every Keras loss.
    """
    labels, predictions = (ops.cast(ops.convert_to_tensor(x), dtype) for x in (y_true, y_pred))
    labels, predictions = _same_shape(labels, predictions)
    weights = [_lined_up(name, x, predictions) for name, x in (("sample_weight", sample_weight), ("mask", mask))]
    weight = _product([x for x in weights if x is not None])
    if from_logits and weight is not None:
        # The slope of a sigmoid at NaN is NaN, and NaN * 0 as well; what has the weight 0 must not be seen at all.
        predictions = ops.where(ops.not_equal(weight, 0.0), predictions, ops.zeros_like(predictions))
    return Samples(
        _two_axes(labels), _two_axes(predictions), None if weight is None else _two_axes(weight), from_logits
    )


def counted(y: Tensor, p: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Labels, probabilities and weights as they enter the cells: the rules about values, for graphs and kernels.

    Weight 0 is absence, of a NaN or of a label such as -1, too. Probabilities are clipped to [0, 1]. What cannot be
    right (labels outside [0, 1], negative weights, logits instead of probabilities) becomes NaN, which no score hides.
    """
    if w is not None:
        absent = ops.equal(w, 0.0)
        y, p = (ops.where(absent, ops.zeros_like(x), x) for x in (y, p))
        w = _or_nan(ops.logical_and(w >= 0, w < np.inf), w)
    y = _or_nan(ops.logical_and(y >= 0, y <= 1), y)
    p = _or_nan(ops.logical_and(p >= -MARGIN, p <= 1 + MARGIN), ops.clip(p, 0.0, 1.0))
    return y, p, w


def explain(samples: Samples, totals: Tensor) -> None:
    """Raises the reason why eager `totals` are NaN, unless it is a NaN among the predictions, which stays NaN."""
    if not hasattr(totals, "numpy") or not np.isnan(ops.convert_to_numpy(totals)).any():
        return  # inside a graph NaN has to speak for itself
    weight = None if samples.weight is None else ops.convert_to_numpy(samples.weight)
    if weight is not None and not np.all((weight >= 0) & (weight < np.inf)):
        raise ValueError(f"`sample_weight` must be finite and non-negative. Received: {describe(weight)}")
    counts = slice(None) if weight is None else weight != 0
    labels, predictions = (ops.convert_to_numpy(x)[counts] for x in (samples.label, samples.prediction))
    if not np.all((labels >= 0) & (labels <= 1)):
        raise ValueError(f"`y_true` must be in [0, 1]; map labels of -1 to 0. Received: {describe(labels)}")
    if not samples.logits and (np.nanmin(predictions) < -MARGIN or np.nanmax(predictions) > 1 + MARGIN):
        raise ValueError(
            "`y_pred` must hold probabilities; for logits say from_logits=True, or end the model with a sigmoid. "
            f"Received: {describe(predictions)}"
        )


def describe(values: np.ndarray) -> str:
    """Says in an error what range values have."""
    return "NaN" if np.isnan(values).any() else f"values from {np.min(values):g} to {np.max(values):g}"


def _or_nan(valid: Tensor, x: Tensor) -> Tensor:
    return ops.where(valid, x, ops.cast(np.nan, x.dtype))


def _product(factors: list[Tensor]) -> Tensor | None:
    return None if not factors else factors[0] if len(factors) == 1 else factors[0] * factors[1]


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


def _hint(truth: Shape, shape: Shape) -> str:
    classes = shape[-1] if len(shape) > 1 else 1
    ids = truth == shape[:-1] or truth == (*shape[:-1], 1) or len(truth) == 1
    if ids and classes is not None and classes > 1:
        return f"; if `y_true` holds class ids, one-hot encode them with keras.ops.one_hot(y_true, {classes})"
    return ", up to a last axis of length 1"


def _fits(left: Shape, right: Shape) -> bool:
    return len(left) == len(right) and all(a == b or a is None or b is None for a, b in zip(left, right))


def _lined_up(name: str, weight: Any, like: Tensor) -> Tensor | None:
    """Lines weights up with predictions from the left, samples first, as Keras does."""
    if weight is None:
        return None
    weight = ops.cast(ops.convert_to_tensor(weight), like.dtype)
    given, shape = tuple(weight.shape), tuple(like.shape)
    padding = len(shape) - len(given)
    if padding > 0:
        weight = ops.reshape(weight, (*ops.shape(weight), *(1,) * padding))
    if padding < 0 or not all(a in (1, b, None) or b is None for a, b in zip(weight.shape, shape)):
        raise ValueError(
            f"`{name}` must line up with `y_pred` from the left: per sample (n,), per element, or per class "
            f"(1, classes). Received: {name}.shape={given}, y_pred.shape={shape}"
        )
    return ops.broadcast_to(weight, ops.shape(like))


def _two_axes(x: Tensor) -> Tensor:
    # -1 cannot be inferred when the number of classes is unknown or 0, hence the product.
    classes = x.shape[-1]
    return x if len(x.shape) == 2 else ops.reshape(x, (-1, classes if classes is not None else ops.shape(x)[-1]))
