"""One batch as tensors of (samples, classes), and the rules about its values."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import Tensor, clip, is_dense

MARGIN = 0.1  # interpolated probabilities overshoot [0, 1] by less than this and are clipped; logits overshoot by more


class Samples(NamedTuple):
    """One batch as tensors of shape (samples, classes); `weight` is None where everything counts once.

    Values are as they were passed. Code that sums them calls `counted` in the same pass; doing so in `as_samples` would
    take extra passes.

    Attributes:
        label: Labels in [0, 1].
        prediction: Probabilities or logits.
        weight: Weights, (samples, classes) or (samples, 1).
        logits: Whether predictions are logits.
        rivals: Whether the classes of a sample compete, so that one cannot be absent without the others.
    """

    label: Tensor
    prediction: Tensor
    weight: Tensor | None
    logits: bool = False
    rivals: bool = False

    def counted(self) -> Samples:
        """The samples as they enter the cells, by the rules of `counted`."""
        label, weight = _counted_labels(self.label, self.weight)
        p = without_absent(self.prediction, self.weight, whole_rows=self.rivals)
        return self._replace(label=label, prediction=p if self.logits else _counted_probability(p), weight=weight)

    @property
    def probability(self) -> Tensor:
        """Predictions as independent probabilities."""
        return ops.sigmoid(self.prediction) if self.logits else self.prediction

    def log_probability(self, floor: float = 0.0) -> Tensor:
        """Logarithms of predictions as rivals, up to a constant that all classes of a sample share.

        Probabilities below `floor` are raised to it, which bounds the slope of the logarithm.
        """
        return self.prediction if self.logits else ops.log(self.at_least(floor))

    def at_least(self, floor: float) -> Tensor:
        """Predictions, with those below `floor` raised to it; NaN stays NaN."""
        p = self.prediction
        return ops.where(p < floor, ops.cast(floor, p.dtype), p)

    @property
    def classes(self) -> int | None:
        """The number of classes, where it is known."""
        return self.prediction.shape[-1]


def counted(y: Tensor, p: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Labels, probabilities and weights as they enter the cells: the rules about values, in graphs and kernels.

    Weight 0 means absent, even for a NaN or a label such as -1. Probabilities are clipped to [0, 1]. Invalid values
    (labels outside [0, 1], negative weights, logits instead of probabilities) become NaN, which no score hides.
    """
    return Samples(y, p, w).counted()[:3]


def as_numbers(name: str, values: Any) -> Tensor:
    """Returns the data that users pass as a tensor of numbers or truth values."""
    try:
        tensor = ops.convert_to_tensor(values)
    except (TypeError, ValueError):
        tensor = None
    kind = keras.backend.standardize_dtype(tensor.dtype) if is_dense(tensor) else _described(values)
    if not is_dense(tensor) or kind in ("string", "complex64", "complex128"):
        raise ValueError(f"`{name}` must be a dense array of numbers. Received: {kind}")
    return tensor


def _described(values: Any) -> str:
    return " of ".join([type(values).__name__, *([str(values.dtype)] if hasattr(values, "dtype") else [])])


def explain(samples: Samples, totals: Tensor) -> None:
    """Raises the reason why eager `totals` are NaN, unless it is a NaN among the predictions, which stays NaN."""
    if not hasattr(totals, "numpy") or not np.isnan(ops.convert_to_numpy(totals)).any():
        return  # inside a graph no error can be raised, and NaN is the only signal
    check_values(samples)


def check_values(samples: Samples) -> None:
    """Raises a `ValueError` for invalid labels, weights or predictions, except for NaN predictions."""
    labels, predictions = (ops.convert_to_numpy(x) for x in (samples.label, samples.prediction))
    if samples.weight is not None:
        weight = np.broadcast_to(ops.convert_to_numpy(samples.weight), labels.shape)
        if not np.all((weight >= 0) & (weight < np.inf)):
            raise ValueError(f"`sample_weight` must be finite and non-negative. Received: {range_of(weight)}")
        labels, predictions = (x[weight != 0] for x in (labels, predictions))
    if not np.all((labels >= 0) & (labels <= 1)):
        raise ValueError(f"`y_true` must be in [0, 1]; map labels of -1 to 0. Received: {range_of(labels)}")
    if not samples.logits and np.any((predictions < -MARGIN) | (predictions > 1 + MARGIN)):
        raise ValueError(
            "`y_pred` must hold probabilities; for logits pass from_logits=True, or end the model with a sigmoid. "
            f"Received: {range_of(predictions)}"
        )


def range_of(values: np.ndarray) -> str:
    """Returns the part of an error message that says which values were received."""
    return "NaN" if np.isnan(values).any() else f"values from {np.min(values):g} to {np.max(values):g}"


def _counted_labels(y: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor | None]:
    y = without_absent(y, w, whole_rows=False)
    w = None if w is None else or_nan(ops.logical_and(w >= 0, w < np.inf), w)
    return or_nan(ops.logical_and(y >= 0, y <= 1), y), w


def _counted_probability(p: Tensor) -> Tensor:
    return or_nan(ops.logical_and(p >= -MARGIN, p <= 1 + MARGIN), clip(p, 0.0, 1.0))


def without_absent(x: Tensor, weight: Tensor | None, *, whole_rows: bool) -> Tensor:
    """Zeros in place of values of weight 0: element by element, or only where a whole sample has weight 0."""
    if weight is None:
        return x
    absent = ops.equal(weight, 0.0)
    return ops.where(ops.all(absent, axis=-1, keepdims=True) if whole_rows else absent, ops.zeros_like(x), x)


def or_nan(valid: Tensor, x: Tensor) -> Tensor:
    """NaN in place of invalid values."""
    return ops.where(valid, x, ops.cast(np.nan, x.dtype))
