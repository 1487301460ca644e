"""Training times: a trial of soft F1 beside one of the adversarial F1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import markdown
from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.plan.datasets import LABELS, TABULAR
from benchmarks.paper.records import store
from benchmarks.paper.report import numbers

_LOSSES = {"soft F1": "f1_linear", "adversarial F1": "adversarial_f1"}
_TEXT = """\
### Training times

The paper reports a median of 2.3 ± 0.16 minutes a trial for soft F1 and of 70 ± 118 minutes for the adversarial
F1, both on a CPU. Ours is the wall-clock time of ten trials side by side, divided by ten, including compilation,
on a machine that others used at the same time. The adversarial F1 is stopped by the clock; see its rows.
"""


def timing_section(folder: Path = store.FOLDER) -> str:
    """Returns the comparison with the paper's 2.3 and 70 minutes."""
    header = ["data set"]
    for label in _LOSSES:
        header += [f"{label}, seconds a trial", "epochs", "seconds an epoch"]
    rows = []
    for dataset in TABULAR:
        cells = [_median(Configuration(dataset, loss), folder) for loss in _LOSSES.values()]
        rows.append([LABELS[dataset], *cells[0], *cells[1]])
    return f"{_TEXT}\n{markdown.table(header, rows)}\n"


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
