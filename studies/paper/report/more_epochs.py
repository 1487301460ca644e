"""CIFAR-10 after every epoch, given more time and at equal epochs; and how long a training takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import markdown
from studies.harness import store
from studies.harness.store import Line
from studies.paper.plan import COLUMNS, CONFIGURATIONS, IMAGES, LABELS, LOSSES, NETWORKS, TABULAR, Configuration
from studies.paper.report import numbers
from studies.paper.report.numbers import Number, at_best_epoch, best_epoch, epochs, in_paper, span

_METRICS = ("mean_f1", "mean_accuracy", "f1_at_half", "f1_tuned", "auroc")
_HEADER = [
    *("data set", "network", "loss"),
    *(COLUMNS[metric] for metric in _METRICS),
    *("trials", "best epoch", "epochs", "minutes of a trial"),
]
_TEXT = """\
### CIFAR-10, given more time

Tested after every epoch (`python -m studies run paper_epochs --epochs EPOCHS --trials TRIALS`); a trial
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


def more_epochs_section(folder: Path = store.RESULTS) -> str:
    """Returns a table with one line for each network, at the epoch that validation data choose."""
    rows = [
        _row(configuration, network, trials)
        for configuration in CONFIGURATIONS
        for network in NETWORKS
        if (trials := epochs(configuration, folder, network))
    ]
    return f"{_TEXT}\n{markdown.table(_HEADER, rows)}\n" if rows else ""


def equal_epochs_section(folder: Path = store.RESULTS) -> str:
    """Returns a table of the losses of each network, after as many epochs as all of them have."""
    header = ["data set", "network", "epochs", "loss", *(COLUMNS[metric] for metric in _METRICS)]
    rows = [
        line for dataset in IMAGES for network in NETWORKS for line in _after_equal_epochs(dataset, network, folder)
    ]
    return f"{_AT_EQUAL_EPOCHS}\n{markdown.table(header, rows)}\n" if rows else ""


def _after_equal_epochs(dataset: str, network: str, folder: Path) -> list[list[str]]:
    """Returns the rows of a network, if there is something to compare."""
    wanted = (configuration for configuration in CONFIGURATIONS if configuration.data == dataset)
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
    return [LABELS[configuration.data], NETWORKS[network], _label(configuration), *cells, *counts]


def _cell(configuration: Configuration, metric: str, trials: list[list[Line]]) -> str:
    ours = at_best_epoch(trials, metric)
    if configuration.loss != "bce":
        return f"{ours.text}{_beside('f1_linear', configuration.data, metric, ours)}"
    if metric != "mean_f1" or configuration.balance != "none":
        return ours.text
    # The paper's number for BCE is that of thresholded logits.
    of_logits = at_best_epoch(trials, "mean_f1_of_logits")
    return f"{ours.text}; of logits {of_logits.text}{_beside('bce', configuration.data, metric, of_logits)}"


def _beside(row: str, dataset: str, metric: str, ours: Number) -> str:
    paper = in_paper("cifar10", dataset, row, metric)
    return f" ({paper.mean:.2f} ± {paper.deviation:.2f}, {ours.mean - paper.mean:+.2f})" if paper else ""


_LOSSES = {"soft F1": "f1_linear", "adversarial F1": "adversarial_f1"}
_TIMING = """\
### Training times

The paper reports a median of 2.3 ± 0.16 minutes a trial for soft F1 and of 70 ± 118 minutes for the adversarial
F1, both on a CPU. Ours is the wall-clock time of ten trials side by side, divided by ten, including compilation,
on a machine that others used at the same time. The adversarial F1 is stopped by the clock; see its rows.
"""


def timing_section(folder: Path = store.RESULTS) -> str:
    """Returns the comparison with the paper's 2.3 and 70 minutes."""
    header = ["data set"]
    for label in _LOSSES:
        header += [f"{label}, seconds a trial", "epochs", "seconds an epoch"]
    rows = []
    for dataset in TABULAR:
        cells = [_median(Configuration(dataset, loss), folder) for loss in _LOSSES.values()]
        rows.append([LABELS[dataset], *cells[0], *cells[1]])
    return f"{_TIMING}\n{markdown.table(header, rows)}\n"


def _median(configuration: Configuration, folder: Path) -> list[str]:
    seconds, epochs = (
        np.array(list(numbers.values(configuration, "probabilities", name, folder).values()))
        for name in ("seconds", "epochs")
    )
    if not seconds.size:
        return ["not run"] * 3
    return [_short(np.median(values)) for values in (seconds, epochs, seconds / epochs)]


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
