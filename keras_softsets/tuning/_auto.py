"""Folds of the data, and what they choose: how many offsets the data can bear.

With few samples of some classes, free offsets fit chance. One number t, for all classes, shifts log p
by -t log(share of the class), which is logit adjustment.

Reference:
    [Menon et al., 2021](https://arxiv.org/abs/2007.07314)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_softsets import scores
from keras_softsets.decisions import Argmax
from keras_softsets.decisions._decision import TINY
from keras_softsets.evaluation import evaluate
from keras_softsets.samples import Samples
from keras_softsets.tuning._offsets import tune_offsets
from keras_softsets.tuning._thresholds import checked


def folds_of(classes: np.ndarray, folds: int) -> np.ndarray:
    """Returns the fold of each sample: every class is dealt out evenly, in a random but fixed order.

    Examples:
        >>> [int(np.sum(folds_of(np.array([0, 0, 0, 0, 1, 1]), 2) == fold)) for fold in (0, 1)]
        [3, 3]
    """
    rng, fold = np.random.default_rng(0), np.empty(len(classes), "int64")
    for k in np.unique(classes):
        rows = rng.permutation(np.flatnonzero(classes == k))
        fold[rows] = np.arange(len(rows)) % folds
    return fold


def without_each(samples: Samples, folds: int) -> list[Samples]:
    """Returns the samples of one class without each of several folds."""
    fold = folds_of(np.asarray(samples.label)[:, 0] >= 0.5, folds)
    parts = [_rows(samples, fold != k) for k in range(folds)]
    return [part for part in parts if len(part.label)]  # one sample of each class is all in the first fold


_SAME = 1e-12
_TIMES = np.linspace(-0.5, 1.5, 21)  # of log shares
FOLDS = 5

Tuner = Callable[[Samples, scores.Score, Any], np.ndarray]


def tune_auto_offsets(
    y_true: Any, y_pred: Any, score: scores.Score, sample_weight: Any, average: Any, folds: int, **options: Any
) -> tuple[Argmax, float]:
    """Returns the argmax with offsets of the kind that is best on folds kept back, and the score on all data."""
    data = (y_true, y_pred, sample_weight)
    samples = checked(*data, average=average, c_x_c=score.of == "classes", **options)
    fold = folds_of(samples.label.argmax(1), folds)
    reached = {tuner: _on_folds(tuner, samples, score, average, fold) for tuner in (_none, _prior, _free)}
    best = _none
    for tuner, value in reached.items():
        best = tuner if value > reached[best] + _SAME else best  # if equal, the simpler one
    offsets = best(samples, score, average)
    return Argmax(offsets=tuple(offsets)), _value(samples, score, average, offsets)


def _on_folds(tuner: Tuner, samples: Samples, score: scores.Score, average: Any, fold: np.ndarray) -> float:
    """The score of all samples, each decided with offsets that were tuned without its fold."""
    offsets = np.zeros(samples.prediction.shape)
    for k in np.unique(fold):
        offsets[fold == k] = tuner(_rows(samples, fold != k), score, average)
    return _value(samples, score, average, offsets)


def _value(samples: Samples, score: scores.Score, average: Any, offsets: np.ndarray) -> float:
    shifted = _log_p(samples) + offsets
    options: Any = {"threshold": "argmax", "average": average, "from_logits": True}
    return float(evaluate(samples.label, shifted, score, samples.weight, **options))


def _log_p(samples: Samples) -> np.ndarray:
    p = samples.prediction.astype("float64")
    return p if samples.logits else np.log(np.maximum(p, TINY))


def _rows(samples: Samples, rows: np.ndarray) -> Samples:
    label, p = (np.asarray(x)[rows] for x in (samples.label, samples.prediction))
    weight = None if samples.weight is None else np.asarray(samples.weight)[rows]
    return samples._replace(label=label, prediction=p, weight=weight)


def _none(samples: Samples, score: scores.Score, average: Any) -> np.ndarray:
    return np.zeros(samples.prediction.shape[1])


def _prior(samples: Samples, score: scores.Score, average: Any) -> np.ndarray:
    share = np.sum(samples.weight * samples.label, 0, dtype="float64")
    log_share = np.log(np.maximum(share / share.sum(), 1e-6))
    values = [_value(samples, score, average, -times * log_share) for times in _TIMES]
    best = np.flatnonzero(np.asarray(values) >= max(values) - _SAME)
    return -_TIMES[best[np.argmin(np.abs(_TIMES[best]))]] * log_share


def _free(samples: Samples, score: scores.Score, average: Any) -> np.ndarray:
    label, p, weight = samples[:3]
    found, _ = tune_offsets(label, p, score, weight, average, ignore_class=None, from_logits=samples.logits)
    return np.asarray(found.offsets)
