"""The plug-in threshold: the threshold that maximises a score on data, found exactly."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._checks import check_average, check_choice, check_flag, check_number, check_whole_number
from keras_softsets.decisions import PerClass
from keras_softsets.decisions._tuned import ThresholdCurve, TunedThreshold, TunedThresholdWithCurve, few_of
from keras_softsets.evaluation import evaluate
from keras_softsets.samples import Samples, as_numbers, check_order
from keras_softsets.scores._registry import at_argmax, resolve
from keras_softsets.tuning._auto import FOLDS, tune_auto_offsets, without_each
from keras_softsets.tuning._offsets import tune_offsets
from keras_softsets.tuning._thresholds import (
    at_threshold,
    best_of,
    check_importances,
    checked,
    columns_of,
    curve_of,
    rules_of,
    within,
)


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
    plateau: float | None = None,
    folds: int | None = None,
    offsets: str = "free",
    interval: float | None = None,
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

    On held-out halves of eight data sets, `folds=5` was ahead of the best threshold by 0.005 ± 0.0025 (F1 and MCC; mean
    and standard error over data sets), less than the two standard errors that were set in advance for another default,
    and a plateau by nothing. Looked at afterwards, the lead of folds is that of small data: 0.010 ± 0.004 where 100
    samples chose the threshold, 0.003 ± 0.003 with 500, 0.001 ± 0.001 with all (`benchmarks/tuner_rules.py`).

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
        plateau: How much worse than the best a threshold may be to belong to its plateau, such as 0.01; the threshold
            nearest to the plateau's middle is chosen, by which it depends less on single samples. Defaults to `None`:
            the best itself.
        folds: Number of folds, such as 5. For thresholds, the mean of those that are found without each fold, with
            which no single sample decides. For `offsets="auto"`, the folds that choose. Defaults to `None`: none, or 5
            for offsets.
        offsets: With `decision="argmax"`: `"free"`, one for each class; or `"auto"`, which chooses between none, a
            multiple of the logarithms of the classes' shares (logit adjustment) and free ones, by cross-validation
            inside the data, and returns means over folds: free offsets fit chance where classes are small. Defaults
            to `"free"`.
        interval: Confidence level such as 0.95, with which the score becomes an `Estimate`, as in `evaluate`. With
            fewer than 50 samples or 20 positives, which the result's `few` says, look at it: it says how little is
            known. It takes the decision as given, and does not know that these samples chose it. Defaults to `None`.
        **score_args: Arguments of the score, such as `beta=2` for `"f_beta"`.

    Returns:
        A named tuple `(threshold, score)`, or `(threshold, score, curve)` if `curve`.

    Raises:
        ValueError: For NaN, values outside [0, 1], empty data, shapes that do not fit, negative weights, a score of a
            whole curve such as `"roc_auc"`, a score that is NaN somewhere, or an `at_least` that no threshold reaches;
            the error says what can be reached.

    Examples:
        >>> y_true = [0, 1, 0, 1] * 25
        >>> y_pred = [0.125, 0.375, 0.5, 0.75] * 25
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
        >>> tune_threshold(y_true[:4], y_pred[:4])
        TunedThreshold(threshold=0.25, score=0.8)  # by 2 positives, so mostly chance: see interval=0.95

    Reference:
        [Koyejo et al., 2014](https://papers.nips.cc/paper/5454): for scores of this family the best classifier is a
        threshold on the probability.
    """
    resolved, average = _resolved(score, decision, score_args), check_average(average)
    from_logits, curve = check_flag("from_logits", from_logits), check_flag("curve", curve)
    check_choice("offsets", offsets, ("free", "auto"))
    plateau = None if plateau is None else check_number("plateau", plateau, 0.0)
    folds = None if folds is None else check_whole_number("folds", folds, 2, 100)
    for name, data in (("y_true", y_true), ("y_pred", y_pred)):
        as_numbers(name, data)
    check_order(y_true, y_pred)
    if decision == "argmax":
        _check_offsets(average, curve, at_least, plateau, folds, offsets)
        data = (y_true, y_pred, resolved, sample_weight, average)
        settings: Any = {"ignore_class": ignore_class, "from_logits": from_logits}
        c_x_c = resolved.of == "classes"
        if offsets == "auto":
            found = TunedThreshold(*tune_auto_offsets(*data, folds or FOLDS, **settings))
        else:
            found = TunedThreshold(*tune_offsets(*data, **settings))
        found.few = _few_classes(checked(y_true, y_pred, sample_weight, average=average, c_x_c=c_x_c, **settings))
        return _with_interval(found, interval, y_true, y_pred, resolved, sample_weight, average=average, **settings)
    if offsets != "free":
        raise ValueError(f"`offsets` must be 'free' unless decision='argmax'. Received: offsets={offsets!r}")
    if from_logits:
        y_pred = ops.convert_to_numpy(ops.sigmoid(ops.cast(as_numbers("y_pred", y_pred), "float32")))  # as in metrics
    _hint_at_one_column(y_true, y_pred)
    columns = columns_of(y_true, y_pred, sample_weight, ignore_class, pooled=average == "micro")
    check_importances(average, len(columns))
    rules, dtype = rules_of(at_least), np.asarray(y_pred).dtype
    curves = tuple(within(curve_of(resolved, column, dtype), rules, column, dtype) for column in columns)
    if folds is not None:
        parts = [[curve_of(resolved, part, dtype) for part in without_each(column, folds)] for column in columns]
        best = [_mean_over_folds(whole, each, plateau) for whole, each in zip(curves, parts)]
    else:
        best = [best_of(each, plateau) for each in curves]
    each = None if len(best) > 1 else average
    settings = {"average": each, "ignore_class": ignore_class}
    found = _of_each(best)
    found.few = _few(columns)
    tuned = _with_interval(found, interval, y_true, y_pred, resolved, sample_weight, **settings)
    if not curve:
        return tuned
    both = TunedThresholdWithCurve(*tuned, curves if isinstance(tuned.threshold, PerClass) else curves[0])
    both.few = tuned.few
    return both


def _few(columns: Sequence[Samples]) -> str | None:
    """What is too little to choose thresholds by: of the class with the fewest positives or negatives."""
    positives = [int(np.sum(samples.label >= 0.5)) for samples in columns]
    counts: dict[str, int] = {}
    for k, (samples, number) in enumerate(zip(columns, positives)):
        of = f" of class {k}" if len(columns) > 1 else ""
        counts |= {f"positives{of}": number, f"negatives{of}": len(samples.label) - number}
    return few_of(counts, min(len(samples.label) for samples in columns))


def _few_classes(samples: Samples) -> str | None:
    counts = np.bincount(samples.label.argmax(1), minlength=samples.label.shape[1])
    return few_of({f"samples of class {k}": int(number) for k, number in enumerate(counts)}, len(samples.label))


def _with_interval(tuned: TunedThreshold, interval: float | None, *data: Any, **options: Any) -> TunedThreshold:
    """The same result, with an interval for its score if there is a confidence level."""
    if interval is None:
        return tuned
    estimate = evaluate(*data, threshold=tuned.threshold, interval=interval, **options)
    found = TunedThreshold(tuned.threshold, estimate)
    found.few = tuned.few
    return found


def _hint_at_one_column(y_true: Any, y_pred: Any) -> None:
    """Warns about what scikit-learn's `predict_proba` returns for two classes: the columns are p and 1 - p."""
    p = np.asarray(y_pred)
    if p.ndim == 2 and p.shape[1] == 2 and np.ndim(y_true) == 1 and np.allclose(p.sum(1), 1, atol=1e-3):
        warnings.warn(
            "`y_pred` has two columns that add up to 1, as `predict_proba` returns them, so each gets a threshold. For "
            "the threshold of the positive class pass `y_pred[:, 1]`.",
            stacklevel=3,
        )


def _resolved(score: str | Callable[..., Any], decision: str, parameters: dict[str, Any]) -> scores.Score:
    """The score, if this decision can be tuned for it."""
    resolved = resolve(score, parameters, tune_threshold)
    if resolved.curve:
        raise ValueError(f"`score` must be a score of one threshold, not of a curve. Received: score={score!r}")
    if check_choice("decision", decision, ("threshold", "argmax")) == "threshold" and resolved.of == "classes":
        raise ValueError(f"`decision` must be 'argmax' for scores of the c x c matrix. Received: score={score!r}")
    return at_argmax(resolved) if decision == "argmax" else resolved


def _mean_over_folds(
    whole: ThresholdCurve, parts: Sequence[ThresholdCurve], plateau: float | None
) -> tuple[float, float]:
    """The mean of the thresholds of all parts, as a threshold of all data that meets the rules, and its score there."""
    found = at_threshold(whole, float(np.mean([min(best_of(part, plateau)[0], 1.0) for part in parts])))
    return best_of(whole, plateau) if np.isnan(found[1]) else found


def _of_each(best: Sequence[tuple[float, float]]) -> TunedThreshold:
    """The threshold of the only class, or of every class."""
    if len(best) == 1:
        return TunedThreshold(*best[0])
    thresholds, values = zip(*best, strict=True)
    return TunedThreshold(PerClass(thresholds), np.array(values))


def _check_offsets(average: Any, curve: bool, at_least: Any, plateau: Any, folds: Any, offsets: str) -> None:
    if plateau is not None:
        raise ValueError(f"`plateau` must be None for decision='argmax'. Received: plateau={plateau}")
    if folds is not None and offsets == "free":
        raise ValueError(f"`folds` must be None for free offsets; use offsets='auto'. Received: folds={folds}")
    if at_least is not None:
        raise ValueError(f"`at_least` must be None for decision='argmax'. Received: at_least={at_least}")
    if average is None:
        raise ValueError("`average` must not be None for decision='argmax', where all classes are decided together.")
    if curve:
        raise ValueError("`curve` must be False for decision='argmax', which has an offset for each class.")
