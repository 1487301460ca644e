"""The score of each class at every distinct threshold, found by sorting once, and the rules of a constrained search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._backend import MARGIN, untraced, wide
from keras_softsets._checks import check_number, shown
from keras_softsets._inputs import as_samples
from keras_softsets.decisions._tuned import ThresholdCurve
from keras_softsets.matrices import ConfusionMatrix
from keras_softsets.operating import SLACK
from keras_softsets.samples import Samples, check_values, range_of
from keras_softsets.scores._registry import resolve

Rules = dict[scores.Score, float]
_AT_ONCE = 2**20  # thresholds that are scored together


@untraced
def columns_of(
    y_true: Any, y_pred: Any, sample_weight: Any, ignore_class: int | None, *, pooled: bool
) -> list[Samples]:
    """Returns the samples that count, with every digit they have, for each class or for all classes together."""
    data = (y_true, y_pred, sample_weight)
    dtype = "float32" if all(x is None or _is_narrow(_as_array(x)) for x in data) else wide()
    # TensorFlow would flush the smallest float32 numbers to 0 on the way to float64; NumPy does not.
    probabilities = np.asarray(_as_array(y_pred), dtype)
    samples = as_samples(y_true, probabilities, sample_weight, ignore_class=ignore_class, dtype=dtype)
    found = samples.pooled() if pooled else samples
    label, p = (ops.convert_to_numpy(x) for x in (found.label, found.prediction))
    weight = None if found.weight is None else ops.convert_to_numpy(found.weight)
    counts = np.broadcast_to(True, p.shape) if weight is None else weight != 0  # weight 0 means absent
    check_something_counts(counts, y_true, y_pred, ignore_class)
    return [_column(k, label, p, weight, counts) for k in range(p.shape[1])]


def _column(k: int, label: np.ndarray, p: np.ndarray, weight: np.ndarray | None, counts: np.ndarray) -> Samples:
    """The samples of a class that count; where all do, nothing is copied."""
    rows: Any = slice(None) if counts[:, k].all() else counts[:, k]
    return Samples(label[rows, k, None], p[rows, k, None], None if weight is None else weight[rows, k, None])


def _as_array(x: Any) -> np.ndarray:
    return np.asarray(ops.convert_to_numpy(x) if ops.is_tensor(x) else x)


def _is_narrow(x: np.ndarray) -> bool:
    """Whether float32 has room for all numbers; what are no numbers is for `as_samples` to refuse."""
    return x.dtype.kind in "biuf" and bool(np.equal(x, x.astype("float32")).all())


@untraced
def curve_of(score: Any, samples: Samples, dtype: np.dtype) -> ThresholdCurve:
    """Returns the score of one class at each of its thresholds."""
    label, p = (np.asarray(x)[:, 0] for x in (samples.label, samples.prediction))
    weight = None if samples.weight is None else np.asarray(samples.weight)[:, 0]
    _check_numbers(samples, label, p, weight)
    p = np.clip(p, 0, 1) + p.dtype.type(0)  # turns -0.0 into 0.0
    distinct, cells = sums_by_threshold(label, p, weight)
    return ThresholdCurve(_between(distinct, "float16" if dtype == np.float16 else "float32"), _evaluate(score, cells))


def _check_numbers(samples: Samples, label: Any, p: Any, weight: Any) -> None:
    """Raises if a value is invalid; the usual case costs six numbers."""
    valid = label.min() >= 0 and label.max() <= 1 and p.min() >= -MARGIN and p.max() <= 1 + MARGIN  # not for NaN
    if valid and (weight is None or (weight.min() >= 0 and weight.max() < np.inf)):
        return
    check_values(samples)
    raise ValueError("`y_pred` must hold numbers. Received: NaN")


def sums_by_threshold(
    label: np.ndarray, p: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns the distinct probabilities, rising, and tp, fp, fn and tn if each is the threshold, or none is positive.

    In NumPy, which sorts numbers many times as fast as indices.

    Args:
        label: Labels in [0, 1], (samples,).
        p: Probabilities in [0, 1], without -0.0.
        weight: Weights, or `None` for 1 each.

    Examples:
        >>> distinct, (tp, fp, fn, tn) = sums_by_threshold(np.array([0, 1, 1]), np.array([0.2, 0.2, 0.7]), None)
        >>> distinct, tp, fp
        (array([0.2, 0.7]), array([2, 1, 0]), array([1, 0, 0]))
    """
    if weight is None and bool(((label == 0) | (label == 1)).all()):
        return _counted(label, p)
    return _summed(label, p, np.ones_like(p) if weight is None else weight)


def _counted(label: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Sorts bit patterns, which for numbers of one sign are in the order of the numbers, with the label as last bit."""
    size = p.dtype.itemsize
    keys = p.view(f"uint{8 * size}") << 1  # nothing is lost: no number up to 1 has its first two bits set
    keys |= label.astype("bool")
    keys.sort()
    values = keys >> 1
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))  # of equal probabilities
    distinct, below = values[first].view(p.dtype), np.append(first, len(p))
    keys &= 1
    fn = np.append(0, np.cumsum(keys, dtype="int64")[below[1:] - 1])
    tp, tn = fn[-1] - fn, below - fn
    return distinct, [tp, len(p) - below - tp, fn, tn]


def _summed(label: np.ndarray, p: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Four sums, rather than two sums and two differences: a small cell keeps all its digits."""
    label, weight, order = label.astype("float64"), weight.astype("float64"), _falling(p)
    p = p[order]
    last = np.flatnonzero(np.append(p[1:] != p[:-1], True))[::-1]  # of equal probabilities
    parts = [x[order] for x in (weight * label, weight * (1 - label))]
    above = [np.append(np.cumsum(x)[last], 0.0) for x in parts]
    below = [np.append(np.cumsum(x[::-1])[::-1], 0.0)[last + 1] for x in parts]
    return p[last], [*above, *(np.append(x, all_above[0]) for x, all_above in zip(below, above))]


def _falling(p: np.ndarray) -> np.ndarray:
    """The places of numbers in falling order; of equal ones, the first comes first."""
    if p.dtype != np.float32:
        return np.argsort(-p, kind="stable")
    low = np.uint64(2**32 - 1)
    keys = (low - p.view("uint32").astype("uint64")) << np.uint64(32)
    keys |= np.arange(len(p), dtype="uint64")
    keys.sort()
    return (keys & low).astype("int64")


def within(curve: ThresholdCurve, rules: Rules, samples: Samples, dtype: np.dtype) -> ThresholdCurve:
    """Returns the curve with NaN as the score of thresholds that break a rule."""
    if not rules:
        return curve
    meets = meeting(rules, [curve_of(rule, samples, dtype).scores for rule in rules])
    return curve._replace(scores=np.where(meets, curve.scores, np.nan))


def _evaluate(score: Any, cells: list[np.ndarray]) -> np.ndarray:
    """The score at each threshold; the score of many of them at once takes much memory."""
    count = len(cells[0])
    size = _AT_ONCE if score.registered else count  # an own function may do what it likes with all of them
    return np.concatenate([_values(score, [x[k : k + size, None] for x in cells]) for k in range(0, count, size)])


def _values(score: Any, cells: list[np.ndarray]) -> np.ndarray:
    matrix = ConfusionMatrix(*(ops.convert_to_tensor(cell.astype("float64")) for cell in cells))
    values = np.asarray(ops.convert_to_numpy(score(matrix.carrying(hard=True))), dtype=wide())
    if values.shape != cells[0].shape:
        raise ValueError(f"`score` must keep the shape of the cells. Received: {values.shape} from score={score!r}")
    if np.isnan(values).any():
        raise ValueError(f"`score` must be a number everywhere, 0 for 0 / 0. Received: NaN from score={score!r}")
    return values[:, 0]


def _between(distinct: np.ndarray, dtype: str) -> np.ndarray:
    """Returns a threshold below each distinct probability but above the previous one, and a threshold above all."""
    narrow = distinct.astype(dtype)
    end = 1 if narrow[-1] < 1 else np.inf
    low, high = np.append(narrow[:1] * 0, narrow), np.append(narrow, narrow.dtype.type(end))
    middle = low + (high - low) / 2
    # If there is no number in between, the probability itself: `>=` includes it.
    return np.where((low < middle) & (middle < high), middle.astype("float64"), np.append(distinct, end))


def best_of(curve: ThresholdCurve, plateau: float | None = None) -> tuple[float, float]:
    """Returns the best threshold and its score; of several, the one nearest to 0.5.

    With a plateau, it is the one nearest to the middle of those around the best that are at most so much worse.
    """
    best = np.flatnonzero(curve.scores == np.nanmax(curve.scores))
    chosen = best[np.argmin(np.abs(curve.thresholds[best] - 0.5))]
    if plateau is not None:
        good = curve.scores >= curve.scores[chosen] - plateau  # False for NaN
        low = chosen - np.argmin(np.append(good[chosen::-1], False)) + 1
        high = chosen + np.argmin(np.append(good[chosen:], False)) - 1
        around = np.minimum(curve.thresholds[low : high + 1], 2.0)  # "none positive" may be inf
        chosen = low + int(np.argmin(np.abs(around - (around[0] + around[-1]) / 2)))
    return float(curve.thresholds[chosen]), float(curve.scores[chosen])


def at_threshold(curve: ThresholdCurve, threshold: float) -> tuple[float, float]:
    """Returns the curve's threshold nearest to the given one, and its score, or NaN if that is not allowed."""
    place = int(np.argmin(np.abs(np.minimum(curve.thresholds, 2.0) - threshold)))
    return float(curve.thresholds[place]), float(curve.scores[place])


def rules_of(at_least: Mapping[Any, float] | None) -> Rules:
    """Resolves what users pass as `at_least`."""
    if at_least is not None and not isinstance(at_least, Mapping):
        raise ValueError(f"`at_least` must map scores to numbers, {{'recall': 0.95}}. Received: at_least={at_least!r}")
    rules = {_score_of(key): check_number(f"at_least[{key!r}]", value) for key, value in (at_least or {}).items()}
    for rule in rules:
        if rule.curve or rule.of != "cells":
            raise ValueError(f"`at_least` must have scores of one threshold. Received: {rule!r}")
    return rules


def _score_of(key: Any) -> scores.Score:
    return resolve(key, {}, argument="A key of `at_least`", received=f"at_least={{{shown(key)}: ...}}")


def meeting(rules: Rules, reached: Sequence[np.ndarray]) -> np.ndarray:
    """Returns whether each threshold meets all rules; if none does, raises a `ValueError` that says what is possible.

    Args:
        rules: At least one.
        reached: The score of each rule at every threshold.
    """
    meets = np.array([values >= least - SLACK for values, least in zip(reached, rules.values(), strict=True)])
    every = np.logical_and.reduce(meets)
    if every.any():
        return every
    best = [_best(values, np.logical_and.reduce(np.delete(meets, k, 0))) for k, values in enumerate(reached)]
    raise ValueError(
        f"`at_least` must be within reach; the best is {_listed(rules, best)}"
        f"{', each where the others are met' if len(rules) > 1 else ''}. Received: {_listed(rules, rules.values())}"
    )


def _best(values: np.ndarray, within: np.ndarray) -> float:
    """The best value where the other rules are met, or anywhere if they never are."""
    return float(values[within].max() if np.any(within) else values.max())


def _listed(rules: Rules, values: Any) -> str:
    return ", ".join(
        f"{repr(rule).removesuffix('()')} of {value:.6g}" for rule, value in zip(rules, values, strict=True)
    )


def check_something_counts(counts: np.ndarray, y_true: Any, y_pred: Any, ignore_class: int | None) -> None:
    """Raises a `ValueError` that says why a class is left without samples.

    Args:
        counts: Whether each sample counts for each class, (samples, classes); weight 0 means absent.
        y_true: The labels as they were passed.
        y_pred: The predictions as they were passed.
        ignore_class: Class id that does not count.
    """
    if not counts.size:
        raise ValueError(f"`y_pred` must hold at least one probability. Received: y_pred.shape={np.shape(y_pred)}")
    if counts.any(0).all():
        return
    if ignore_class is not None and np.all(ops.convert_to_numpy(y_true) == ignore_class):
        raise ValueError(
            f"`ignore_class` must leave at least one sample, but is every label. Received: ignore_class={ignore_class}"
        )
    received = "only zeros" if ignore_class is None else f"only zeros where the label is not {ignore_class}"
    raise ValueError(f"`sample_weight` must leave at least one sample for each class. Received: {received}")


def check_importances(average: Any, classes: int) -> None:
    """Raises a `ValueError` if `average` is a sequence of another length than the number of classes."""
    if isinstance(average, tuple) and len(average) != classes:
        raise ValueError(
            f"`average` must have as many importances as there are classes, {classes}. "
            f"Received: average={list(average)}"
        )


def checked(
    y_true: Any, y_pred: Any, sample_weight: Any, *, average: Any, ignore_class: int | None, **options: Any
) -> Samples:
    """Returns labels, predictions and weights of the samples that count, as metrics see them, in NumPy."""
    array = np.asarray(y_pred, "float32")
    samples = as_samples(y_true, array, sample_weight, argmax=True, ignore_class=ignore_class, **options)
    if samples.classes == 1:
        raise ValueError(
            "`decision` must be 'threshold' for predictions of one class. "
            f"Received: decision='argmax', y_pred.shape={array.shape}"
        )
    check_importances(average, samples.prediction.shape[1])
    label, p = (ops.convert_to_numpy(x) for x in (samples.label, samples.prediction))
    weight = np.ones_like(p[:, :1]) if samples.weight is None else ops.convert_to_numpy(samples.weight)
    rows = (weight != 0).any(1)  # weight 0 means absent
    check_something_counts(rows[:, None], y_true, y_pred, ignore_class)
    if not np.isfinite(p[rows]).all():
        raise ValueError(f"`y_pred` must hold numbers. Received: {range_of(p[rows])}")
    kept = Samples(label[rows], p[rows], weight[rows], samples.logits)
    check_values(kept)
    return kept if kept.logits else kept._replace(prediction=np.clip(kept.prediction, 0, 1))
