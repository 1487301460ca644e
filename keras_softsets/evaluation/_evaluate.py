"""`evaluate`: the pure function from labels and predictions to a number."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets import _operating
from keras_softsets._backend import Tensor
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.decisions import AtRate
from keras_softsets.evaluation._evaluation import Evaluation, ScoreLike
from keras_softsets.evaluation._signatures import spelled_out


@spelled_out
def evaluate(
    y_true: Tensor, y_pred: Tensor, score: ScoreLike = "f1", sample_weight: Tensor | None = None, **options: Any
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
            Defaults to `None`: 0.5; for areas under a curve, every threshold that decides differently; for scores of
            the c x c matrix, the argmax.
        heaviside: `"step"` (the usual score), `"linear"`, `"sigmoid"` or a `Heaviside`. Defaults to `"step"`.
        average: How the values of several classes become one: `"macro"` (mean), `"micro"` (cells summed over classes),
            `"weighted"` (by positives), a sequence of the classes' importances, or `None` for one value for each
            class. Defaults to `"macro"`.
        from_logits: Whether predictions are logits, of a sigmoid or, where the largest class wins, of a softmax.
            Defaults to `False`.
        zero_division: Value of a score that is 0 / 0: `0.0`, `1.0`, or `"ignore"` to leave it out of the average (for
            a class that is absent). Defaults to `0.0`.
        per_sample: Whether each sample (image, sequence) is scored as a separate set and the scores are averaged.
            Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
        **options: The arguments above, and parameters of the score, such as `beta=2`.

    Returns:
        A float, or a NumPy array with one number for each class. For tensors, a tensor that is differentiable with
        respect to `y_pred` unless `heaviside` is the step.

    Examples:
        >>> y, p = [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]
        >>> evaluate(y, p), evaluate(y, p, "f_beta", beta=2, threshold=0.3)
        (0.5, 0.9090909090909091)
        >>> evaluate(y, p, "roc_auc")
        0.75
        >>> evaluate([0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]], threshold="argmax", average=None)
        array([0.66666667, 0.66666667])
    """
    evaluation = Evaluation([score], **options)
    (value,) = _exact_values(evaluation, options.get("threshold") is None, y_true, y_pred, sample_weight)
    if ops.is_tensor(y_pred):
        return ops.cast(value, keras.config.floatx())
    array = np.asarray(ops.convert_to_numpy(value))
    return array if array.ndim else float(array)


def _exact_values(evaluation: Evaluation, default: bool, *data: Tensor) -> list[Tensor]:
    """The scores of data that are all available at once, from every threshold that decides differently if needed."""
    hard, decision = not evaluation.heaviside.differentiable, evaluation.decision
    if hard and isinstance(decision, AtRate):
        cells = ConfusionMatrix.from_stacked(evaluation.every_threshold(*data))
        settings = (decision, evaluation.average, evaluation.zero_division)
        return [_operating.best_value(score, cells, *settings) for score in evaluation.scores]
    every = hard and default and evaluation.scores[0].curve and not evaluation.per_sample
    return evaluation.values((evaluation.every_threshold if every else evaluation.totals)(*data))
