"""Pictures: approximations, scores against thresholds, curves, matrices and training; matplotlib is imported inside.

Each function returns a matplotlib figure and shows or saves nothing itself. Colours are those of Okabe and Ito, which
colour-blind readers can tell apart; line styles repeat the distinction for printers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_softsets import decisions, scores
from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor
from keras_softsets._heatmap import draw_matrix
from keras_softsets.confusion import ConfusionMatrix, confusion_matrix
from keras_softsets.decisions import DecisionLike
from keras_softsets.evaluation import ScoreLike
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.metrics import MulticlassConfusion

Figure = Any  # matplotlib is optional, also for type checkers
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")
GRID = tuple(k / 100 for k in range(1, 100))


def approximations(
    items: Sequence[HeavisideLike] = ("step", "linear", "sigmoid"),
    threshold: float | Sequence[float] = 0.5,
) -> Figure:
    """Draws approximations of the step and their slopes over p, one column for each threshold.

    Args:
        items: Approximations, by name or as values such as `LinearHeaviside(0.2)`. Defaults to the three by name.
        threshold: One or several thresholds. Defaults to `0.5`.

    Examples:
        >>> figure = approximations(["linear", heavisides.SigmoidHeaviside(50)], threshold=[0.1, 0.5])
        >>> len(figure.axes)
        4
    """
    thresholds = np.atleast_1d(threshold)
    figure, axes = _figure(2, len(thresholds), width=3.4, height=2.6, sharex=True)
    p = np.linspace(0, 1, 2001)
    for column, tau in enumerate(thresholds):
        for number, item in enumerate(items):
            h = heavisides.get(item)
            value = _numpy(h(ops.convert_to_tensor(p, "float64"), float(tau)))
            slope = np.gradient(value, p) if h.differentiable else np.zeros_like(p)
            for axis, line in zip(axes[:, column], (value, slope)):
                axis.plot(p, line, label=repr(h), **_line(number))
        axes[0, column].set(title=f"threshold {tau:g}", ylabel="h(p)" if column == 0 else "")
        axes[1, column].set(xlabel="p", ylabel="slope" if column == 0 else "", ylim=(0, None))
    _legend_below(figure, axes[0, 0])
    return figure


def score_against_threshold(
    y_true: Tensor,
    predictions: Mapping[str, Tensor] | Tensor,
    score: ScoreLike = "f1",
    *,
    sample_weight: Tensor | None = None,
    thresholds: Sequence[float] = GRID,
    histogram: bool = True,
    **score_args: Any,
) -> Figure:
    """Draws a hard score against the threshold for one or several models, over histograms of their probabilities.

    A model trained on the score is flat and high; one that needs its threshold tuned has a narrow peak.

    Args:
        y_true: Labels, `(n,)` or `(n, 1)`.
        predictions: Probabilities, or a mapping from a model's name to them.
        score: A score of one threshold. Defaults to `"f1"`.
        sample_weight: Weights of the samples. Defaults to `None`.
        thresholds: Where the score is computed. Defaults to 0.01, 0.02, ..., 0.99.
        histogram: Whether the histograms are drawn. Defaults to `True`.
        **score_args: Parameters of the score.

    Examples:
        >>> figure = score_against_threshold([0, 1, 1], {"a": [0.2, 0.6, 0.9], "b": [0.1, 0.3, 0.4]})
        >>> [axis.get_ylabel() for axis in figure.axes]
        ['f1', 'samples']
    """
    named = predictions if isinstance(predictions, Mapping) else {"model": predictions}
    function = scores.get(score, **score_args)
    if function.curve:
        raise ValueError(f"`score` must be one of a single threshold. Received: score={function!r}")
    rows = 2 if histogram else 1
    figure, axes = _figure(rows, 1, width=6.4, height=4.8 / rows if rows > 1 else 3.6, sharex=True)
    for number, (name, p) in enumerate(named.items()):
        cells = _cells(y_true, p, sample_weight, threshold=thresholds, heaviside="step")
        axes[0, 0].plot(thresholds, _numpy(function(cells))[:, 0], label=name, **_line(number))
        if histogram:
            bins = np.linspace(0, 1, 41)
            axes[1, 0].hist(np.ravel(p), bins, histtype="step", log=True, color=COLOURS[number % 7], lw=1.5, label=name)
    low, high = axes[0, 0].get_ylim()
    axes[0, 0].set(ylabel=function.name, ylim=(min(0, low), max(1.02, high)), xlim=(0, 1))
    if histogram:
        axes[1, 0].set(ylabel="samples")
    axes[-1, 0].set(xlabel="threshold" if not histogram else "threshold, or probability")
    _legend_below(figure, axes[0, 0])
    return figure


def curves(
    y_true: Tensor,
    predictions: Mapping[str, Tensor] | Tensor,
    *,
    heaviside: HeavisideLike = "step",
    sample_weight: Tensor | None = None,
    thresholds: Sequence[float] = GRID,
) -> Figure:
    """Draws ROC and precision-recall curves from hard or soft cells, with their areas.

    Args:
        y_true: Labels, `(n,)` or `(n, 1)`.
        predictions: Probabilities, or a mapping from a model's name to them.
        heaviside: The approximation; `"linear"` shows what a loss sees. Defaults to `"step"`.
        sample_weight: Weights of the samples. Defaults to `None`.
        thresholds: The points of the curves. Defaults to 0.01, 0.02, ..., 0.99.

    Examples:
        >>> figure = curves([0, 1, 0, 1], [0.2, 0.6, 0.4, 0.9], heaviside="linear")
        >>> [axis.get_xlabel() for axis in figure.axes]
        ['false positive rate', 'recall']
    """
    named = predictions if isinstance(predictions, Mapping) else {"model": predictions}
    figure, axes = _figure(1, 2, width=4.2, height=4.2)
    for number, (name, p) in enumerate(named.items()):
        cells = _cells(y_true, p, sample_weight, threshold=sorted(thresholds), heaviside=heaviside)
        recall, false_positives = (_numpy(x)[:, 0] for x in (scores.recall(cells), 1 - scores.specificity(cells)))
        share = _numpy(scores.ratio(cells.positives, cells.total, cells))[0, 0]
        called = _numpy(cells.predicted_positives)[:, 0] > 0
        precision = np.append(share, _numpy(scores.precision(cells))[called, 0])
        areas = [f"{name} ({float(area(cells)[0]):.3f})" for area in (scores.roc_auc, scores.pr_auc)]
        axes[0, 0].plot([1, *false_positives, 0], [1, *recall, 0], label=areas[0], **_line(number))
        axes[0, 1].plot([1, *recall[called], 0], [*precision, precision[-1]], label=areas[1], **_line(number))
    axes[0, 0].plot([0, 1], [0, 1], color="0.7", lw=0.8, zorder=0)
    axes[0, 0].set(xlabel="false positive rate", ylabel="recall", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    axes[0, 1].set(xlabel="recall", ylabel="precision", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    for axis in axes[0]:
        axis.legend(frameon=False, loc="lower center")
    return figure


def confusion(
    y_true: Tensor,
    y_pred: Tensor,
    *,
    threshold: float = 0.5,
    heaviside: HeavisideLike = "linear",
    sample_weight: Tensor | None = None,
) -> Figure:
    """Draws the soft confusion matrix beside the hard one.

    Args:
        y_true: Labels, `(n,)` or `(n, 1)`.
        y_pred: Probabilities.
        threshold: Where a probability turns positive. Defaults to `0.5`.
        heaviside: The approximation of the soft matrix. Defaults to `"linear"`.
        sample_weight: Weights of the samples. Defaults to `None`.

    Examples:
        >>> figure = confusion([0, 1, 0, 1], [0.2, 0.6, 0.4, 0.9])
        >>> [axis.get_title() for axis in figure.axes]
        ['hard', 'soft, LinearHeaviside(delta=0.1)']
    """
    if decisions.get(threshold).rows > 1:
        raise ValueError(f"`threshold` must be a single number. Received: threshold={threshold}")
    figure, axes = _figure(1, 2, width=3.6, height=3.4)
    for axis, name in zip(axes[0], ("step", heaviside)):
        cells = _cells(y_true, y_pred, sample_weight, threshold=threshold, heaviside=heavisides.get(name))
        tp, fp, fn, tn = (float(cell[0, 0]) for cell in cells)
        matrix = np.array([[tn, fp], [fn, tp]])
        shares = matrix / np.maximum(matrix.sum(1, keepdims=True), 1e-30)
        axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        for (row, column), value in np.ndenumerate(matrix):
            colour = "white" if shares[row, column] > 0.6 else "black"
            text = f"{['TN', 'FP', 'FN', 'TP'][2 * row + column]}\n{value:,.4g}\n{shares[row, column]:.1%}"
            axis.text(column, row, text, ha="center", va="center", color=colour)
        title = "hard" if name == "step" else f"soft, {heavisides.get(name)!r}"
        axis.set(title=title, xlabel="decision", ylabel="label")
        axis.set(
            xticks=[0, 1], yticks=[0, 1], xticklabels=["negative", "positive"], yticklabels=["negative", "positive"]
        )
        axis.grid(False)
    return figure


def confusion_heatmap(
    y_true: Tensor,
    y_pred: Tensor,
    *,
    names: Sequence[str] | None = None,
    threshold: DecisionLike = "argmax",
    heaviside: HeavisideLike = "step",
    sample_weight: Tensor | None = None,
    from_logits: bool = False,
    ignore_class: int | None = None,
) -> Figure:
    """Draws the c x c matrix of several classes: weights, and shares of each true class, by which cells are coloured.

    Args:
        y_true: Class ids, or one-hot labels of the shape of `y_pred`.
        y_pred: Probabilities of the classes, `(..., classes)`, or logits.
        names: Names of the classes. Defaults to `None`: 0, 1, 2 ...
        threshold: `"argmax"`, or a value such as `Argmax(offsets=[0.0, 0.3])`. Defaults to `"argmax"`.
        heaviside: `"step"` for counts; anything else for the soft matrix. Defaults to `"step"`.
        sample_weight: Weights of the samples. Defaults to `None`.
        from_logits: Whether predictions are the logits of a softmax. Defaults to `False`.
        ignore_class: Class id that does not count. Defaults to `None`.

    Examples:
        >>> figure = confusion_heatmap([0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]], names=["cat", "dog"])
        >>> [text.get_text().split() for text in figure.axes[0].texts]
        [['1', '100%'], ['0'], ['1', '50%'], ['1', '50%']]
    """
    metric = MulticlassConfusion(
        threshold=threshold, heaviside=heaviside, from_logits=from_logits, ignore_class=ignore_class, dtype="float64"
    )
    counts = _numpy(metric(y_true, y_pred, sample_weight))
    classes = len(counts)
    if names is not None and len(names) != classes:
        raise ValueError(f"`names` must be one for each of the {classes} classes. Received: {len(names)} names")
    figure, axes = _figure(1, 1, width=max(4.2, 2 + 0.55 * classes), height=max(3.6, 1.4 + 0.55 * classes))
    draw_matrix(axes[0, 0], counts, [str(name) for name in (names or range(classes))])
    return figure


def training(history: Any, names: Sequence[str] | None = None) -> Figure:
    """Draws what `fit` returned: each quantity in a panel, training and validation in one.

    Args:
        history: A `keras.callbacks.History`, or its dict.
        names: The quantities, without `val_`. Defaults to `None`, all that are single numbers.

    Examples:
        >>> figure = training({"loss": [0.5, 0.3], "val_loss": [0.6, 0.4], "f1": [0.2, 0.7]})
        >>> [axis.get_ylabel() for axis in figure.axes]
        ['loss', 'f1']
    """
    logs = getattr(history, "history", history)
    single = {name: values for name, values in logs.items() if np.ndim(values) == 1}
    names = names or [name for name in single if not name.startswith("val_")]
    missing = [name for name in names if name not in single]
    if missing or not names:
        raise ValueError(f"`names` must be among {', '.join(single) or 'the logged quantities'}. Received: {missing}")
    figure, axes = _figure(1, len(names), width=4.2, height=3.2)
    for axis, name in zip(axes[0], names):
        for number, key in enumerate((name, f"val_{name}")):
            if key in single:
                label = "validation" if number else "training"
                every = max(len(single[name]) // max(len(single[key]), 1), 1)  # validation_freq
                axis.plot(every * np.arange(1, len(single[key]) + 1), single[key], label=label, **_line(number))
        axis.set(xlabel="epoch", ylabel=name)
        axis.legend(frameon=False)
    return figure


def _cells(y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None, **options: Any) -> ConfusionMatrix:
    cells = confusion_matrix(y_true, y_pred, sample_weight, **options)
    if cells.tp.shape[1] != 1:
        raise ValueError(
            "`y_true` must be of one class, (n,) or (n, 1); draw one picture for each class. "
            f"Received: {cells.tp.shape[1]} classes"
        )
    return cells


def _figure(rows: int, columns: int, *, width: float, height: float, **options: Any) -> tuple[Figure, np.ndarray]:
    try:
        from matplotlib.figure import Figure as NewFigure  # no pyplot: nothing global, nothing to close
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'keras-softsets[plots]'") from error
    figure = NewFigure(figsize=(width * columns, height * rows), layout="constrained", dpi=120)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.flat:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _line(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": STYLES[number % len(STYLES)], "linewidth": 1.8}


def _legend_below(figure: Figure, axis: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)), frameon=False)


def _numpy(x: Tensor) -> np.ndarray:
    return np.asarray(ops.convert_to_numpy(x))
