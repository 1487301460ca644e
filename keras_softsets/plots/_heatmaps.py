"""Confusion matrices: the soft one beside the hard one, and the matrix of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_softsets import decisions
from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor, wide
from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.metrics import MulticlassConfusion
from keras_softsets.plots._figures import Figure, as_array, cells_of, new_figure


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
        threshold: The probability from which a sample is positive. Defaults to `0.5`.
        heaviside: The approximation of the soft matrix. Defaults to `"linear"`.
        sample_weight: Weights of the samples. Defaults to `None`.

    Examples:
        >>> figure = confusion([0, 1, 0, 1], [0.2, 0.6, 0.4, 0.9])
        >>> [axis.get_title() for axis in figure.axes]
        ['hard', 'soft, LinearHeaviside(delta=0.1)']
    """
    if decisions.get(threshold).rows > 1:
        raise ValueError(f"`threshold` must be a single number. Received: threshold={threshold}")
    figure, axes = new_figure(1, 2, width=3.6, height=3.4)
    for axis, name in zip(axes[0], ("step", heaviside)):
        cells = cells_of(y_true, y_pred, sample_weight, threshold=threshold, heaviside=heavisides.get(name))
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
    """Draws the c x c matrix of several classes: weights, and shares of each true class as colours.

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
        threshold=threshold, heaviside=heaviside, from_logits=from_logits, ignore_class=ignore_class, dtype=wide()
    )
    counts = as_array(metric(y_true, y_pred, sample_weight))
    classes = len(counts)
    if names is not None and len(names) != classes:
        raise ValueError(f"`names` must have one name for each of the {classes} classes. Received: {len(names)} names")
    figure, axes = new_figure(1, 1, width=max(4.2, 2 + 0.55 * classes), height=max(3.6, 1.4 + 0.55 * classes))
    _draw_matrix(axes[0, 0], counts, [str(name) for name in (names or range(classes))])
    return figure


def _draw_matrix(axis: Any, counts: np.ndarray, names: list[str]) -> None:
    """Draws counts of true (rows) and decided classes, coloured by their share of the true class."""
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1e-30)
    image = axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), value in np.ndenumerate(counts):
        share = shares[row, column]
        text = f"{value:,.4g}" + (f"\n{share:.0%}" if value > 0 else "")
        axis.text(column, row, text, ha="center", va="center", color="white" if share > 0.6 else "black", fontsize=7)
    ticks = range(len(names))
    axis.set(xlabel="decided class", ylabel="true class", xticks=ticks, yticks=ticks, yticklabels=names)
    axis.set_xticklabels(names, rotation=0 if max(map(len, names)) < 5 else 45, ha="center")
    axis.grid(False)
    axis.figure.colorbar(image, ax=axis, label="share of the true class", fraction=0.04)
