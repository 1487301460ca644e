"""The plug-in threshold: the one that maximises a score on data, found exactly by sorting once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._at_least import Rules, meeting, rules_of
from keras_softsets._checks import check_choice
from keras_softsets._inputs import as_samples
from keras_softsets._offsets import tune_offsets
from keras_softsets._ranked import ranked
from keras_softsets._samples import Samples, as_numbers, explain
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.decisions import Argmax, PerClass


class ThresholdCurve(NamedTuple):
    """A score at every threshold that decides differently.

    Attributes:
        thresholds: In ascending order, from "all positive" to "none positive".
        scores: The score at each of them; NaN where it does not meet `at_least`.
    """

    thresholds: np.ndarray
    scores: np.ndarray


class TunedThreshold(NamedTuple):
    """The best threshold.

    Attributes:
        threshold: A float; a `PerClass` with one for each class, which is array-like; or an `Argmax` with offsets.
        score: The score that it reaches: a float, or an array.
    """

    threshold: float | PerClass | Argmax
    score: float | np.ndarray


class TunedThresholdWithCurve(NamedTuple):
    """The best threshold and the curve that it was chosen from.

    Attributes:
        threshold: A float, or a `PerClass` with one for each class, which is array-like.
        score: The score that it reaches: a float, or an array.
        curve: A `ThresholdCurve`, or a tuple with one for each class.
    """

    threshold: float | PerClass | Argmax
    score: float | np.ndarray
    curve: ThresholdCurve | tuple[ThresholdCurve, ...]


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

    With the probabilities sorted, cumulative sums give the confusion matrix for each of the distinct values, so that
    every decision rule of the data, including "all positive" and "none positive", is tried in O(n log n).

    A threshold is put halfway between two neighbouring probabilities, because exactly on one of them a rounding error
    would decide. It is a float32 number wherever float32 can tell the two apart, and then decides the same in NumPy, in
    `keras_softsets.metrics` and after `export_classifier`. Among thresholds of equal score the one nearest to 0.5 is
    chosen. It lies inside (0, 1) unless there is no such number: 0.0 says "all positive" where a probability is 0, and
    1.0 or `inf` "none positive" where the largest is, or is next to, 1. Metrics, `evaluate` and `export_classifier`
    take it as it is.

    With `decision="argmax"`, it finds offsets instead: numbers added to log p before the largest class wins. Starting
    from none, each class in turn gets the offset that is best with those of the others, again exactly in O(n log n),
    until no class gains. Each lies halfway between two samples that turn to the class; among offsets of equal score the
    one nearest to 0 is chosen. The result is never worse than no offsets, but need not be the best of all.

    Tune on data that the model was not trained on, and report the score on a third set: the best of many thresholds
    is too good on the data that chose it.

    Args:
        y_true: Labels in [0, 1], of the shape of `y_pred` up to a last axis of length 1; or class ids, without the last
            axis of `y_pred`.
        y_pred: Probabilities: `(n,)`, or `(..., classes)` for one threshold per class.
        score: A score of one threshold: a name, an object from `keras_softsets.scores`, or a function of a
            `ConfusionMatrix`; with `decision="argmax"` also one of the c x c matrix. Defaults to `"f1"`.
        sample_weight: Weights, finite and non-negative: `(n,)`, or anything that lines up with `y_pred` from the left.
            Weight 0 is absence. Defaults to `None`: 1 for each.
        decision: `"threshold"`, or `"argmax"` for offsets. Defaults to `"threshold"`.
        average: How the classes' scores become one: `"macro"`, `"weighted"`, a sequence of the classes' importances, or
            `"micro"`. Thresholds of `"micro"` are one for all classes; otherwise each class is tuned on its own, which
            is best for all the other averages at once, and for `None`. Defaults to `"macro"`.
        from_logits: Whether `y_pred` holds logits, of a sigmoid or, for offsets, of a softmax. Thresholds are those of
            probabilities all the same, as in metrics. Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
        at_least: What other scores must reach there, such as `{"recall": 0.95}`: a mapping from scores of one threshold
            (names, or values such as `scores.f_beta(beta=2)`) to numbers, which every class must meet. Defaults to
            `None`.
        curve: Whether to return all thresholds and scores as well; not for offsets. Defaults to `False`.
        **score_args: Arguments of the score, such as `beta=2` for `"f_beta"`.

    Returns:
        A named tuple `(threshold, score)`, or `(threshold, score, curve)` if `curve`.

    Raises:
        ValueError: For NaN, values outside [0, 1], nothing at all, shapes that do not fit, negative weights, a score of
            a whole curve such as `"roc_auc"`, one that is not a number somewhere, or an `at_least` that no threshold
            reaches; the error says what can be reached.

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
    resolved = scores.get(score, **score_args)
    if resolved.curve:
        raise ValueError(f"`score` must be a score of one threshold, but needs them all. Received: score={score!r}")
    average = scores.check_average(average)
    if check_choice("decision", decision, ("threshold", "argmax")) == "argmax":
        _check_offsets(average, curve, at_least)
        data = (y_true, y_pred, resolved, sample_weight, average)
        return TunedThreshold(*tune_offsets(*data, ignore_class=ignore_class, from_logits=bool(from_logits)))
    if resolved.of == "classes":
        raise ValueError(f"`decision` must be 'argmax' for scores of the c x c matrix. Received: score={score!r}")
    if from_logits:
        y_pred = ops.convert_to_numpy(ops.sigmoid(ops.cast(as_numbers("y_pred", y_pred), "float32")))  # as in metrics
    columns = _columns(y_true, y_pred, sample_weight, ignore_class, pooled=average == "micro")
    rules, dtype = rules_of(at_least), np.asarray(y_pred).dtype
    curves = tuple(_within(_curve(resolved, column, dtype), rules, column, dtype) for column in columns)
    best = [_best(c) for c in curves]
    if len(best) == 1:
        tuned = TunedThreshold(*best[0])
        return TunedThresholdWithCurve(*tuned, curves[0]) if curve else tuned
    thresholds, values = zip(*best, strict=True)
    tuned = TunedThreshold(PerClass(thresholds), np.array(values))
    return TunedThresholdWithCurve(*tuned, curves) if curve else tuned


def _check_offsets(average: Any, curve: bool, at_least: Any) -> None:
    if at_least is not None:
        raise ValueError(f"`at_least` must be None for decision='argmax'. Received: at_least={at_least}")
    if average is None:
        raise ValueError("`average` must not be None for decision='argmax', where all classes are decided together.")
    if curve:
        raise ValueError("`curve` must be False for decision='argmax', which has an offset for each class.")


def _columns(y_true: Any, y_pred: Any, sample_weight: Any, ignore_class: int | None, *, pooled: bool) -> list[Samples]:
    """Returns each class, or all of them together, with the samples that count, in float64."""
    # TensorFlow would flush the smallest float32 numbers to 0 on the way to float64; NumPy does not.
    probabilities = np.asarray(y_pred, "float64")
    samples = as_samples(y_true, probabilities, sample_weight, ignore_class=ignore_class, dtype="float64")
    label, p = (ops.convert_to_numpy(x) for x in (samples.label, samples.prediction))
    weight = np.ones_like(p) if samples.weight is None else ops.convert_to_numpy(samples.weight)
    if not p.size:
        raise ValueError(f"`y_pred` must hold at least one probability. Received: y_pred.shape={np.shape(y_pred)}")
    if pooled:
        label, p, weight = (x.reshape(-1, 1) for x in (label, p, weight))
    counts = weight != 0  # weight 0 is absence
    if not counts.any(0).all():
        raise ValueError("`sample_weight` must leave at least one sample of each class. Received: only zeros")
    return [Samples(label[rows, k, None], p[rows, k, None], weight[rows, k, None]) for k, rows in enumerate(counts.T)]


def _curve(score: Any, samples: Samples, dtype: np.dtype) -> ThresholdCurve:
    """Returns the score of one class at each of its thresholds."""
    ranks = ranked(samples)
    explain(samples, ranks.cells.tp)
    if np.isnan(samples.prediction).any():
        raise ValueError("`y_pred` must hold numbers. Received: NaN")
    rows = np.flatnonzero(ops.convert_to_numpy(ranks.last))[::-1]  # from the smallest probability on
    cells = [ops.convert_to_numpy(cell)[rows] for cell in ranks.cells]
    none = [cells[0][:1] * 0, cells[1][:1] * 0, cells[0][:1], cells[1][:1]]  # "none positive", at the end
    every = ConfusionMatrix(*(ops.convert_to_tensor(np.concatenate(pair)) for pair in zip(cells, none)))
    probabilities = ops.convert_to_numpy(ranks.probability)[rows, 0]
    return ThresholdCurve(
        _between(probabilities, "float16" if dtype == np.float16 else "float32"), _evaluate(score, every)
    )


def _within(curve: ThresholdCurve, rules: Rules, samples: Samples, dtype: np.dtype) -> ThresholdCurve:
    """Returns the curve with NaN for the score of thresholds that break a rule."""
    if not rules:
        return curve
    meets = meeting(rules, [_curve(rule, samples, dtype).scores for rule in rules])
    return curve._replace(scores=np.where(meets, curve.scores, np.nan))


def _evaluate(score: Any, cells: ConfusionMatrix) -> np.ndarray:
    values = np.asarray(ops.convert_to_numpy(score(cells)), dtype="float64")
    if values.shape != tuple(cells.tp.shape):
        raise ValueError(f"`score` must keep the shape of the cells. Received: {values.shape} from score={score!r}")
    if np.isnan(values).any():
        raise ValueError(f"`score` must be a number everywhere, 0 for 0 / 0. Received: NaN from score={score!r}")
    return values[:, 0]


def _between(distinct: np.ndarray, dtype: str) -> np.ndarray:
    """Returns a threshold below each distinct probability, but above the one before, and one above all."""
    narrow = distinct.astype(dtype)
    end = 1 if narrow[-1] < 1 else np.inf
    low, high = np.append(narrow[:1] * 0, narrow), np.append(narrow, narrow.dtype.type(end))
    middle = low + (high - low) / 2
    # With no number in between, the probability itself: `>=` includes it.
    return np.where((low < middle) & (middle < high), middle.astype("float64"), np.append(distinct, end))


def _best(curve: ThresholdCurve) -> tuple[float, float]:
    best = np.flatnonzero(curve.scores == np.nanmax(curve.scores))
    chosen = best[np.argmin(np.abs(curve.thresholds[best] - 0.5))]
    return float(curve.thresholds[chosen]), float(curve.scores[chosen])
