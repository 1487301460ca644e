"""The score of each class at every distinct threshold, found by sorting once, and the rules of a constrained search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._backend import untraced, wide
from keras_softsets._checks import check_number, shown
from keras_softsets._inputs import as_samples
from keras_softsets.decisions._tuned import ThresholdCurve
from keras_softsets.matrices import ConfusionMatrix
from keras_softsets.operating import SLACK, ranked
from keras_softsets.samples import Samples, check_values, explain, range_of
from keras_softsets.scores._registry import resolve

Rules = dict[scores.Score, float]


@untraced
def columns_of(
    y_true: Any, y_pred: Any, sample_weight: Any, ignore_class: int | None, *, pooled: bool
) -> list[Samples]:
    """Returns the samples that count, in float64, for each class or for all classes together."""
    # TensorFlow would flush the smallest float32 numbers to 0 on the way to float64; NumPy does not.
    array = ops.convert_to_numpy(y_pred) if ops.is_tensor(y_pred) else y_pred
    probabilities = np.asarray(array, "float64")
    samples = as_samples(y_true, probabilities, sample_weight, ignore_class=ignore_class, dtype=wide())
    label, p = (ops.convert_to_numpy(x) for x in (samples.label, samples.prediction))
    weight = np.ones_like(p) if samples.weight is None else ops.convert_to_numpy(samples.weight)
    if pooled:
        label, p, weight = (x.reshape(-1, 1) for x in (label, p, weight))
    counts = weight != 0  # weight 0 means absent
    check_something_counts(counts, y_true, y_pred, ignore_class)
    return [Samples(label[rows, k, None], p[rows, k, None], weight[rows, k, None]) for k, rows in enumerate(counts.T)]


@untraced
def curve_of(score: Any, samples: Samples, dtype: np.dtype) -> ThresholdCurve:
    """Returns the score of one class at each of its thresholds."""
    ranks = ranked(samples)
    explain(samples, ranks.cells.tp)
    if np.isnan(samples.prediction).any():
        raise ValueError("`y_pred` must hold numbers. Received: NaN")
    rows = np.flatnonzero(ops.convert_to_numpy(ranks.last))[::-1]  # from the smallest probability up
    cells = [ops.convert_to_numpy(cell)[rows] for cell in ranks.cells]
    none = [cells[0][:1] * 0, cells[1][:1] * 0, cells[0][:1], cells[1][:1]]  # "none positive", at the end
    every = ConfusionMatrix(*(ops.convert_to_tensor(np.concatenate(pair)) for pair in zip(cells, none)))
    probabilities = ops.convert_to_numpy(ranks.probability)[rows, 0]
    return ThresholdCurve(
        _between(probabilities, "float16" if dtype == np.float16 else "float32"), _evaluate(score, every)
    )


def within(curve: ThresholdCurve, rules: Rules, samples: Samples, dtype: np.dtype) -> ThresholdCurve:
    """Returns the curve with NaN as the score of thresholds that break a rule."""
    if not rules:
        return curve
    meets = meeting(rules, [curve_of(rule, samples, dtype).scores for rule in rules])
    return curve._replace(scores=np.where(meets, curve.scores, np.nan))


def _evaluate(score: Any, cells: ConfusionMatrix) -> np.ndarray:
    values = np.asarray(ops.convert_to_numpy(score(cells)), dtype=wide())
    if values.shape != tuple(cells.tp.shape):
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
