"""The plug-in threshold: the threshold that maximises a score on data, found exactly."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._checks import check_choice
from keras_softsets._samples import as_numbers
from keras_softsets.decisions import PerClass
from keras_softsets.thresholds._at_least import rules_of
from keras_softsets.thresholds._curves import best_of, columns_of, curve_of, within
from keras_softsets.thresholds._offsets import tune_offsets
from keras_softsets.thresholds._results import ThresholdCurve, TunedThreshold, TunedThresholdWithCurve


def tune_threshold(
    y_true: Any,
    y_pred: Any,
    score: str | Callable[..., Any] = "f1",
    sample_weight: Any = None,
    *,
    decision: str = "threshold",
    average: str | Sequence[float] | None = "macro",
    from_logits: bool = False,
    ignore_class: int | None = None,
    at_least: Mapping[Any, float] | None = None,
    curve: bool = False,
    **score_args: Any,
) -> TunedThreshold | TunedThresholdWithCurve:
    """Finds the threshold at which `y_pred >= threshold` has the best score.

    With the probabilities sorted, cumulative sums give the confusion matrix at each distinct value. Every possible
    decision on the data, including "all positive" and "none positive", is thus tried in O(n log n).

    A threshold is halfway between two neighbouring probabilities, because exactly on one of them a rounding error would
    decide. If float32 can tell the two apart, it is a float32 number, and then decides the same in NumPy, in
    `keras_softsets.metrics` and after `export_classifier`. Among thresholds of equal score, the one nearest to 0.5 is
    chosen. It is inside (0, 1) unless there is no such number: 0.0 means "all positive" if a probability is 0, and 1.0
    or `inf` means "none positive" if the largest is 1 or next to it. Metrics, `evaluate` and `export_classifier` take
    it as it is.

    With `decision="argmax"`, it finds offsets instead: numbers added to log p before the largest class wins. Starting
    from none, each class in turn gets the offset that is best given those of the others, again exactly and in
    O(n log n), until no class gains. Each is halfway between two samples that switch to the class; among offsets of
    equal score, the one nearest to 0 is chosen. The result is never worse than no offsets, but need not be the best.

    Tune on data that the model was not trained on, and report the score on a third set: on the data that chose it, the
    best of many thresholds looks too good.

    Args:
        y_true: Labels in [0, 1], of the shape of `y_pred` up to a last axis of length 1; or class ids, without the last
            axis of `y_pred`.
        y_pred: Probabilities: `(n,)`, or `(..., classes)` for one threshold per class.
        score: A score of one threshold: a name, an object from `keras_softsets.scores`, or a function of a
            `ConfusionMatrix`; with `decision="argmax"` also one of the c x c matrix. Defaults to `"f1"`.
        sample_weight: Weights, finite and non-negative: `(n,)`, or anything that lines up with `y_pred` from the left.
            Weight 0 means absent. Defaults to `None`: 1 for each.
        decision: `"threshold"`, or `"argmax"` for offsets. Defaults to `"threshold"`.
        average: How the classes' scores become one: `"macro"`, `"weighted"`, a sequence of the classes' importances, or
            `"micro"`. With `"micro"`, all classes share one threshold; otherwise each class is tuned separately, which
            is best for all the other averages at once, and for `None`. Defaults to `"macro"`.
        from_logits: Whether `y_pred` holds logits, of a sigmoid or, for offsets, of a softmax. Thresholds apply to
            probabilities in any case, as in metrics. Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
        at_least: What other scores must reach there, such as `{"recall": 0.95}`: a mapping from scores of one threshold
            (names, or values such as `scores.f_beta(beta=2)`) to numbers, which every class must meet. Defaults to
            `None`.
        curve: Whether to return all thresholds and scores as well; not for offsets. Defaults to `False`.
        **score_args: Arguments of the score, such as `beta=2` for `"f_beta"`.

    Returns:
        A named tuple `(threshold, score)`, or `(threshold, score, curve)` if `curve`.

    Raises:
        ValueError: For NaN, values outside [0, 1], empty data, shapes that do not fit, negative weights, a score of a
            whole curve such as `"roc_auc"`, a score that is NaN somewhere, or an `at_least` that no threshold reaches;
            the error says what can be reached.

    Examples:
        >>> y_true = [0, 1, 0, 1]
        >>> y_pred = [0.125, 0.375, 0.5, 0.75]
        >>> tune_threshold(y_true, y_pred)
        TunedThreshold(threshold=0.25, score=0.8)
        >>> tune_threshold(y_true, y_pred, "f_beta", beta=0.5)
        TunedThreshold(threshold=0.625, score=0.8333333333333334)
        >>> tune_threshold(y_true, y_pred, "recall", curve=True).curve.scores
        array([1. , 1. , 0.5, 0.5, 0. ])
        >>> ids, p = [0, 0, 1, 2], [[0.8, 0.1, 0.1], [0.5, 0.3, 0.2], [0.5, 0.4, 0.1], [0.1, 0.5, 0.4]]
        >>> tuned = tune_threshold(ids, p, "multiclass_accuracy", decision="argmax")
        >>> [round(offset, 2) for offset in tuned.threshold.offsets], tuned.score
        ([-0.37, 0.0, 0.39], 1.0)
        >>> tune_threshold(y_true, y_pred, "precision", at_least={"recall": 0.95})
        TunedThreshold(threshold=0.25, score=0.6666666666666666)

    Reference:
        [Koyejo et al., 2014](https://papers.nips.cc/paper/5454): for scores of this family the best classifier is a
        threshold on the probability.
    """
    resolved, average = _resolved(score, decision, score_args), scores.check_average(average)
    if decision == "argmax":
        _check_offsets(average, curve, at_least)
        data = (y_true, y_pred, resolved, sample_weight, average)
        return TunedThreshold(*tune_offsets(*data, ignore_class=ignore_class, from_logits=bool(from_logits)))
    if from_logits:
        y_pred = ops.convert_to_numpy(ops.sigmoid(ops.cast(as_numbers("y_pred", y_pred), "float32")))  # as in metrics
    columns = columns_of(y_true, y_pred, sample_weight, ignore_class, pooled=average == "micro")
    rules, dtype = rules_of(at_least), np.asarray(y_pred).dtype
    curves = tuple(within(curve_of(resolved, column, dtype), rules, column, dtype) for column in columns)
    tuned = _best_of_each(curves)
    if not curve:
        return tuned
    return TunedThresholdWithCurve(*tuned, curves if isinstance(tuned.threshold, PerClass) else curves[0])


def _resolved(score: str | Callable[..., Any], decision: str, parameters: dict[str, Any]) -> scores.Score:
    """The score, if this decision can be tuned for it."""
    resolved = scores.get(score, **parameters)
    if resolved.curve:
        raise ValueError(f"`score` must be a score of one threshold, not of a curve. Received: score={score!r}")
    if check_choice("decision", decision, ("threshold", "argmax")) == "threshold" and resolved.of == "classes":
        raise ValueError(f"`decision` must be 'argmax' for scores of the c x c matrix. Received: score={score!r}")
    return resolved


def _best_of_each(curves: Sequence[ThresholdCurve]) -> TunedThreshold:
    """The best threshold of the only class, or of every class."""
    best = [best_of(curve) for curve in curves]
    if len(best) == 1:
        return TunedThreshold(*best[0])
    thresholds, values = zip(*best, strict=True)
    return TunedThreshold(PerClass(thresholds), np.array(values))


def _check_offsets(average: Any, curve: bool, at_least: Any) -> None:
    if at_least is not None:
        raise ValueError(f"`at_least` must be None for decision='argmax'. Received: at_least={at_least}")
    if average is None:
        raise ValueError("`average` must not be None for decision='argmax', where all classes are decided together.")
    if curve:
        raise ValueError("`curve` must be False for decision='argmax', which has an offset for each class.")
