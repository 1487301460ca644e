"""Training times: a trial of soft F1 beside one of the adversarial F1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.paper import store, summary
from benchmarks.paper.configurations import TABULAR, Configuration
from benchmarks.paper.layout import DATASETS

_HEADER = (
    "| data set | soft F1, seconds a trial | epochs | seconds an epoch"
    " | adversarial F1, seconds a trial | epochs | seconds an epoch |"
)


def timing_section(folder: Path = store.FOLDER) -> str:
    """Returns the comparison with the paper's 2.3 and 70 minutes."""
    lines = ["### Training times", ""]
    lines += [
        "The paper: a median of 2.3 ± 0.16 minutes a trial for soft F1 and of 70 ± 118 minutes for the adversarial F1,",
        "both on a CPU. Ours: the wall-clock time of ten trials side by side, divided by ten, compilation included, on",
        "a machine that others used at the same time. The adversarial F1 is stopped by the clock, see its rows.",
        "",
    ]
    lines += [_HEADER, "|" + " --- |" * 7]
    for dataset in TABULAR:
        cells = [_median(Configuration(dataset, loss), folder) for loss in ("f1_linear", "adversarial_f1")]
        lines.append(f"| {DATASETS[dataset]} | {' | '.join(' | '.join(cell) for cell in cells)} |")
    return "\n".join([*lines, ""])


def _median(configuration: Configuration, folder: Path) -> list[str]:
    seconds, epochs = (
        np.array(list(summary.values(configuration, "probabilities", name, folder).values()))
        for name in ("seconds", "epochs")
    )
    if not seconds.size:
        return ["not run"] * 3
    return [_short(np.median(values)) for values in (seconds, epochs, seconds / epochs)]


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
