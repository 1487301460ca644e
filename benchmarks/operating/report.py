"""Results on disk, and the table with the published figures beside ours."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import markdown

DATA = {"letter": "Letter", "spambase": "Spambase", "adult": "Adult"}
BATCHES = ("full", "512")
ROWS = {
    "cross_entropy": "cross-entropy",
    "balanced_cross_entropy": "balanced cross-entropy",
    "soft_f1": "`SoftF1`",
    "precision_at_recall": "`SoftPrecisionAtRecall`",
}
# Table 5 of Kumar et al., ICML 2021: linear model, full batch; in the order of `DATA`.
PUBLISHED = {"cross-entropy": (15.1, 71.5, 39.7), "TFCO": (20.5, 73.1, 40.2), "ICO": (23.0, 73.5, 40.3)}


def read(path: Path) -> list[dict[str, Any]]:
    """Returns the splits that are finished."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Writes a file; a killed run leaves either the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: f"{value:.6g}" for key, value in row.items()} for row in rows)
    unfinished.replace(path)


def table(folder: Path, model: str, least: int = 1) -> str:
    """Returns the means of the test scores, and of the differences from cross-entropy with their standard errors.

    Args:
        folder: Where the results are.
        model: `"linear"` or `"mlp"`.
        least: How many splits a row must have to be shown. Defaults to `1`.
    """
    columns = [(name, batch) for name in DATA for batch in BATCHES]
    rows = [
        [label, *(_cell(folder / name / f"{model}-{batch}-{row}.csv", least) for name, batch in columns)]
        for row, label in ROWS.items()
    ]
    if model == "linear":
        rows += [
            [f"{label}, published", *(text for figure in figures for text in (str(figure), ""))]
            for label, figures in PUBLISHED.items()
        ]
    header = ["PR area over recall 0.95 to 1, %", *(f"{DATA[name]}, {batch}" for name, batch in columns)]
    return markdown.table(header, rows)


def _cell(path: Path, least: int) -> str:
    """Returns the mean of a row, and its paired difference from cross-entropy."""
    scores, base = by_split(path), by_split(path.with_name(f"{'-'.join(path.stem.split('-')[:2])}-cross_entropy.csv"))
    if len(scores) < max(least, 1):
        return ""
    mean = f"{np.mean(list(scores.values())):.1f}"
    return mean if scores == base else f"{mean} ({paired_difference(scores, base)})"


def paired_difference(values: dict[float, float], base: dict[float, float]) -> str:
    """Returns the mean of the differences on the splits that both have, and its standard error."""
    paired = np.array([value - base[split] for split, value in values.items() if split in base])
    error = f" ± {paired.std(ddof=1) / np.sqrt(len(paired)):.1f}" if len(paired) > 1 else ""
    return f"{paired.mean():+.1f}{error}" if len(paired) else ""


def by_split(path: Path) -> dict[float, float]:
    """Returns the test score of each split."""
    return {row["split"]: row["test"] for row in read(path)}
