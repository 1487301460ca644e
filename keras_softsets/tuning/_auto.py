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
# Free offsets must be ahead by a standard error, Breiman's rule: 0.683 of a normal distribution is within one.
_LEVEL, _RESAMPLES = 0.683, 200

Tuner = Callable[[Samples, scores.Score, Any], np.ndarray]


def tune_auto_offsets(
    y_true: Any, y_pred: Any, score: scores.Score, sample_weight: Any, average: Any, folds: int, **options: Any
) -> tuple[Argmax, float]:
    """Returns the argmax with offsets of the kind that is best on folds kept back, and the score on all data.

    The offsets are the means of those found without each fold, which depend less on single samples.
    """
    data = (y_true, y_pred, sample_weight)
    samples = checked(*data, average=average, c_x_c=score.of == "classes", **options)
    fold = folds_of(samples.label.argmax(1), folds)
    parts = [fold != k for k in np.unique(fold)]
    found = {
        tuner: np.array([_centred(tuner(_rows(samples, rows), score, average)) for rows in parts])
        for tuner in (_none, _prior, _free)
    }
    kept_back = {tuner: each[np.unique(fold, return_inverse=True)[1]] for tuner, each in found.items()}
    none, prior = (_value(samples, score, average, kept_back[tuner]) for tuner in (_none, _prior))
    best = _prior if prior > none + _SAME else _none  # if equal, the simpler one
    best = _free if _surely_ahead(samples, score, average, kept_back[_free], kept_back[best]) else best
    offsets = found[best].mean(0)
    reached = _value(samples, score, average, offsets)
    if reached < (without := _value(samples, score, average, 0 * offsets)):
        return Argmax(offsets=tuple(0 * offsets)), without
    return Argmax(offsets=tuple(offsets)), reached


def _centred(offsets: np.ndarray) -> np.ndarray:
    """The same decision: only differences between offsets count."""
    return offsets - offsets.mean()


def _surely_ahead(samples: Samples, score: scores.Score, average: Any, first: np.ndarray, second: np.ndarray) -> bool:
    """Whether free offsets, which could fit chance, are ahead by more than a standard error."""
    shifted = [_log_p(samples) + offsets for offsets in (first, second)]
    options: Any = {"threshold": "argmax", "average": average, "from_logits": True}
    interval: Any = {"against": shifted[1], "interval": _LEVEL, "resamples": _RESAMPLES}
    return bool(evaluate(samples.label, shifted[0], score, samples.weight, **options, **interval).low > _SAME)


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
