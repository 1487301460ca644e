"""The tables of networks that are trained one at a time: CIFAR-10-Frog, and the U-Net."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import markdown
from studies.engine.evaluation import COLUMNS
from studies.harness.store import Line
from studies.images import frog
from studies.recipes import images, unet
from studies.recipes.report.numbers import BASELINE, BLEND, Verdict

LABELS = {"small_cnn": "small CNN", "tiny_darknet": "Tiny Darknet"}
_IN_SHORT = {"f1_at_half": "F1 at 0.5", "f1_tuned": "tuned", "auroc": "AUROC", "calibration_error": "calibration error"}
# The row's column, and the one of BCE that it is compared with.
_PAIRS = {
    "F1 at 0.5, minus BCE's": ("f1_at_half", "f1_at_half"),
    "F1 at 0.5, minus BCE's tuned": ("f1_at_half", "f1_tuned"),
    "F1 tuned, minus BCE's": ("f1_tuned", "f1_tuned"),
    "AUROC, minus BCE's": ("auroc", "auroc"),
}


def of_images(folder: Path, network: str) -> str | None:
    """Returns methods by columns for one network: means over the trials whose epochs are complete."""
    rows = []
    for name, method in images.METHODS.items():
        if lines := list(best_epochs(folder, network, name).values()):
            cells = [_mean(lines, column) for column in COLUMNS if column != "seconds"]
            rows.append([method.label, str(len(lines)), *cells, _mean(lines, "epoch", 1)])
    header = ["", "trials", *(label for column, label in COLUMNS.items() if column != "seconds"), "best epoch"]
    return markdown.table(header, rows) if rows else None


def in_short(folder: Path) -> str:
    """Returns both networks side by side, for the methods that have all seeds on both."""
    header, rows = [""], {name: [method.label] for name, method in images.METHODS.items()}
    for network, label in LABELS.items():
        header += [f"{label}: {column}" for column in _IN_SHORT.values()]
        for name, row in rows.items():
            lines = list(best_epochs(folder, network, name).values())
            row += [_mean(lines, column) for column in _IN_SHORT] if len(lines) == images.TRIALS else []
    return markdown.table(header, [row for row in rows.values() if len(row) == len(header)])


def against_bce(folder: Path, network: str) -> str | None:
    """Returns methods by differences from BCE: the mean over the trials that both have, the least and the most."""
    baseline = best_epochs(folder, network, BASELINE)
    rows = []
    for name, method in images.METHODS.items():
        lines = best_epochs(folder, network, name)
        shared = sorted(lines.keys() & baseline.keys()) if name != BASELINE else []
        if shared:
            pairs = [
                [(lines[trial][own], baseline[trial][other]) for trial in shared] for own, other in _PAIRS.values()
            ]
            rows.append([method.label, str(len(shared)), *map(_difference, pairs)])
    return markdown.table(["", "trials", *_PAIRS], rows) if rows else None


def verdict(folder: Path, network: str) -> Verdict | None:
    """Returns what decides the claim, over the trials that both methods have."""
    blend, baseline = (best_epochs(folder, network, name) for name in (BLEND, BASELINE))
    if not (shared := blend.keys() & baseline.keys()):
        return None

    def mean(lines: dict[int, Line], column: str) -> float:
        return float(np.mean([float(lines[trial][column]) for trial in shared]))

    f1 = mean(blend, "f1_at_half"), mean(baseline, "f1_tuned")
    return Verdict(network, *f1, mean(blend, "auroc"), mean(baseline, "auroc"))


def best_epochs(folder: Path, network: str, name: str) -> dict[int, Line]:
    """Returns the best epoch of each trial whose epochs are complete."""
    trials = frog.finished(images.STUDY.store(folder), images.STUDY.epochs, network=network, method=name)
    return {trial: best_epoch(lines) for trial, lines in trials.items()}


def best_epoch(lines: list[Line]) -> Line:
    """Returns the line of the epoch with the best F1 on validation data; among equals the first."""
    return max(lines, key=lambda line: float(line["validation_f1"]))


def of_unet(folder: Path) -> str | None:
    """Returns methods by variants: how many trials are stuck, and the mean Jaccard index of all."""
    found = unet.STUDY.store(folder).grouped("method", "variant")
    variants = [variant for variant in unet.VARIANTS if any(key[1] == variant for key in found)]
    rows = [
        [method.label, *(_stuck(found.get((name, variant), [])) for variant in variants)]
        for name, method in unet.METHODS.items()
        if any(key[0] == name for key in found)
    ]
    header = ["stuck trials (Jaccard index)", *(unet.VARIANTS[variant].label for variant in variants)]
    return markdown.table(header, rows) if rows else None


def _stuck(lines: list[Line]) -> str:
    count = sum(int(float(line["stuck"])) for line in lines)
    return f"{count} of {len(lines)} ({_mean(lines, 'jaccard')})" if lines else ""


def _difference(pairs: list[tuple[str, str]]) -> str:
    found = [float(own) - float(other) for own, other in pairs]
    extent = f" ({min(found):+.3f} to {max(found):+.3f})" if len(found) > 1 else ""
    return f"{np.mean(found):+.3f}{extent}"


def _mean(lines: list[Line], column: str, digits: int = 3) -> str:
    return f"{np.mean([float(line[column]) for line in lines]):.{digits}f}"
