"""What all figures share: size, colours, lines, legends."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets.confusion import confusion_matrix
from keras_softsets.matrices import ConfusionMatrix

Figure = Any  # matplotlib is optional, even for type checkers
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")


def cells_of(y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None, **options: Any) -> ConfusionMatrix:
    cells = confusion_matrix(y_true, y_pred, sample_weight, **options)
    if cells.tp.shape[1] != 1:
        raise ValueError(
            "`y_true` must be of one class, (n,) or (n, 1); draw one figure for each class. "
            f"Received: {cells.tp.shape[1]} classes"
        )
    return cells


def new_figure(rows: int, columns: int, *, width: float, height: float, **options: Any) -> tuple[Figure, np.ndarray]:
    try:
        from matplotlib.figure import Figure as NewFigure  # no pyplot: nothing global, nothing to close
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install 'keras-softsets[plots]'") from error
    figure = NewFigure(figsize=(width * columns, height * rows), layout="constrained", dpi=120)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.flat:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def line_style(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": STYLES[number % len(STYLES)], "linewidth": 1.8}


def legend_below(figure: Figure, axis: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)), frameon=False)


def as_array(x: Tensor) -> np.ndarray:
    return np.asarray(ops.convert_to_numpy(x))
