"""The single entry point for data: whatever was passed becomes tensors of (samples, classes), or a clear error."""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._labels import Labels, Shape, are_ids, check_ids, from_ids, from_one_class

MARGIN = 0.1  # interpolated probabilities overshoot a little, and are clipped; logits go further


class Samples(NamedTuple):
    """One batch as tensors of shape (samples, classes); `weight` is None where everything counts once.

    Values are as they were passed. Whoever sums them has them `counted` first, in the same pass: in `as_samples` that
    would take passes of its own.

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
        p = _without_absent(self.prediction, self.weight, whole_rows=self.rivals)
        return self._replace(label=label, prediction=p if self.logits else _counted_probability(p), weight=weight)

    @property
    def probability(self) -> Tensor:
        """Predictions as independent probabilities."""
        return ops.sigmoid(self.prediction) if self.logits else self.prediction

    def log_probability(self, floor: float = 0.0) -> Tensor:
        """Logarithms of predictions as rivals, up to a number that all classes of a sample share.

        Probabilities below `floor` count as that, which bounds the slope of the logarithm.
        """
        p = self.prediction
        return p if self.logits else ops.log(ops.where(p < floor, ops.cast(floor, p.dtype), p))  # NaN stays NaN

    @property
    def classes(self) -> int | None:
        """The number of classes, where it is known."""
        return self.prediction.shape[-1]


def as_samples(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    from_logits: bool = False,
    ignore_class: int | None = None,
    rivals: bool = False,
    whole_rows: bool = False,
    dtype: str = "float32",
) -> Samples:
    """Lines everything up with `y_pred`, merges mask and weights, and flattens all leading axes into samples.

    Args:
        y_true: Labels in [0, 1], of the shape of `y_pred` up to a trailing axis of length 1, or class ids.
        y_pred: Probabilities, or logits if `from_logits`: `(n,)` or `(..., classes)`.
        sample_weight: Weights that line up with `y_pred` from the left: a scalar, per sample `(n,)` or `(n, 1)`, per
            leading axes (`(n, time)` for sequences, `(n, height, width)` for images), per element, or per class
            `(1, classes)`.
        mask: Like `sample_weight`; False removes.
        from_logits: Whether `y_pred` holds logits.
        ignore_class: Class id, or label of a single class, that does not count.
        rivals: Whether the classes of a sample compete.
        whole_rows: Whether a sample has one weight for all of its classes: (samples, 1).
        dtype: Type of the tensors. Half precision is widened before anything is summed; float64 is narrowed, as in
            every Keras loss.
    """
    labels, predictions, weights = _lined_up(y_true, y_pred, sample_weight, mask, ignore_class, whole_rows, dtype)
    weight = _product(weights, predictions, whole_rows)
    if from_logits and not rivals:
        # The slope of a sigmoid at NaN is NaN, and NaN * 0 as well; so logits of weight 0 must not be seen at all.
        predictions = _without_absent(predictions, weight, whole_rows=False)
    flat = [None if x is None else _two_axes(x) for x in (labels, predictions, weight)]
    return Samples(flat[0], flat[1], flat[2], from_logits, rivals)


def paired(y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
    """Labels and predictions for losses that are not ours: of one shape, (..., classes), so that nothing broadcasts.

    Class ids stay as they are, and so does the mask that a layer left on the predictions.
    """
    labels, predictions = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
    predictions = ops.cast(predictions, keras.backend.result_type(predictions.dtype, "float32"))
    if getattr(labels.shape, "rank", 0) is None or not are_ids(tuple(labels.shape), tuple(predictions.shape)):
        (labels, *_), predictions = _lined_up_labels(labels, predictions, None)
    mask = getattr(y_pred, "_keras_mask", None)
    if mask is not None:
        predictions._keras_mask = mask
    return labels, predictions


class Sets(NamedTuple):
    """One batch in which every sample (image, sequence) is a set of its own.

    Attributes:
        samples: Tensors of shape (sets, elements, classes).
        importance: Weight of each set in a mean over sets, (sets,); NaN where it cannot be right.
    """

    samples: Samples
    importance: Tensor


def as_sets(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    mask: Tensor | None = None,
    from_logits: bool = False,
    ignore_class: int | None = None,
    rivals: bool = False,
    whole_rows: bool = False,
) -> Sets:
    """Like `as_samples`, with the first axis kept apart.

    Weights and masks with a number for each set, `(n,)` or `(n, 1)`, weight the sets; others weight elements inside
    them. A set of which nothing counts is absent.
    """
    labels, predictions, weights = _lined_up(y_true, y_pred, sample_weight, mask, ignore_class, whole_rows, "float32")
    of_sets = [weight for weight in weights if all(side == 1 for side in weight.shape[1:])]
    of_elements = [weight for weight in weights if not any(weight is other for other in of_sets)]
    weight = _product(of_elements, predictions, whole_rows)
    importance = _importance(ops.ones_like(predictions) if weight is None else weight, of_sets)
    if from_logits and not rivals:
        predictions = _without_absent(predictions, weight, whole_rows=False)
    deep = [None if x is None else _three_axes(x) for x in (labels, predictions, weight)]
    return Sets(Samples(deep[0], deep[1], deep[2], from_logits, rivals), importance)


def _importance(weight: Tensor, of_sets: list[Tensor]) -> Tensor:
    """The weight of each set, 0 where nothing in it counts."""
    counts = ops.any(ops.not_equal(weight, 0), axis=tuple(range(1, len(weight.shape))))
    importance = ops.cast(counts, weight.dtype)
    for other in of_sets:
        importance = importance * ops.reshape(other, (-1,))
    valid = ops.logical_and(importance >= 0, importance < np.inf)
    if hasattr(valid, "numpy") and not np.all(ops.convert_to_numpy(valid)):
        raise ValueError(
            f"`sample_weight` must be finite and non-negative. Received: {_range(ops.convert_to_numpy(importance))}"
        )
    return _or_nan(valid, importance)


def counted(y: Tensor, p: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Labels, probabilities and weights as they enter the cells: the rules about values, for graphs and kernels.

    Weight 0 is absence, of a NaN or of a label such as -1, too. Probabilities are clipped to [0, 1]. What cannot be
    right (labels outside [0, 1], negative weights, logits instead of probabilities) becomes NaN, which no score hides.
    """
    return Samples(y, p, w).counted()[:3]


def explain(samples: Samples, totals: Tensor) -> None:
    """Raises the reason why eager `totals` are NaN, unless it is a NaN among the predictions, which stays NaN."""
    if not hasattr(totals, "numpy") or not np.isnan(ops.convert_to_numpy(totals)).any():
        return  # inside a graph NaN has to speak for itself
    labels, predictions = (ops.convert_to_numpy(x) for x in (samples.label, samples.prediction))
    if samples.weight is not None:
        weight = np.broadcast_to(ops.convert_to_numpy(samples.weight), labels.shape)
        if not np.all((weight >= 0) & (weight < np.inf)):
            raise ValueError(f"`sample_weight` must be finite and non-negative. Received: {_range(weight)}")
        labels, predictions = (x[weight != 0] for x in (labels, predictions))
    if not np.all((labels >= 0) & (labels <= 1)):
        raise ValueError(f"`y_true` must be in [0, 1]; map labels of -1 to 0. Received: {_range(labels)}")
    if not samples.logits and (np.nanmin(predictions) < -MARGIN or np.nanmax(predictions) > 1 + MARGIN):
        raise ValueError(
            "`y_pred` must hold probabilities; for logits say from_logits=True, or end the model with a sigmoid. "
            f"Received: {_range(predictions)}"
        )


def _range(values: np.ndarray) -> str:
    return "NaN" if np.isnan(values).any() else f"values from {np.min(values):g} to {np.max(values):g}"


def _counted_labels(y: Tensor, w: Tensor | None) -> tuple[Tensor, Tensor | None]:
    y = _without_absent(y, w, whole_rows=False)
    w = None if w is None else _or_nan(ops.logical_and(w >= 0, w < np.inf), w)
    return _or_nan(ops.logical_and(y >= 0, y <= 1), y), w


def _counted_probability(p: Tensor) -> Tensor:
    return _or_nan(ops.logical_and(p >= -MARGIN, p <= 1 + MARGIN), ops.clip(p, 0.0, 1.0))


def _without_absent(x: Tensor, weight: Tensor | None, *, whole_rows: bool) -> Tensor:
    """Zeros in the place of what has the weight 0: element by element, or only where a whole sample has."""
    if weight is None:
        return x
    absent = ops.equal(weight, 0.0)
    return ops.where(ops.all(absent, axis=-1, keepdims=True) if whole_rows else absent, ops.zeros_like(x), x)


def _or_nan(valid: Tensor, x: Tensor) -> Tensor:
    return ops.where(valid, x, ops.cast(np.nan, x.dtype))


def _lined_up(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None,
    mask: Tensor | None,
    ignore_class: int | None,
    whole_rows: bool,
    dtype: str,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Labels, predictions and all weights with the same number of axes, (..., classes)."""
    predictions = ops.cast(ops.convert_to_tensor(y_pred), dtype)
    found, predictions = _lined_up_labels(ops.convert_to_tensor(y_true), predictions, ignore_class)
    named = {"sample_weight": sample_weight, "mask": mask}
    weights = [_lined_up_weights(name, x, predictions, whole_rows) for name, x in named.items() if x is not None]
    weights = weights if found.counts is None else [*weights, found.counts]
    if found.ids is not None:
        check_ids(found.ids, predictions.shape[-1], weights)
    return found.label, predictions, weights


def _lined_up_labels(labels: Tensor, predictions: Tensor, ignore_class: int | None) -> tuple[Labels, Tensor]:
    """Gives labels and predictions the shape (..., classes), without ever broadcasting one against the other."""
    if getattr(labels.shape, "rank", 0) is None:  # tf.data with py_function forgets even the rank
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
    # The static check cannot see a batch size that is only known at run time; this can.
    return found._replace(label=ops.reshape(found.label, ops.shape(predictions))), predictions


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


def _lined_up_weights(name: str, weight: Any, like: Tensor, whole_rows: bool) -> Tensor:
    """Lines weights up with predictions from the left, samples first, as Keras does."""
    weight = ops.cast(ops.convert_to_tensor(weight), like.dtype)
    given, shape = tuple(weight.shape), (*like.shape[:-1], 1) if whole_rows else tuple(like.shape)
    padding = len(shape) - len(given)
    if padding > 0:
        weight = ops.reshape(weight, (*ops.shape(weight), *(1,) * padding))
    if padding < 0 or not all(a in (1, b, None) or b is None for a, b in zip(weight.shape, shape)):
        more = "" if whole_rows else ", per element, or per class (1, classes)"
        raise ValueError(
            f"`{name}` must line up with `y_pred` from the left: per sample (n,){more}. "
            f"Received: {name}.shape={given}, y_pred.shape={tuple(like.shape)}"
        )
    return weight


def _product(weights: list[Tensor], like: Tensor, whole_rows: bool) -> Tensor | None:
    if not weights:
        return None
    shape = ops.shape(like)
    return ops.broadcast_to(functools.reduce(ops.multiply, weights), (*shape[:-1], 1) if whole_rows else shape)


def _two_axes(x: Tensor) -> Tensor:
    # -1 cannot be inferred when the number of classes is unknown or 0, hence the product.
    classes = x.shape[-1]
    return x if len(x.shape) == 2 else ops.reshape(x, (-1, classes if classes is not None else ops.shape(x)[-1]))


def _three_axes(x: Tensor) -> Tensor:
    shape = ops.shape(x)
    # -1 cannot be inferred when there are no sets, as on a replica that gets nothing.
    return ops.reshape(x, (shape[0], functools.reduce(operator.mul, shape[1:-1], 1), shape[-1]))
