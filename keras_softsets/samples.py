"""One batch as tensors of (samples, classes), and the rules about its values."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import MARGIN, Tensor, assert_in_graph, clip, is_dense, is_eager


class Samples(NamedTuple):
    """One batch as tensors of shape (samples, classes); `weight` is None where everything counts once.

    Values are as they were passed. Code that sums them calls `cleaned` in the same pass; doing so in `as_samples` would
    take extra passes.

    Attributes:
        label: Labels in [0, 1].
        prediction: Probabilities or logits.
        weight: Weights, (samples, classes) or (samples, 1).
        logits: Whether predictions are logits.
        argmax: Whether the largest class of a sample wins, so that one cannot be absent without the others.
        importance: Weight of each set in a mean over sets, (sets,), if all axes but the first are those of a set, as
            `as_sets` makes them: (sets, elements, classes). NaN where the weight is invalid.
    """

    label: Tensor
    prediction: Tensor
    weight: Tensor | None
    logits: bool = False
    argmax: bool = False
    importance: Tensor | None = None

    def cleaned(self) -> Samples:
        """The samples as they enter the cells: the rules about values, in graphs and kernels.

        Weight 0 means absent, even for a NaN or a label such as -1. Probabilities are clipped to [0, 1]. Invalid values
        (labels outside [0, 1], negative weights, logits instead of probabilities) become NaN, which no score hides.
        """
        y, w = without_absent(self.label, self.weight), self.weight
        p = without_absent(self.prediction, w, whole_samples=self.argmax)
        return self._replace(
            label=or_nan(ops.logical_and(y >= 0, y <= 1), y),
            prediction=p if self.logits else _clean_probability(p),
            weight=None if w is None else or_nan(ops.logical_and(w >= 0, w < np.inf), w),
        )

    @property
    def probability(self) -> Tensor:
        """Predictions as independent probabilities."""
        return ops.sigmoid(self.prediction) if self.logits else self.prediction

    def log_probability(self, floor: float = 0.0) -> Tensor:
        """Logarithms of predictions before an argmax, up to a constant that all classes of a sample share.

        Probabilities below `floor` are raised to it, which bounds the slope of the logarithm.
        """
        return self.prediction if self.logits else ops.log(self.at_least(floor))

    def at_least(self, floor: float) -> Tensor:
        """Predictions, with those below `floor` raised to it; NaN stays NaN."""
        p = self.prediction
        return ops.where(p < floor, ops.cast(floor, p.dtype), p)

    def pooled(self) -> Samples:
        """All classes as one, with the elements of the last two axes as its samples: (..., samples x classes, 1)."""
        shape = ops.shape(self.prediction)
        one = (*shape[:-2], shape[-2] * shape[-1], 1)
        weight = None if self.weight is None else ops.reshape(ops.broadcast_to(self.weight, shape), one)
        label, prediction = (ops.reshape(x, one) for x in (self.label, self.prediction))
        return self._replace(label=label, prediction=prediction, weight=weight)

    def sets_as_classes(self) -> Samples:
        """Sets of (sets, elements, classes) as (elements, sets x classes): each is a class like others."""
        sets, elements, classes = shape = ops.shape(self.prediction)

        def columns(x: Tensor) -> Tensor:
            return ops.reshape(ops.transpose(x, (1, 0, 2)), (elements, sets * classes))

        weight = None if self.weight is None else columns(ops.broadcast_to(self.weight, shape))
        return self._replace(label=columns(self.label), prediction=columns(self.prediction), weight=weight)

    @property
    def classes(self) -> int | None:
        """The number of classes, where it is known."""
        return self.prediction.shape[-1]


def as_numbers(name: str, values: Any) -> Tensor:
    """Returns the data that users pass as a tensor of numbers or truth values."""
    tensor: Any
    try:
        # What a masked array hides would count.
        tensor = None if np.ma.is_masked(values) else ops.convert_to_tensor(values)
    except (TypeError, ValueError):
        tensor = None
    kind = keras.backend.standardize_dtype(tensor.dtype) if is_dense(tensor) else _described(values)
    if not is_dense(tensor) or kind in ("string", "complex64", "complex128"):
        raise ValueError(f"`{name}` must be a dense array of numbers. Received: {kind}")
    return tensor


def _described(values: Any) -> str:
    return " of ".join([type(values).__name__, *([str(values.dtype)] if hasattr(values, "dtype") else [])])


_LABELS = "`y_true` must be in [0, 1]; map labels of -1 to 0."
_IDS = "If they are class ids, these must be below the number of outputs."
_WEIGHTS = "`sample_weight` must be finite and non-negative."
_PROBABILITIES = "`y_pred` must hold probabilities; for logits pass from_logits=True, or end the model with a sigmoid."


def explain(samples: Samples, totals: Tensor) -> None:
    """Raises the reason why eager `totals` are NaN, unless it is a NaN among the predictions, which stays NaN."""
    if is_eager(totals) and np.isnan(ops.convert_to_numpy(totals)).any():
        check_values(samples)


def explain_in_graph(samples: Samples, totals: Tensor) -> None:
    """Does the same when a graph runs; one that XLA compiles cannot raise errors, and NaN is the only signal.

    For losses, whose NaN would ruin a model. A metric may see labels that do not count in the loss, such as 255.
    """
    if not is_eager(totals):
        assert_in_graph(ops.any(ops.isnan(totals)), lambda: _rules(samples))


def _rules(samples: Samples) -> list[tuple[Tensor, str, Tensor]]:
    """The rules about values: whether each holds, what it says, and for which values."""
    label, p, weight = samples.label, samples.prediction, samples.weight
    absent = ops.zeros_like(label, "bool") if weight is None else ops.equal(weight + ops.zeros_like(label), 0)
    valid_label = ops.logical_and(label >= 0, label <= 1)
    outside = ops.logical_or(p < -MARGIN, p > 1 + MARGIN)  # False for NaN
    shown = ops.where(absent, ops.zeros_like(label), label)
    rules = [(ops.all(ops.logical_or(absent, valid_label)), f"{_LABELS} {_IDS}", shown)]
    if weight is not None:
        rules.insert(0, (ops.all(ops.logical_and(weight >= 0, weight < np.inf)), _WEIGHTS, weight))
    if samples.importance is not None:  # of sets, in which invalid weights are NaN already
        rules.insert(0, (ops.logical_not(ops.any(ops.isnan(samples.importance))), _WEIGHTS, samples.importance))
    if not samples.logits:
        rules.append((ops.logical_not(ops.any(ops.logical_and(outside, ops.logical_not(absent)))), _PROBABILITIES, p))
    return rules


def check_values(samples: Samples) -> None:
    """Raises a `ValueError` for invalid labels, weights or predictions, except for NaN predictions."""
    labels, predictions = (ops.convert_to_numpy(x) for x in (samples.label, samples.prediction))
    if samples.weight is not None:
        weight = np.broadcast_to(ops.convert_to_numpy(samples.weight), labels.shape)
        if not np.all((weight >= 0) & (weight < np.inf)):
            raise ValueError(f"{_WEIGHTS} Received: {range_of(weight)}")
        labels, predictions = (x[weight != 0] for x in (labels, predictions))
    if not np.all((labels >= 0) & (labels <= 1)):
        raise ValueError(f"{_LABELS} Received: {range_of(labels)}")
    if not samples.logits and np.any((predictions < -MARGIN) | (predictions > 1 + MARGIN)):
        raise ValueError(f"{_PROBABILITIES} Received: {range_of(predictions)}")


def check_order(y_true: Any, y_pred: Any) -> None:
    """Raises if labels and predictions are swapped for certain: labels are never 0 or 1, and hardly repeat."""
    pair = (y_true, y_pred)
    if any(ops.is_tensor(x) and not is_eager(x) for x in pair):
        return
    try:
        labels, predictions = (ops.convert_to_numpy(x) if ops.is_tensor(x) else np.asarray(x) for x in pair)
    except (TypeError, ValueError, OverflowError):  # no arrays, which `as_numbers` will say
        return
    if labels.dtype.kind != "f" or labels.size < 5 or _without_ones(labels) != _without_ones(predictions):
        return
    if not all(_swapped(labels.ravel()[part], predictions.ravel()[part]) for part in (slice(5), slice(None))):
        return  # nearly always after the first five, which cost nothing
    if len(np.unique(labels)) > 0.9 * labels.size:
        raise ValueError(
            "`y_true` must hold labels, and `y_pred` probabilities; they seem to be swapped. "
            f"Received: y_true from {labels.min():g} to {labels.max():g}, y_pred of 0 and 1"
        )


def _swapped(labels: np.ndarray, predictions: np.ndarray) -> bool:
    return bool(((labels > 0) & (labels < 1)).all() and np.isin(predictions, (0, 1)).all())


def _without_ones(array: np.ndarray) -> tuple[int, ...]:
    """The shape without a last axis of length 1."""
    return array.shape[:-1] if array.ndim > 1 and array.shape[-1] == 1 else array.shape


def range_of(values: np.ndarray) -> str:
    """Returns the part of an error message that says which values were received."""
    return "NaN" if np.isnan(values).any() else f"values from {np.min(values):g} to {np.max(values):g}"


def _clean_probability(p: Tensor) -> Tensor:
    return or_nan(ops.logical_and(p >= -MARGIN, p <= 1 + MARGIN), clip(p, 0.0, 1.0))


def without_absent(x: Tensor, weight: Tensor | None, *, whole_samples: bool = False) -> Tensor:
    """Zeros in place of values of weight 0: element by element, or only where a whole sample has weight 0."""
    if weight is None:
        return x
    absent = ops.equal(weight, 0.0)
    return ops.where(ops.all(absent, axis=-1, keepdims=True) if whole_samples else absent, ops.zeros_like(x), x)


def or_nan(valid: Tensor, x: Tensor) -> Tensor:
    """NaN in place of invalid values."""
    return ops.where(valid, x, ops.cast(np.nan, x.dtype))
