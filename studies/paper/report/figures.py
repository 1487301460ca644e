"""The figures: F1 against threshold, precision against recall by F-beta, F1 after each epoch."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from studies.engine.evaluation import THRESHOLDS
from studies.paper import plan
from studies.paper.plan import IMAGES, LABELS, TABULAR, Configuration
from studies.paper.report.numbers import Number, best_epoch, epochs, in_paper, measured

_CURVES = {
    ("f1_linear", "probabilities"): ("soft F1, linear", "#1b6ca8", "-"),
    ("f1_sigmoid", "probabilities"): ("soft F1, sigmoid", "#4fa3d1", "--"),
    ("bce", "probabilities"): ("BCE", "#c0392b", "-"),
    ("bce", "logits"): ("BCE, logits thresholded (authors' code)", "#e59a90", ":"),
}


def write(folder: Path, images: Path) -> None:
    """Writes the figures, the same files for the same results."""
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "results"
    images.mkdir(parents=True, exist_ok=True)
    for name, draw, datasets in (
        ("thresholds", _draw_thresholds, TABULAR),
        ("fbeta", _draw_f_beta, TABULAR),
        ("epochs", _draw_epochs, IMAGES),
    ):
        figure, axes = plt.subplots(1, len(datasets), figsize=(13, 3.4), constrained_layout=True)
        for axis, dataset in zip(axes, datasets, strict=True):
            axis.set_title(LABELS[dataset])
            draw(axis, dataset, folder)
        axes[0].legend(fontsize=7)
        figure.savefig(images / f"results_{name}.svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)


def _draw_thresholds(axis: Axes, dataset: str, folder: Path) -> None:
    for (loss, reading), (label, colour, style) in _CURVES.items():
        columns = [f"f1_at_{threshold}" for threshold in THRESHOLDS]
        numbers = [measured(Configuration(dataset, loss), reading, column, folder) for column in columns]
        mean, deviation = _split(numbers)
        axis.plot(THRESHOLDS[: len(mean)], mean, style, color=colour, label=label)
        bounds = [[m - s * d for m, d in zip(mean, deviation, strict=True)] for s in (1, -1)]
        axis.fill_between(THRESHOLDS[: len(mean)], *bounds, color=colour, alpha=0.12, linewidth=0)
    axis.set(xlabel="threshold", ylabel="F1 (mean ± standard deviation)", ylim=(0, 1))


def _draw_f_beta(axis: Axes, dataset: str, folder: Path) -> None:
    points = {}
    for loss, label in (("bce", "BCE"), ("f1_linear", "soft F1"), ("f2_linear", "soft F2"), ("f3_linear", "soft F3")):
        columns = ("mean_recall", "mean_precision")
        numbers = [measured(Configuration(dataset, loss), "probabilities", column, folder) for column in columns]
        if all(numbers):
            points[label], _ = _split(numbers)
            marker = "x" if loss == "bce" else "o"
            axis.plot(*points[label], marker, label=label, color="#c0392b" if loss == "bce" else None)
    soft = [point for label, point in points.items() if label != "BCE"]
    axis.plot(*zip(*soft, strict=True), "-", color="#888", linewidth=0.8, zorder=0) if soft else None
    axis.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.02))


def _draw_epochs(axis: Axes, dataset: str, folder: Path) -> None:
    colours = {"tiny_darknet": "#1b6ca8", "tiny_darknet_keras": "#9ec5e0", "yolov3_tiny": "#2e8b57"}
    for (loss, network), label in plan.SOFT_F1.items():
        for trial, lines in enumerate(epochs(Configuration(dataset, loss), folder, network)):
            colour, style = colours[network], ":" if loss == "f1_linear" else "-"
            points = [line["epoch"] for line in lines], [line["mean_f1"] for line in lines]
            axis.plot(*points, style, color=colour, label=None if trial else label, linewidth=1.5 / (trial + 1))
            best = best_epoch(lines)
            axis.plot(best["epoch"], best["mean_f1"], "o", color=colour)  # the epoch that validation data choose
    if paper := in_paper("cifar10", dataset, "f1_linear", "mean_f1"):
        axis.axhline(paper.mean, color="#888", linestyle="--", label="in the paper")
        below = 1 - paper.mean
        axis.set_ylim(paper.mean - 0.7 * below, paper.mean + 0.1 * below)  # the first epochs would hide the others
    axis.set(xlabel="epochs", ylabel="test F1, mean over thresholds")


def _split(numbers: list[Number | None]) -> tuple[list[float], list[float]]:
    found = [n for n in numbers if n]
    return [n.mean for n in found], [n.deviation for n in found]
