"""Results on disk, and the table with the published figures beside ours."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np

# Table 5 of Kumar et al., ICML 2021: linear model, full batch.
PUBLISHED = {
    "letter": {"cross_entropy": 15.1, "TFCO": 20.5, "ICO": 23.0},
    "spambase": {"cross_entropy": 71.5, "TFCO": 73.1, "ICO": 73.5},
    "adult": {"cross_entropy": 39.7, "TFCO": 40.2, "ICO": 40.3},
}


def read(path: Path) -> list[dict[str, Any]]:
    """Returns the splits that are finished."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Writes a file; a run that was killed leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: f"{value:.6g}" for key, value in row.items()} for row in rows)
    unfinished.replace(path)


def table(folder: Path) -> str:
    """Returns the means of the test scores, and of the differences from cross-entropy with their standard errors."""
    lines = [
        "| data | model | batch | row | splits | PR area over recall 0.95 to 1, % | minus cross-entropy | published |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for path in sorted(path for name in PUBLISHED for path in folder.glob(f"{name}/*.csv")):
        model, batch, row = path.stem.split("-")
        scores, base = by_split(path), by_split(path.with_name(f"{model}-{batch}-cross_entropy.csv"))
        difference = "" if row == "cross_entropy" else paired_difference(scores, base)
        known = PUBLISHED.get(path.parent.name, {}) if (model, batch) == ("linear", "full") else {}
        beside = f"{known['cross_entropy']}" if known and row == "cross_entropy" else ""
        if known and row == "precision_at_recall":
            beside = f"TFCO {known['TFCO']}, ICO {known['ICO']}"
        mean = np.mean(list(scores.values()))
        lines.append(
            f"| {path.parent.name} | {model} | {batch} | {row} | {len(scores)} | {mean:.2f} | {difference} | {beside} |"
        )
    return "\n".join(lines)


def paired_difference(values: dict[float, float], base: dict[float, float]) -> str:
    """Returns the mean of the differences on the splits that both have, and its standard error."""
    paired = np.array([value - base[split] for split, value in values.items() if split in base])
    error = f" ± {paired.std(ddof=1) / np.sqrt(len(paired)):.2f}" if len(paired) > 1 else ""
    return f"{paired.mean():+.2f}{error}" if len(paired) else ""


def by_split(path: Path) -> dict[float, float]:
    """Returns the test score of each split."""
    return {row["split"]: row["test"] for row in read(path)}
