"""CIFAR-10 with more time than a row of the table has: what the networks that `epochs` trained are worth."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper import store
from benchmarks.paper.configurations import EPOCH_BY_EPOCH, NETWORKS, Configuration
from benchmarks.paper.layout import COLUMNS, DATASETS
from benchmarks.paper.summary import Number, at_best_epoch, best_epoch, epochs, published, span

_METRICS = ("mean_f1", "mean_accuracy", "f1_at_half", "f1_tuned", "auroc")
LABELS = {
    "f1_linear": "soft F1, linear",
    "f1_linear_mean": "soft F1, linear, mean over thresholds",
    "bce": "BCE (probabilities)",
}


def convergence_section(folder: Path = store.FOLDER) -> str:
    """Returns a table with one line for each network, at the epoch that validation data choose."""
    lines = [
        _line(configuration, network, trials)
        for configuration in EPOCH_BY_EPOCH
        for network in NETWORKS
        if (trials := epochs(configuration, folder, network))
    ]
    header = [
        "data set",
        "network",
        "loss",
        *(COLUMNS[metric] for metric in _METRICS),
        "trials",
        "best epoch",
        "epochs",
        "minutes of a trial",
    ]
    text = [
        "### CIFAR-10, given more time",
        "",
        "Tested after every epoch (`python -m benchmarks.paper --epoch-by-epoch EPOCHS --trials TRIALS`); a trial",
        "counts at its epoch with the lowest validation loss. The loss over thresholds is that of the authors' code:",
        "the mean over 0.1 ... 0.9 with δ = 0.2, where the paper says 0.5 and δ = 0.1. Why there are several networks",
        "is said in the first part of this page.",
        "",
        *("| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *lines)),
    ]
    return "\n".join([*text, ""]) if lines else ""


def _line(configuration: Configuration, network: str, trials: list[list[store.Row]]) -> list[str]:
    cells = [_cell(configuration, metric, trials) for metric in _METRICS]
    best = [best_epoch(rows)["epoch"] for rows in trials]
    minutes = [sum(row["seconds"] for row in rows) / 60 for rows in trials]
    counts = [str(len(trials)), *(span(numbers) for numbers in (best, [len(rows) for rows in trials], minutes))]
    return [DATASETS[configuration.dataset], NETWORKS[network], LABELS[configuration.loss], *cells, *counts]


def _cell(configuration: Configuration, metric: str, trials: list[list[store.Row]]) -> str:
    ours = at_best_epoch(trials, metric)
    if configuration.loss != "bce":
        return f"{ours.text}{_beside('f1_linear', configuration.dataset, metric, ours)}"
    if metric != "mean_f1":
        return ours.text
    # The paper's figure for BCE is that of thresholded logits.
    as_published = at_best_epoch(trials, "mean_f1_of_logits")
    return f"{ours.text}; of logits {as_published.text}{_beside('bce', configuration.dataset, metric, as_published)}"


def _beside(row: str, dataset: str, metric: str, ours: Number) -> str:
    paper = published("cifar10", dataset, row, metric)
    return f" ({paper.mean:.2f} ± {paper.deviation:.2f}, {ours.mean - paper.mean:+.2f})" if paper else ""
