"""The tables of networks that are trained one at a time: CIFAR-10-Frog, and the U-Net."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import frog, markdown
from benchmarks.paper.records.store import Line, read_lines
from benchmarks.recipes import images, unet
from benchmarks.recipes.evaluation import COLUMNS


def of_images(folder: Path, network: str) -> str | None:
    """Returns methods by columns for one network: means over the trials whose epochs are complete."""
    rows = []
    for name, method in images.METHODS.items():
        lines = [best_epoch(read_lines(file)) for file in frog.finished(images.STUDY, network, name, folder)]
        if lines:
            cells = [_mean(lines, column) for column in COLUMNS if column != "seconds"]
            rows.append([method.label, str(len(lines)), *cells, _mean(lines, "epoch", 1)])
    header = ["", "trials", *(label for column, label in COLUMNS.items() if column != "seconds"), "best epoch"]
    return markdown.table(header, rows) if rows else None


def best_epoch(lines: list[Line]) -> Line:
    """Returns the line of the epoch with the best F1 on validation data; among equals the first."""
    return max(lines, key=lambda line: float(line["validation_f1"]))


def of_unet(folder: Path) -> str | None:
    """Returns methods by variants: how many trials are stuck, and the mean Jaccard index of all."""
    found = {
        (name, variant): lines
        for name in unet.METHODS
        for variant in unet.VARIANTS
        if (lines := read_lines(folder / unet.path(variant, name)))
    }
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


def _mean(lines: list[Line], column: str, digits: int = 3) -> str:
    return f"{np.mean([float(line[column]) for line in lines]):.{digits}f}"
