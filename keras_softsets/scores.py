"""Scores of a confusion matrix: one small function each, from cells to a value, higher is better.

A score of one threshold maps cells of shape (thresholds, classes) to values of the same shape; a curve score reads
the whole threshold axis and gives one value for each class. Loss (1 - score), metric, threshold tuner, docs table and
property tests all follow from the registry. 0 / 0 is 0, with a zero gradient; use `ratio` for divisions and
`square_root` for roots.

Examples:
    >>> @score
    ... def fraud_savings(cells, alert_cost=0.02):
    ...     return ratio(cells.tp - alert_cost * cells.predicted_positives, cells.positives, cells)
    >>> get("fraud_savings", alert_cost=0.05)
    fraud_savings(alert_cost=0.05)
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_softsets._inputs import Tensor, check_choice, check_number
from keras_softsets.confusion import ConfusionMatrix

AVERAGES = ("macro", "micro", "weighted", None)


class Score:
    """A score with its parameters; call it on cells, or with other parameters for another score.

    Examples:
        >>> cells = ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0)
        >>> f2 = f_beta(beta=2)
        >>> round(float(f2(cells)), 3), round(float(f_beta(cells, beta=2)), 3)
        (0.69, 0.69)

    Attributes:
        name: The name in the registry.
        curve: Whether the score reads all thresholds at once.
        registered: Whether it can be saved by name.
        parameters: The parameters that differ from the defaults.
    """

    def __init__(
        self, function: Callable[..., Tensor], *, curve: bool = False, registered: bool = True, **parameters: Any
    ) -> None:
        functools.update_wrapper(self, function)
        self.function, self.curve, self.registered = function, curve, registered
        self.name = getattr(function, "__name__", type(function).__name__).strip("<>")  # of a <lambda>, for Keras
        self.parameters = parameters

    def __call__(self, *args: Any, **parameters: Any) -> Any:
        """Scores cells if the first argument is a `ConfusionMatrix`; else returns the score with these parameters."""
        if args and isinstance(args[0], ConfusionMatrix):
            parameters = self._named(*args[1:], **parameters)
            return self.function(ConfusionMatrix(*map(_floating, args[0])), **{**self.parameters, **parameters})
        return self.bind(*args, **parameters)

    def bind(self, *args: Any, **parameters: Any) -> Score:
        """Returns the same score with other parameters, which are checked here, where they were typed."""
        named = {**self.parameters, **self._named(*args, **parameters)}
        named = {
            name: getattr(value, "tolist", lambda v=value: v)() for name, value in named.items()
        }  # NumPy, for JSON
        one = ops.ones((2, 1))
        try:
            self.function(ConfusionMatrix(one, one, one, one), **named)  # rules about values live in the score itself
        except ValueError:
            raise
        except Exception:  # about these cells, not about the values
            pass
        return Score(self.function, curve=self.curve, registered=self.registered, **named)

    def _named(self, *args: Any, **parameters: Any) -> dict[str, Any]:
        names = list(inspect.signature(self.function).parameters)[1:]
        unknown = [name for name in parameters if name not in names]
        if unknown or len(args) > len(names):
            allowed = ", ".join(names) or "no parameters"
            raise ValueError(f"Score `{self.name}` takes {allowed}. Received: {(*args, *unknown)}")
        return {**dict(zip(names, args)), **parameters}

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"


_REGISTRY: dict[str, Score] = {}


def score(function: Callable[..., Tensor] | None = None, *, curve: bool = False) -> Any:
    """Registers a function of a `ConfusionMatrix` as a score, so that losses and metrics with it can be saved.

    Args:
        function: Takes cells, then parameters with defaults, and returns values of the cells' shape
            (thresholds, classes), higher is better.
        curve: Whether the function reads the whole threshold axis and returns shape (classes,). Defaults to `False`.

    Examples:
        >>> @score
        ... def negative_predictive_value(cells):
        ...     return ratio(cells.tn, cells.predicted_negatives, cells)
        >>> "negative_predictive_value" in names()
        True
    """
    if function is None:
        return functools.partial(score, curve=curve)
    known = _REGISTRY.get(function.__name__)
    same = known is not None and _home(known.function) == _home(function)
    if known is not None and not same:  # running a notebook cell again is fine
        raise ValueError(f"`score` must have a name of its own. Received: {function.__name__!r}, which is {known!r}")
    _REGISTRY[function.__name__] = Score(function, curve=curve)
    return _REGISTRY[function.__name__]


def _home(function: Callable[..., Tensor]) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def names() -> list[str]:
    """Returns the names of all registered scores."""
    return sorted(_REGISTRY)


def get(identifier: str | Score | Callable[..., Tensor], **parameters: Any) -> Score:
    """Resolves a name, a score or a plain function of a `ConfusionMatrix`, with its parameters.

    Examples:
        >>> get("f_beta", beta=2)
        f_beta(beta=2)
    """
    if isinstance(identifier, str) and identifier in _REGISTRY:
        found = _REGISTRY[identifier]
    elif isinstance(identifier, Score):
        found = identifier
    elif callable(identifier) and not isinstance(identifier, type):
        found = Score(identifier, registered=False)
    else:
        raise ValueError(
            f"`score` must be one of {', '.join(names())}, or a function of a ConfusionMatrix; a saved score of your "
            f"own is known once the module with its @score is imported. Received: score={identifier!r}"
        )
    return found.bind(**parameters) if parameters else found


def averaged(score: Score, cells: ConfusionMatrix, average: str | None) -> Tensor:
    """Scores cells, then averages over thresholds and over classes: the one place for both.

    Args:
        score: The score.
        cells: Cells of shape (thresholds, classes).
        average: `"macro"` is the mean over classes, `"micro"` scores the cells summed over classes, `"weighted"`
            weights classes by their positives, and `None` gives one value for each class.
    """
    check_choice("average", average, AVERAGES)
    if average == "micro":
        cells = ConfusionMatrix(*(ops.sum(cell, 1, keepdims=True) for cell in cells))
    values = ops.convert_to_tensor(score(cells))
    rank = len(values.shape)
    if rank not in (1, 2):
        raise ValueError(
            "A score must keep the cells' shape (thresholds, classes), or give (classes,) from all thresholds. "
            f"Received: {score!r} of shape {tuple(values.shape)}"
        )
    values = ops.mean(values, 0) if rank == 2 else values
    if average is None:
        return values
    if average == "weighted":
        support = cells.positives[0]
        share = ops.where(support > 0, support, 0.0) / ops.maximum(ops.sum(support), _tiny(support))
        return ops.sum(values * ops.stop_gradient(share))
    return ops.mean(values)


def ratio(numerator: Tensor, denominator: Tensor, cells: ConfusionMatrix) -> Tensor:
    """Divides; 0 / 0 is 0 with a zero gradient.

    Where the denominator is positive but less than a millionth of all weight (say, every prediction saturated at 0,
    in a precision), the value is exact and the gradient is that at a millionth: large, never huge.
    """
    floor = 1e-6 * ops.stop_gradient(cells.total)
    nothing, regular = denominator <= 0, denominator > floor  # neither holds for NaN, which stays NaN
    exact = numerator / ops.where(regular, denominator, 1.0)
    fixed = ops.stop_gradient(numerator / ops.where(nothing, 1.0, denominator))
    bounded = fixed + (numerator - fixed * denominator) / ops.where(ops.logical_or(nothing, regular), 1.0, floor)
    return ops.where(regular, exact, ops.where(nothing, ops.zeros_like(bounded), bounded))


def square_root(x: Tensor) -> Tensor:
    """Square root whose slope is bounded by 500, so that a root near 0 does not blow up a step of training."""
    nothing = x <= 0
    value = ops.sqrt(ops.where(nothing, 1.0, x))
    bounded = ops.stop_gradient(value) + (x - ops.stop_gradient(x)) * 500.0
    return ops.where(nothing, ops.zeros_like(x), ops.where(value < 1e-3, bounded, value))


def _floating(cell: Tensor) -> Tensor:
    """Counts and lists are cells, too."""
    cell = ops.convert_to_tensor(cell)
    return cell if keras.backend.is_float_dtype(ops.dtype(cell)) else ops.cast(cell, "float32")


def _tiny(x: Tensor) -> float:
    return 1e-30 if ops.dtype(x) == "float32" else 1e-300


@score
def precision(cells: ConfusionMatrix) -> Tensor:
    """Share of predicted positives that are positive (positive predictive value).

    Formula: `tp / (tp + fp)`

    Examples:
        >>> float(precision(ConfusionMatrix(tp=3.0, fp=1.0, fn=2.0, tn=3.0)))
        0.75

    Reference:
        [Wikipedia](https://en.wikipedia.org/wiki/Precision_and_recall)
    """
    return ratio(cells.tp, cells.predicted_positives, cells)


@score
def recall(cells: ConfusionMatrix) -> Tensor:
    """Share of positives that are found (sensitivity, true positive rate).

    Formula: `tp / (tp + fn)`

    Examples:
        >>> round(float(recall(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.667

    Reference:
        [Wikipedia](https://en.wikipedia.org/wiki/Precision_and_recall)
    """
    return ratio(cells.tp, cells.positives, cells)


@score
def specificity(cells: ConfusionMatrix) -> Tensor:
    """Share of negatives that are left alone (true negative rate).

    Formula: `tn / (tn + fp)`

    Examples:
        >>> float(specificity(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0)))
        0.75

    Reference:
        [Wikipedia](https://en.wikipedia.org/wiki/Sensitivity_and_specificity)
    """
    return ratio(cells.tn, cells.negatives, cells)


@score
def accuracy(cells: ConfusionMatrix) -> Tensor:
    """Share of right decisions. Misleading on imbalanced data: "never" is 99 % right about a 1 % class.

    Formula: `(tp + tn) / (tp + fp + fn + tn)`

    Examples:
        >>> round(float(accuracy(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.7

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Eq. 3
    """
    return ratio(cells.tp + cells.tn, cells.total, cells)


@score
def balanced_accuracy(cells: ConfusionMatrix) -> Tensor:
    """Mean of recall and specificity; 0.5 for any constant prediction.

    Formula: `(tp / (tp + fn) + tn / (tn + fp)) / 2`

    Examples:
        >>> round(float(balanced_accuracy(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.708

    Reference:
        [Brodersen et al., 2010](https://doi.org/10.1109/ICPR.2010.764)
    """
    return (recall(cells) + specificity(cells)) / 2


@score
def f_beta(cells: ConfusionMatrix, beta: float = 1.0) -> Tensor:
    """Weighted harmonic mean of precision and recall, in which recall counts `beta` times as much.

    Formula: `(1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp)`

    Examples:
        >>> round(float(f_beta(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0), beta=2)), 3)
        0.69

    Reference:
        van Rijsbergen, Information Retrieval, 1979
    """
    square = check_number("beta", beta, 0.0, float("inf"), open_low=True) ** 2
    hits = (1 + square) * cells.tp
    return ratio(hits, hits + square * cells.fn + cells.fp, cells)


@score
def f1(cells: ConfusionMatrix) -> Tensor:
    """Harmonic mean of precision and recall (the Dice coefficient).

    Formula: `2 tp / (2 tp + fn + fp)`

    Examples:
        >>> round(float(f1(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.727

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Eq. 3
    """
    return f_beta(cells, beta=1.0)


@score
def jaccard(cells: ConfusionMatrix) -> Tensor:
    """Intersection over union of predicted and true positives.

    Formula: `tp / (tp + fp + fn)`

    Examples:
        >>> round(float(jaccard(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.571

    Reference:
        [Wikipedia](https://en.wikipedia.org/wiki/Jaccard_index)
    """
    return ratio(cells.tp, cells.tp + cells.fp + cells.fn, cells)


@score
def g_mean(cells: ConfusionMatrix) -> Tensor:
    """Geometric mean of recall and specificity.

    Formula: `sqrt(tp / (tp + fn) * tn / (tn + fp))`

    Examples:
        >>> round(float(g_mean(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.707

    Reference:
        Kubat and Matwin, ICML 1997
    """
    return square_root(recall(cells) * specificity(cells))


@score
def mcc(cells: ConfusionMatrix) -> Tensor:
    """Matthews correlation coefficient between truth and decision, from -1 to 1.

    Formula: `(tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn))`

    Examples:
        >>> round(float(mcc(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.408

    Reference:
        [Matthews, 1975](https://doi.org/10.1016/0005-2795(75)90109-9)
    """
    shares = _shares(cells)  # products of four counts would overflow float32 from 10^9.5 samples on
    spread = square_root(shares.predicted_positives * shares.predicted_negatives)
    spread = spread * square_root(shares.positives * shares.negatives)
    return ratio(shares.tp * shares.tn - shares.fp * shares.fn, spread, shares)


@score
def cohen_kappa(cells: ConfusionMatrix) -> Tensor:
    """Agreement of truth and decision beyond chance, from -1 to 1.

    Formula: `2 (tp tn - fp fn) / ((tp + fp) (fp + tn) + (tp + fn) (fn + tn))`

    Examples:
        >>> round(float(cohen_kappa(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.4

    Reference:
        [Cohen, 1960](https://doi.org/10.1177/001316446002000104)
    """
    shares = _shares(cells)
    chance = shares.predicted_positives * shares.negatives + shares.positives * shares.predicted_negatives
    return ratio(2 * (shares.tp * shares.tn - shares.fp * shares.fn), chance, shares)


@score
def tversky(cells: ConfusionMatrix, alpha: float = 0.5, beta: float = 0.5) -> Tensor:
    """Tversky index: `alpha` is the price of a false positive, `beta` that of a false negative.

    Formula: `tp / (tp + alpha fp + beta fn)`. Equals F1 at 0.5, 0.5 and Jaccard at 1, 1.

    Examples:
        >>> round(float(tversky(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0), alpha=0.3, beta=0.7)), 3)
        0.702

    Reference:
        [Salehi et al., 2017](https://arxiv.org/abs/1706.05721)
    """
    alpha, beta = (check_number(n, v, 0.0, float("inf")) for n, v in (("alpha", alpha), ("beta", beta)))
    return ratio(cells.tp, cells.tp + alpha * cells.fp + beta * cells.fn, cells)


@score
def youden_j(cells: ConfusionMatrix) -> Tensor:
    """Recall plus specificity minus 1 (informedness), from -1 to 1; 0 for a constant prediction of both classes.

    Formula: `tp / (tp + fn) + tn / (tn + fp) - 1`

    Examples:
        >>> round(float(youden_j(ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0))), 3)
        0.417

    Reference:
        [Youden, 1950](https://doi.org/10.1002/1097-0142(1950)3:1%3C32::AID-CNCR2820030106%3E3.0.CO;2-3)
    """
    return recall(cells) + specificity(cells) - 1


@score(curve=True)
def roc_auc(cells: ConfusionMatrix) -> Tensor:
    """Area under the ROC curve through the thresholds' points and the corners (0, 0) and (1, 1).

    Formula: trapezoidal rule over `fpr = fp / (fp + tn)` of `tpr = tp / (tp + fn)`. 0 if a class is missing.

    Examples:
        >>> cells = ConfusionMatrix(tp=[[4.0], [2.0]], fp=[[2.0], [0.0]], fn=[[1.0], [3.0]], tn=[[3.0], [5.0]])
        >>> round(float(roc_auc(cells)[0]), 3)
        0.78

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), supplement, "AUROC"
    """
    cells = _by_threshold(cells)
    tpr, fpr = _with_corners(recall(cells)), _with_corners(1 - specificity(cells))
    area = ops.sum((fpr[:-1] - fpr[1:]) * (tpr[:-1] + tpr[1:]), 0) / 2
    missing = ops.logical_or(cells.positives[0] <= 0, cells.negatives[0] <= 0)
    return ops.where(missing, ops.zeros_like(area), area)


@score(curve=True)
def pr_auc(cells: ConfusionMatrix) -> Tensor:
    """Area under the precision-recall curve through the thresholds' points.

    Formula: trapezoidal rule over recall of precision. The end points are recall 1 at the share of positives (call
    everything positive) and recall 0 at the precision of the last threshold that still calls something positive; so
    a constant prediction scores the share of positives, a perfect one 1.

    Examples:
        >>> cells = ConfusionMatrix(tp=[[4.0], [2.0]], fp=[[2.0], [0.0]], fn=[[1.0], [3.0]], tn=[[3.0], [5.0]])
        >>> round(float(pr_auc(cells)[0]), 3)
        0.85

    Reference:
        [Davis and Goadrich, 2006](https://doi.org/10.1145/1143844.1143874)
    """
    cells = _by_threshold(cells)
    called = ops.concatenate([cells.total[:1], cells.predicted_positives, ops.zeros_like(cells.total[:1])], 0)
    share = ratio(cells.positives, cells.total, cells)[:1]
    # Where nothing is called, the height has no weight in the area, but must not draw recall down.
    point = ops.where(cells.predicted_positives <= 0, share, precision(cells))
    height = ops.concatenate([share, point, ops.zeros_like(share)], 0)
    width = _with_corners(recall(cells))
    mean = ops.where(called[1:] > 0, (height[:-1] + height[1:]) / 2, height[:-1])
    area = ops.sum((width[:-1] - width[1:]) * mean, 0)
    return ops.where(cells.positives[0] <= 0, ops.zeros_like(area), area)


def _shares(cells: ConfusionMatrix) -> ConfusionMatrix:
    total = ops.stop_gradient(cells.total)
    return ConfusionMatrix(*(cell / ops.where(total > 0, total, 1.0) for cell in cells))


def _by_threshold(cells: ConfusionMatrix) -> ConfusionMatrix:
    """Cells in order of rising threshold, whatever the order in which the user gave them."""
    order = ops.argsort(-ops.stop_gradient(recall(cells) - specificity(cells)), 0)
    return ConfusionMatrix(*(ops.take_along_axis(cell, order, 0) for cell in cells))


def _with_corners(rate: Tensor) -> Tensor:
    one = ops.ones_like(rate[:1])
    return ops.concatenate([one, rate, 0 * one], 0)
