"""CIFAR-10 with more time than a row of the table has: what the networks that `epochs` trained are worth."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper import store
from benchmarks.paper.configurations import TABLES, Configuration
from benchmarks.paper.layout import COLUMNS, DATASETS
from benchmarks.paper.summary import best_epoch, epochs, published

_METRICS = ("mean_f1", "mean_accuracy", "f1_at_half", "f1_tuned", "auroc")
LABELS = {"f1_linear": "soft F1, linear", "accuracy_linear": "soft accuracy, linear", "bce": "BCE (probabilities)"}


def convergence_section(folder: Path = store.FOLDER) -> str:
    """Returns a table with one line for each network, at the epoch that validation data choose."""
    found = {configuration: rows for configuration in TABLES["cifar10"] if (rows := epochs(configuration, folder))}
    lines = [_line(configuration, rows) for configuration, rows in found.items()]
    header = ["data set", "loss", *(COLUMNS[metric] for metric in _METRICS), "best epoch", "epochs", "minutes"]
    text = [
        "### CIFAR-10, given more time",
        "",
        "One network each, tested after every epoch: `python -m benchmarks.paper --table cifar10 --loss f1_linear",
        "--epoch-by-epoch MINUTES`. The line is that of the epoch with the lowest validation loss.",
        "",
        *("| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)),
    ]
    return "\n".join([*text, ""]) if lines else ""


def _line(configuration: Configuration, rows: list[store.Row]) -> list[str]:
    best = best_epoch(rows)
    cells = [_cell(configuration, metric, best[metric]) for metric in _METRICS]
    minutes = sum(row["seconds"] for row in rows) / 60
    counts = [f"{number:.0f}" for number in (best["epoch"], len(rows), minutes)]
    return [DATASETS[configuration.dataset], LABELS[configuration.loss], *cells, *counts]


def _cell(configuration: Configuration, metric: str, value: float) -> str:
    # The paper's figure for BCE is that of thresholded logits; `epochs` reads probabilities.
    row = "" if configuration.loss == "bce" else configuration.loss
    paper = published("cifar10", configuration.dataset, row, metric)
    return f"{value:.3f}" + (f" ({paper.mean:.2f} ± {paper.deviation:.2f}, {value - paper.mean:+.2f})" if paper else "")
