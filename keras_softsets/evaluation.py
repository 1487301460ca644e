"""From labels and predictions to the value of a score, with a confidence interval if that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._checks import Average, ZeroDivision
from keras_softsets._evaluation import CURVE_THRESHOLDS as CURVE_THRESHOLDS
from keras_softsets._evaluation import PAPER_THRESHOLDS as PAPER_THRESHOLDS
from keras_softsets._evaluation import Evaluation
from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.intervals._interval import Settings, estimates, subject_of
from keras_softsets.samples import as_numbers, check_order
from keras_softsets.scores._registry import ScoreLike, resolve

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from keras_softsets._adapters import ScoreParameters

__all__ = ["evaluate"]


def evaluate(
    y_true: Tensor,
    y_pred: Tensor,
    score: ScoreLike = "f1",
    sample_weight: Tensor | None = None,
    *,
    threshold: DecisionLike | None = None,
    heaviside: HeavisideLike = "step",
    average: Average = "macro",
    from_logits: bool = False,
    zero_division: ZeroDivision = 0.0,
    per_sample: bool = False,
    ignore_class: int | None = None,
    interval: float | None = None,
    against: Tensor | None = None,
    resamples: int = 1000,
    seed: int = 0,
    **score_args: Unpack[ScoreParameters],
) -> Any:
    """Computes a score of predictions: the pure function behind losses and metrics.

    Args:
        y_true: Labels in [0, 1]: `(n,)` or `(..., classes)`, bool, integer or float. Or class ids, without the last
            axis of `y_pred`.
        y_pred: Probabilities of the same shape (up to a last axis of length 1), or logits.
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`.
            Defaults to `"f1"`.
        sample_weight: Weights that line up with `y_pred` from the left. Weight 2 means two copies, weight 0 means
            absent. Defaults to `None`.
        threshold: How probabilities become decisions: a number, a sequence over which the score is averaged,
            `"argmax"`, or a value such as `PerClass([0.2, 0.7])`, which `tune_threshold` returns for several classes.
            Defaults to `None`: 0.5; for areas under a curve, every distinct threshold (if `heaviside` is soft, 0.01,
            0.02, ..., 0.99 and nine more towards each end); for scores of the c x c matrix, the argmax.
        heaviside: `"step"` (the usual score), `"linear"`, `"sigmoid"` or a `Heaviside`. Defaults to `"step"`.
        average: How the values of several classes become one: `"macro"` (mean), `"micro"` (cells summed over classes),
            `"weighted"` (by positives), a sequence of the classes' importances, `"samples"` (`"micro"`
            of each sample: `per_sample=True`), or `None` for one value for each
            class. Scores of the c x c matrix have one value anyway. Defaults to `"macro"`.
        from_logits: Whether predictions are logits, of a sigmoid or, where the largest class wins, of a softmax.
            Defaults to `False`.
        zero_division: Value of a score that is 0 / 0: `0.0`, `1.0`, or `"ignore"` to leave it out of the average (for
            a class that is absent). Defaults to `0.0`.
        per_sample: Whether each sample (image, sequence) is scored as a separate set and the scores are averaged.
            Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
        interval: Confidence level such as 0.95, for an `Estimate(value, low, high)` instead of a float: a bootstrap
            over samples, or with `per_sample` over sets; see `keras_softsets.intervals`. Rows of one sample (pixels of
            an image) are drawn together, thresholds that depend on the data are found again in each resample, and a
            resample in which the score is 0 / 0 does not count. Where no resample differs, for example because every
            decision is right, it is Wilson's interval, and `estimate.method` says so. Defaults to `None`.
        against: Other predictions for the same samples: the result is the difference of the two scores, and its
            interval is paired, so that what both find hard cancels out. Both are decided with the same `threshold`; if
            each has its own, pass decisions of 0 and 1. Defaults to `None`.
        resamples: Number of resamples, at least 100. Defaults to `1000`.
        seed: Seed of the resamples. Defaults to `0`.
        **score_args: Parameters of the score, such as `beta=2`.

    Returns:
        A float, or a NumPy array with one number for each class. For tensors, a tensor that is differentiable with
        respect to `y_pred` unless `heaviside` is the step. With `interval`, an `Estimate`, or an array of them.

    Examples:
        >>> y, p = [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]
        >>> evaluate(y, p), evaluate(y, p, "f_beta", beta=2, threshold=0.3)
        (0.5, 0.9090909090909091)
        >>> evaluate(y, p, "roc_auc")
        0.75
        >>> evaluate([0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]], threshold="argmax", average=None)
        array([0.66666667, 0.66666667])
        >>> y, p = [0, 0, 1, 1] * 50, [0.1, 0.6, 0.4, 0.9] * 50
        >>> evaluate(y, p, interval=0.95)
        0.500 [0.411, 0.585]
        >>> evaluate(y, p, against=[0.1, 0.2, 0.4, 0.9] * 50, interval=0.95)
        -0.167 [-0.220, -0.129]
    """
    evaluation = Evaluation(
        [resolve(score, score_args, evaluate)],
        threshold=threshold,
        heaviside=heaviside,
        average=average,
        from_logits=from_logits,
        zero_division=zero_division,
        per_sample=per_sample,
        ignore_class=ignore_class,
    )
    check_order(y_true, y_pred)
    if interval is not None or against is not None:
        pair = [as_numbers("y_pred", y_pred), *([] if against is None else [as_numbers("against", against)])]
        return _compared(evaluation, y_true, pair, sample_weight, interval, resamples, seed)
    (value,) = evaluation.values_of(evaluation.samples(y_true, y_pred, sample_weight))
    if ops.is_tensor(y_pred):
        return ops.cast(value, keras.config.floatx())
    array = np.asarray(ops.convert_to_numpy(value))
    return array if array.ndim else float(array)


def _compared(
    evaluation: Evaluation, y_true: Any, pair: list[Any], sample_weight: Any, interval: Any, resamples: Any, seed: Any
) -> Any:
    """The value of the only predictions, or the difference of two, with its interval."""
    settings = Settings.checked(0.95 if interval is None else interval, resamples, seed)
    if len({np.shape(y_pred) for y_pred in pair}) > 1:
        shapes = ", ".join(str(np.shape(y_pred)) for y_pred in pair)
        raise ValueError(f"`against` must have the shape of `y_pred`. Received: shapes {shapes}")
    batches = [(y_true, y_pred, sample_weight) for y_pred in pair]
    values = [evaluation.values_of(evaluation.samples(*batch))[0] for batch in batches]
    if interval is None:
        first, second = (ops.convert_to_numpy(value) for value in values)
        return float(first - second) if first.ndim == 0 else first - second
    found = estimates(evaluation, [subject_of(evaluation, v, b) for v, b in zip(values, batches)], settings)
    return found[0] if len(values[0].shape) == 0 else np.array([*found, None], dtype=object)[:-1]
