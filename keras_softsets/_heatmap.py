"""A matrix drawn as coloured cells with their values."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw_matrix(axis: Any, counts: np.ndarray, names: list[str]) -> None:
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
