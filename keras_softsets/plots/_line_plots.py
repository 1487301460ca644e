"""Lines: approximations of the step, scores against the threshold, ROC and precision-recall curves, training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from keras import ops

from keras_softsets import heaviside as heavisides
from keras_softsets import scores
from keras_softsets._backend import Tensor, wide
from keras_softsets._checks import check_flag
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.plots._figures import COLOURS, Figure, as_array, cells_of, legend_below, line_style, new_figure
from keras_softsets.scores._registry import ScoreLike, resolve

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
    figure, axes = new_figure(2, len(thresholds), width=3.4, height=2.6, sharex=True)
    p = np.linspace(0, 1, 2001)
    for column, tau in enumerate(thresholds):
        for number, item in enumerate(items):
            h = heavisides.get(item)
            value = as_array(h(ops.convert_to_tensor(p, wide()), float(tau)))
            slope = np.gradient(value, p) if h.differentiable else np.zeros_like(p)
            for axis, line in zip(axes[:, column], (value, slope)):
                axis.plot(p, line, label=repr(h), **line_style(number))
        axes[0, column].set(title=f"threshold {tau:g}", ylabel="h(p)" if column == 0 else "")
        axes[1, column].set(xlabel="p", ylabel="slope" if column == 0 else "", ylim=(0, None))
    legend_below(figure, axes[0, 0])
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
    function = resolve(score, score_args, score_against_threshold)
    if function.curve:
        raise ValueError(f"`score` must be a score of one threshold. Received: score={function!r}")
    rows = 2 if check_flag("histogram", histogram) else 1
    figure, axes = new_figure(rows, 1, width=6.4, height=4.8 / rows if rows > 1 else 3.6, sharex=True)
    for number, (name, p) in enumerate(named.items()):
        cells = cells_of(y_true, p, sample_weight, threshold=thresholds, heaviside="step")
        axes[0, 0].plot(thresholds, as_array(function(cells))[:, 0], label=name, **line_style(number))
        if histogram:
            bins = np.linspace(0, 1, 41)
            axes[1, 0].hist(np.ravel(p), bins, histtype="step", log=True, color=COLOURS[number % 7], lw=1.5, label=name)
    low, high = axes[0, 0].get_ylim()
    axes[0, 0].set(ylabel=function.name, ylim=(min(0, low), max(1.02, high)), xlim=(0, 1))
    if histogram:
        axes[1, 0].set(ylabel="samples")
    axes[-1, 0].set(xlabel="threshold" if not histogram else "threshold, or probability")
    legend_below(figure, axes[0, 0])
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
    figure, axes = new_figure(1, 2, width=4.2, height=4.2)
    for number, (name, p) in enumerate(named.items()):
        cells = cells_of(y_true, p, sample_weight, threshold=sorted(thresholds), heaviside=heaviside)
        recall, false_positives = (as_array(x)[:, 0] for x in (scores.recall(cells), 1 - scores.specificity(cells)))
        share = as_array(scores.ratio(cells.positives, cells.total, cells))[0, 0]
        called = as_array(cells.predicted_positives)[:, 0] > 0
        precision = np.append(share, as_array(scores.precision(cells))[called, 0])
        areas = [f"{name} ({float(area(cells)[0]):.3f})" for area in (scores.roc_auc, scores.pr_auc)]
        axes[0, 0].plot([1, *false_positives, 0], [1, *recall, 0], label=areas[0], **line_style(number))
        axes[0, 1].plot([1, *recall[called], 0], [*precision, precision[-1]], label=areas[1], **line_style(number))
    axes[0, 0].plot([0, 1], [0, 1], color="0.7", lw=0.8, zorder=0)
    axes[0, 0].set(xlabel="false positive rate", ylabel="recall", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    axes[0, 1].set(xlabel="recall", ylabel="precision", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    for axis in axes[0]:
        axis.legend(frameon=False, loc="lower center")
    return figure


def training(history: Any, names: Sequence[str] | None = None) -> Figure:
    """Draws the history that `fit` returned: one panel for each quantity, with training and validation together.

    Args:
        history: A `keras.callbacks.History`, or its dict.
        names: The quantities, without `val_`. Defaults to `None`: all that are single numbers.

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
    figure, axes = new_figure(1, len(names), width=4.2, height=3.2)
    for axis, name in zip(axes[0], names):
        for number, key in enumerate((name, f"val_{name}")):
            if key in single:
                label = "validation" if number else "training"
                every = max(len(single[name]) // max(len(single[key]), 1), 1)  # validation_freq
                axis.plot(every * np.arange(1, len(single[key]) + 1), single[key], label=label, **line_style(number))
        axis.set(xlabel="epoch", ylabel=name)
        axis.legend(frameon=False)
    return figure
