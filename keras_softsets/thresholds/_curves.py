"""The score of each class at every threshold that decides differently, found by sorting once."""

from typing import Any

import numpy as np
from keras import ops

from keras_softsets._inputs import as_samples
from keras_softsets._ranked import ranked
from keras_softsets._samples import Samples, explain
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.thresholds._at_least import Rules, meeting
from keras_softsets.thresholds._results import ThresholdCurve


def columns_of(
    y_true: Any, y_pred: Any, sample_weight: Any, ignore_class: int | None, *, pooled: bool
) -> list[Samples]:
    """Returns the samples that count, in float64, for each class or for all classes together."""
    # TensorFlow would flush the smallest float32 numbers to 0 on the way to float64; NumPy does not.
    probabilities = np.asarray(y_pred, "float64")
    samples = as_samples(y_true, probabilities, sample_weight, ignore_class=ignore_class, dtype="float64")
    label, p = (ops.convert_to_numpy(x) for x in (samples.label, samples.prediction))
    weight = np.ones_like(p) if samples.weight is None else ops.convert_to_numpy(samples.weight)
    if not p.size:
        raise ValueError(f"`y_pred` must hold at least one probability. Received: y_pred.shape={np.shape(y_pred)}")
    if pooled:
        label, p, weight = (x.reshape(-1, 1) for x in (label, p, weight))
    counts = weight != 0  # weight 0 means absent
    if not counts.any(0).all():
        raise ValueError("`sample_weight` must leave at least one sample for each class. Received: only zeros")
    return [Samples(label[rows, k, None], p[rows, k, None], weight[rows, k, None]) for k, rows in enumerate(counts.T)]


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
    values = np.asarray(ops.convert_to_numpy(score(cells)), dtype="float64")
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


def best_of(curve: ThresholdCurve) -> tuple[float, float]:
    best = np.flatnonzero(curve.scores == np.nanmax(curve.scores))
    chosen = best[np.argmin(np.abs(curve.thresholds[best] - 0.5))]
    return float(curve.thresholds[chosen]), float(curve.scores[chosen])
