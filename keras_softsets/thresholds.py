"""The plug-in threshold: the one that maximises a score on data, found exactly by sorting once."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets.confusion import ConfusionMatrix


class ThresholdCurve(NamedTuple):
    """A score at every threshold that decides differently.

    Attributes:
        thresholds: In ascending order, from "all positive" to "none positive".
        scores: The score at each of them.
    """

    thresholds: np.ndarray
    scores: np.ndarray


class TunedThreshold(NamedTuple):
    """The best threshold.

    Attributes:
        threshold: A float, or an array with one for each class.
        score: The score that it reaches, likewise.
    """

    threshold: float | np.ndarray
    score: float | np.ndarray


class TunedThresholdWithCurve(NamedTuple):
    """The best threshold and the curve that it was chosen from.

    Attributes:
        threshold: A float, or an array with one for each class.
        score: The score that it reaches, likewise.
        curve: A `ThresholdCurve`, or a tuple with one for each class.
    """

    threshold: float | np.ndarray
    score: float | np.ndarray
    curve: ThresholdCurve | tuple[ThresholdCurve, ...]


def tune_threshold(
    y_true: Any,
    y_prob: Any,
    score: str | Callable[..., Any] = "f1",
    sample_weight: Any = None,
    *,
    curve: bool = False,
    **score_args: Any,
) -> TunedThreshold | TunedThresholdWithCurve:
    """Finds the threshold at which `y_prob >= threshold` has the best score.

    With the probabilities sorted, cumulative sums give the confusion matrix for each of the distinct values, so that
    every decision rule of the data, including "all positive" and "none positive", is tried in O(n log n).

    A threshold is put halfway between two neighbouring probabilities, because exactly on one of them a rounding error
    would decide. It is a float32 number wherever float32 can tell the two apart, and then decides the same in NumPy, in
    `keras_softsets.metrics` and after `export_classifier`. Among thresholds of equal score the one nearest to 0.5 is
    chosen. It lies inside (0, 1) unless there is no such number: 0.0 says "all positive" where a probability is 0, and
    1.0 or `inf` "none positive" where the largest is, or is next to, 1.

    Tune on data that the model was not trained on, and report the score on a third set: the best of many thresholds
    is too good on the data that chose it.

    Args:
        y_true: Labels in [0, 1], of the shape of `y_prob` up to a last axis of length 1.
        y_prob: Probabilities: `(n,)`, or `(..., classes)` for one threshold per class; each is tuned on its own, which
            also gives the best macro average.
        score: A score of one threshold: a name, an object from `keras_softsets.scores`, or a function of a
            `ConfusionMatrix`. Defaults to `"f1"`.
        sample_weight: Weights that are not negative: `(n,)`, or anything that lines up with `y_prob` from the left.
            Weight 0 is absence. Defaults to `None`: 1 for each.
        curve: Whether to return all thresholds and scores as well. Defaults to `False`.
        **score_args: Arguments of the score, such as `beta=2` for `"f_beta"`.

    Returns:
        A named tuple `(threshold, score)`, or `(threshold, score, curve)` if `curve`.

    Raises:
        ValueError: For NaN, values outside [0, 1], nothing at all, shapes that do not fit, negative weights, a score of
            a whole curve such as `"roc_auc"`, or one that is not a number somewhere.

    Examples:
        >>> y_true = [0, 1, 0, 1]
        >>> y_prob = [0.125, 0.375, 0.5, 0.75]
        >>> tune_threshold(y_true, y_prob)
        TunedThreshold(threshold=0.25, score=0.8)
        >>> tune_threshold(y_true, y_prob, "f_beta", beta=0.5)
        TunedThreshold(threshold=0.625, score=0.8333333333333334)
        >>> tune_threshold(y_true, y_prob, "recall", curve=True).curve.scores
        array([1. , 1. , 0.5, 0.5, 0. ])

    Reference:
        [Koyejo et al., 2014](https://papers.nips.cc/paper/5454): for scores of this family the best classifier is a
        threshold on the probability.
    """
    resolved = scores.get(score, **score_args)
    if resolved.curve:
        raise ValueError(f"`score` must be a score of one threshold, but needs them all. Received: score={score!r}")
    labels, probabilities, weights = _columns(y_true, y_prob, sample_weight)
    curves = tuple(
        _curve(resolved, labels[:, k], probabilities[:, k], weights[:, k]) for k in range(probabilities.shape[1])
    )
    best = [_best(c) for c in curves]
    thresholds, values = (np.array(column) for column in zip(*best, strict=True))
    if len(best) == 1:
        tuned = TunedThreshold(*best[0])
        return TunedThresholdWithCurve(*tuned, curves[0]) if curve else tuned
    return TunedThresholdWithCurve(thresholds, values, curves) if curve else TunedThreshold(thresholds, values)


def _columns(y_true: Any, y_prob: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns labels, probabilities and weights of shape (samples, classes)."""
    probabilities, labels = np.asarray(y_prob), np.asarray(y_true)
    if probabilities.dtype not in (np.float16, np.float32):
        probabilities = probabilities.astype("float64")
    if not probabilities.size:
        raise ValueError(f"`y_prob` must hold at least one probability. Received: y_prob.shape={probabilities.shape}")
    if _squeezed(labels.shape) != _squeezed(probabilities.shape):
        raise ValueError(
            f"`y_true` and `y_prob` must have the same shape, up to a last axis of length 1. "
            f"Received: y_true.shape={labels.shape}, y_prob.shape={probabilities.shape}"
        )
    shape = probabilities.shape if probabilities.ndim > 1 else (probabilities.size, 1)
    weights = _weights(sample_weight, shape)
    rows = (-1, shape[-1])
    return labels.reshape(rows), probabilities.reshape(rows), weights.reshape(rows)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[:-1] if shape[-1:] == (1,) else shape


def _weights(sample_weight: Any, shape: tuple[int, ...]) -> np.ndarray:
    weights = np.ones(()) if sample_weight is None else np.asarray(sample_weight, dtype="float64")
    if not np.all((weights >= 0) & (weights < np.inf)):
        raise ValueError(f"`sample_weight` must hold finite numbers from 0 on. Received: {_worst(weights)}")
    try:
        return np.broadcast_to(weights.reshape(weights.shape + (1,) * (len(shape) - weights.ndim)), shape)
    except ValueError:
        raise ValueError(
            f"`sample_weight` must line up with `y_prob` from the left. "
            f"Received: sample_weight.shape={weights.shape}, y_prob.shape={shape}"
        ) from None


def _worst(values: np.ndarray) -> str:
    return "NaN" if np.isnan(values).any() else f"values from {np.min(values)} to {np.max(values)}"


def _curve(score: Any, labels: np.ndarray, probabilities: np.ndarray, weights: np.ndarray) -> ThresholdCurve:
    """Returns the score of one class at each of its thresholds."""
    if not weights.all():
        labels, probabilities, weights = (array[weights > 0] for array in (labels, probabilities, weights))
        if not weights.size:
            raise ValueError("`sample_weight` must leave at least one sample. Received: only zeros")
    for name, values in (("y_true", labels), ("y_prob", probabilities)):
        if not np.all((values >= 0) & (values <= 1)):
            raise ValueError(f"`{name}` must hold numbers in [0, 1]. Received: {_worst(values)}")
    order = np.argsort(probabilities)
    ranked = probabilities[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    positives, negatives = (
        np.add.reduceat(part[order], starts, dtype="float64") for part in (weights * labels, weights * (1 - labels))
    )
    values = _evaluate(score, _cells(positives, negatives))
    return ThresholdCurve(_between(ranked[starts]), values)


def _cells(positives: np.ndarray, negatives: np.ndarray) -> ConfusionMatrix:
    """Returns the cells for "positive from the k-th distinct probability on", and for "none positive" at the end."""
    from_here_on = [np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in (positives, negatives)]
    before = [np.append(0.0, np.cumsum(part)) for part in (positives, negatives)]
    # Four sums rather than two and differences: a small cell keeps all its digits.
    return ConfusionMatrix(*(ops.convert_to_tensor(cell[:, np.newaxis]) for cell in (*from_here_on, *before)))


def _evaluate(score: Any, cells: ConfusionMatrix) -> np.ndarray:
    values = np.asarray(ops.convert_to_numpy(score(cells)), dtype="float64")
    if values.shape != tuple(cells.tp.shape):
        raise ValueError(f"`score` must keep the shape of the cells. Received: {values.shape} from score={score!r}")
    if np.isnan(values).any():
        raise ValueError(f"`score` must be a number everywhere, 0 for 0 / 0. Received: NaN from score={score!r}")
    return values[:, 0]


def _between(distinct: np.ndarray) -> np.ndarray:
    """Returns a threshold below each distinct probability, but above the one before, and one above all."""
    narrow = distinct.astype("float16" if distinct.dtype == np.float16 else "float32")
    end = 1 if narrow[-1] < 1 else np.inf
    low, high = np.append(narrow[:1] * 0, narrow), np.append(narrow, narrow.dtype.type(end))
    middle = low + (high - low) / 2
    # With no number in between, the probability itself: `>=` includes it.
    return np.where((low < middle) & (middle < high), middle.astype("float64"), np.append(distinct, end))


def _best(curve: ThresholdCurve) -> tuple[float, float]:
    best = np.flatnonzero(curve.scores == curve.scores.max())
    chosen = best[np.argmin(np.abs(curve.thresholds[best] - 0.5))]
    return float(curve.thresholds[chosen]), float(curve.scores[chosen])
