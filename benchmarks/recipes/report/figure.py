"""The figure: what each method gives up, decisions against ranking and against calibration."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

from benchmarks.recipes.report.numbers import Results, mean, methods_at, shared_data
from benchmarks.recipes.report.tables import Labels

_PANELS = {"auroc": "AUROC", "calibration_error": "calibration error"}
_COLOURS = {"bce": "#c0392b", "f1": "#1b6ca8"}
_BLEND = "#1e8449"
_MARKS = "oPXsDv^<>phd*8"


def write(results: Results, labels: Labels, batch_sizes: list[int], path: Path) -> None:
    """Writes one row of panels for each batch size, the same file for the same results."""
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "recipes"
    figure, axes = plt.subplots(
        len(batch_sizes), 2, figsize=(11, 4.2 * len(batch_sizes)), squeeze=False, constrained_layout=True
    )
    for line, size in zip(axes, batch_sizes, strict=True):
        for axis, (column, label) in zip(line, _PANELS.items(), strict=True):
            _draw(axis, results, labels, size, column)
            axis.set(xlabel=label, ylabel="F1 at 0.5", title=f"batches of {size:,}")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def _draw(axis: plt.Axes, results: Results, labels: Labels, batch_size: int, column: str) -> None:
    data = shared_data(results, batch_size)
    for number, method in enumerate(methods_at(results, batch_size)):
        point = [mean(results, method, batch_size, each, data) for each in (column, "f1_at_half")]
        mark = _MARKS[number % len(_MARKS)]
        axis.scatter(*point, color=_colour(method), marker=mark, s=45, label=labels[method], alpha=0.85)


def _colour(method: str) -> str:
    """One colour for each family: cross-entropies, set losses and blends."""
    if "_bce" in method:
        return _BLEND
    return next((colour for start, colour in _COLOURS.items() if method.startswith(start)), "#7f8c8d")
