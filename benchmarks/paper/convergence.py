"""CIFAR-10 with more time than a row of the table has: what the networks that `epochs` trained are worth."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper import store
from benchmarks.paper.configurations import EPOCH_BY_EPOCH, NETWORKS, Configuration
from benchmarks.paper.layout import COLUMNS, DATASETS
from benchmarks.paper.summary import best_epoch, epochs, published

_METRICS = ("mean_f1", "mean_accuracy", "f1_at_half", "f1_tuned", "auroc")
LABELS = {
    "f1_linear": "soft F1, linear",
    "f1_linear_mean": "soft F1, linear, mean over thresholds",
    "bce": "BCE (probabilities)",
}


def convergence_section(folder: Path = store.FOLDER) -> str:
    """Returns a table with one line for each network, at the epoch that validation data choose."""
    lines = [
        _line(configuration, network, rows)
        for configuration in EPOCH_BY_EPOCH
        for network in NETWORKS
        if (rows := epochs(configuration, folder, network))
    ]
    header = [
        "data set",
        "network",
        "loss",
        *(COLUMNS[metric] for metric in _METRICS),
        "best epoch",
        "epochs",
        "minutes",
    ]
    text = [
        "### CIFAR-10, given more time",
        "",
        "One network each, tested after every epoch (`python -m benchmarks.paper --epoch-by-epoch MINUTES`); the line",
        "is that of the epoch with the lowest validation loss. The loss over thresholds is that of the authors' code:",
        "the mean over 0.1 ... 0.9 with δ = 0.2, where the paper says 0.5 and δ = 0.1. Why there are several networks",
        "is said in the first part of this page.",
        "",
        *("| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)),
    ]
    return "\n".join([*text, ""]) if lines else ""


def _line(configuration: Configuration, network: str, rows: list[store.Row]) -> list[str]:
    best = best_epoch(rows)
    cells = [_cell(configuration, metric, best) for metric in _METRICS]
    minutes = sum(row["seconds"] for row in rows) / 60
    counts = [f"{number:.0f}" for number in (best["epoch"], len(rows), minutes)]
    return [DATASETS[configuration.dataset], NETWORKS[network], LABELS[configuration.loss], *cells, *counts]


def _cell(configuration: Configuration, metric: str, best: store.Row) -> str:
    if configuration.loss != "bce":
        return f"{best[metric]:.3f}" + _beside("f1_linear", configuration.dataset, metric, best[metric])
    if metric != "mean_f1":
        return f"{best[metric]:.3f}"
    # The paper's figure for BCE is that of thresholded logits.
    as_published = best["mean_f1_of_logits"]
    beside = _beside("bce", configuration.dataset, metric, as_published)
    return f"{best[metric]:.3f}; of logits {as_published:.3f}{beside}"


def _beside(row: str, dataset: str, metric: str, value: float) -> str:
    paper = published("cifar10", dataset, row, metric)
    return f" ({paper.mean:.2f} ± {paper.deviation:.2f}, {value - paper.mean:+.2f})" if paper else ""
