"""Scores against the threshold, ROC and precision-recall curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_softsets import scores
from keras_softsets._backend import Tensor
from keras_softsets.evaluation import ScoreLike
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.plots._figures import COLOURS, Figure, as_array, cells_of, legend_below, line_style, new_figure

GRID = tuple(k / 100 for k in range(1, 100))


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
        raise ValueError(f"`score` must be a score of one threshold. Received: score={function!r}")
    rows = 2 if histogram else 1
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
