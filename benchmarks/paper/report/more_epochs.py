"""CIFAR-10 with more time than a row of the table has: networks that were tested after every epoch."""

from __future__ import annotations

from pathlib import Path

from benchmarks import markdown
from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.plan.datasets import IMAGES, LABELS
from benchmarks.paper.plan.epoch_by_epoch import CONFIGURATIONS, LOSSES, NETWORKS
from benchmarks.paper.plan.tables import COLUMNS
from benchmarks.paper.records import store
from benchmarks.paper.records.store import Line
from benchmarks.paper.report.numbers import Number, at_best_epoch, best_epoch, epochs, in_paper, span

_METRICS = ("mean_f1", "mean_accuracy", "f1_at_half", "f1_tuned", "auroc")
_HEADER = [
    *("data set", "network", "loss"),
    *(COLUMNS[metric] for metric in _METRICS),
    *("trials", "best epoch", "epochs", "minutes of a trial"),
]
_TEXT = """\
### CIFAR-10, given more time

Tested after every epoch (`python -m benchmarks.paper --epoch-by-epoch EPOCHS --trials TRIALS`); a trial
counts at its epoch with the lowest validation loss. The loss over thresholds is that of the authors' code:
the mean over 0.1 ... 0.9 with δ = 0.2, where the paper says 0.5 and δ = 0.1. The first part of this page
says why there are several networks.
"""
_AT_EQUAL_EPOCHS = """\
### CIFAR-10 at equal epochs

The rows above differ in their number of epochs, in favour of soft F1. Here all losses of a network are given as many as
the one with the fewest, and count at the epoch with the lowest validation loss among these (first trial). *Which loss
when* ([recipes](recipes.md)) compares more losses on Frog, all with eight epochs.
"""


def more_epochs_section(folder: Path = store.FOLDER) -> str:
    """Returns a table with one line for each network, at the epoch that validation data choose."""
    rows = [
        _row(configuration, network, trials)
        for configuration in CONFIGURATIONS
        for network in NETWORKS
        if (trials := epochs(configuration, folder, network))
    ]
    return f"{_TEXT}\n{markdown.table(_HEADER, rows)}\n" if rows else ""


def equal_epochs_section(folder: Path = store.FOLDER) -> str:
    """Returns a table of the losses of each network, after as many epochs as all of them have."""
    header = ["data set", "network", "epochs", "loss", *(COLUMNS[metric] for metric in _METRICS)]
    rows = [
        line for dataset in IMAGES for network in NETWORKS for line in _after_equal_epochs(dataset, network, folder)
    ]
    return f"{_AT_EQUAL_EPOCHS}\n{markdown.table(header, rows)}\n" if rows else ""


def _after_equal_epochs(dataset: str, network: str, folder: Path) -> list[list[str]]:
    """Returns the rows of a network, if there is something to compare."""
    wanted = (configuration for configuration in CONFIGURATIONS if configuration.dataset == dataset)
    found = {configuration: trials[0] for configuration in wanted if (trials := epochs(configuration, folder, network))}
    count = min(map(len, found.values()), default=0)
    places = [LABELS[dataset], NETWORKS[network], str(count)]
    lines = {configuration: best_epoch(trial[:count]) for configuration, trial in found.items()}
    rows = [[*places, _label(c), *(f"{line[metric]:.3f}" for metric in _METRICS)] for c, line in lines.items()]
    return rows if len(rows) > 1 else []


def _label(configuration: Configuration) -> str:
    return LOSSES[configuration.loss, configuration.balance]


def _row(configuration: Configuration, network: str, trials: list[list[Line]]) -> list[str]:
    cells = [_cell(configuration, metric, trials) for metric in _METRICS]
    best = [best_epoch(lines)["epoch"] for lines in trials]
    minutes = [sum(line["seconds"] for line in lines) / 60 for lines in trials]
    counts = [str(len(trials)), *(span(numbers) for numbers in (best, [len(lines) for lines in trials], minutes))]
    return [LABELS[configuration.dataset], NETWORKS[network], _label(configuration), *cells, *counts]


def _cell(configuration: Configuration, metric: str, trials: list[list[Line]]) -> str:
    ours = at_best_epoch(trials, metric)
    if configuration.loss != "bce":
        return f"{ours.text}{_beside('f1_linear', configuration.dataset, metric, ours)}"
    if metric != "mean_f1" or configuration.balance != "none":
        return ours.text
    # The paper's number for BCE is that of thresholded logits.
    of_logits = at_best_epoch(trials, "mean_f1_of_logits")
    return f"{ours.text}; of logits {of_logits.text}{_beside('bce', configuration.dataset, metric, of_logits)}"


def _beside(row: str, dataset: str, metric: str, ours: Number) -> str:
    paper = in_paper("cifar10", dataset, row, metric)
    return f" ({paper.mean:.2f} ± {paper.deviation:.2f}, {ours.mean - paper.mean:+.2f})" if paper else ""
