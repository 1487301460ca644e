"""The figure of the documentation: time over the number of samples, compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot as plt

from benchmarks.speed.cases import BASE
from benchmarks.speed.results import Results

# Colours that colour-blind readers can tell apart.
COLOURS = {BASE: "#000000", "linear": "#0072B2", "sigmoid": "#D55E00", "tabulated": "#009E73"}


def write(results: Results, path: Path) -> None:
    """Writes the figure."""
    matplotlib.use("Agg")
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for name, points in _curves(results).items():
        kind, _, thresholds = name.partition(", ")
        if kind not in COLOURS or "uneven" in thresholds:
            continue
        style = {"9": "s--", "99": "^:"}.get(thresholds.split(" ")[0], "o-")
        axes.loglog(*zip(*sorted(points)), style, label=name, color=COLOURS[kind], ms=5, lw=3 if kind == BASE else 1.3)
    axes.set(xlabel="samples in the batch", ylabel="ms, forward + gradient", title="Compiled losses on a CPU")
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def write_growth(growth: dict[str, Any], path: Path) -> None:
    """Writes the figure of how time grows with samples, classes, thresholds and replicas."""
    matplotlib.use("Agg")
    figure, panels = plt.subplots(1, len(growth), figsize=(12, 3.4), layout="constrained", sharey=True)
    for axes, (number, found) in zip(panels, growth.items()):
        for name in next(iter(found.values())):
            times = [cases[name]["wall"]["ms"][1] for cases in found.values()]
            style = {"color": "#000000", "lw": 2.5} if name == BASE else {"color": "#0072B2"}
            mark = "s--" if "9 thresholds" in name else "o-"
            axes.loglog([int(count) for count in found], times, mark, label=name, ms=4, **style)
        if len(found) <= 3:  # less than a decade, where the labels of a logarithmic axis would overlap
            axes.set_xticks([int(count) for count in found], list(found))
            axes.set_xticks([], minor=True)
        axes.set(xlabel=number, ylabel="ms, forward + gradient" if axes is panels[0] else "")
    panels[0].legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _curves(results: Results) -> dict[str, list[tuple[int, float]]]:
    """Returns (n, ms) of each loss in the groups of one class that are compiled, without weights."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for group, cases in results["speed"].items():
        size, _, kind = group.partition(", ")
        if kind == "compiled":
            for name, case in cases.items():
                curves.setdefault(name, []).append((int(size.removeprefix("n=")), case["wall"]["ms"][1]))
    return curves
