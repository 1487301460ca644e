"""The table with the published figures beside ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import markdown
from studies.harness.store import RESULTS, Line
from studies.operating import BATCHES, DATA, SPLITS, STUDY, weights

ROWS = {
    "cross_entropy": "cross-entropy",
    "balanced_cross_entropy": "balanced cross-entropy",
    "soft_f1": "`SoftF1`",
    "precision_at_recall": "`SoftPrecisionAtRecall`",
}
# Table 5 of Kumar et al., ICML 2021: linear model, full batch; in the order of `DATA`.
PUBLISHED = {"cross-entropy": (15.1, 71.5, 39.7), "TFCO": (20.5, 73.1, 40.2), "ICO": (23.0, 73.5, 40.3)}


def table(model: str, folder: Path = RESULTS, least: int = 1) -> str:
    """Returns the means of the test scores, and of the differences from cross-entropy with their standard errors.

    Args:
        model: `"linear"` or `"mlp"`.
        folder: Where the results are.
        least: How many splits a row must have to be shown. Defaults to `1`.
    """
    columns = [(name, batch) for name in DATA for batch in BATCHES]
    rows = [
        [label, *(_cell(folder, (name, model, batch), row, least) for name, batch in columns)]
        for row, label in ROWS.items()
    ]
    if model == "linear":
        weighted = [_weighted(folder, name, batch) for name, batch in columns]
        rows += [["cross-entropy, tuned class weight", *weighted]] if any(weighted) else []
        rows += [
            [f"{label}, published", *(text for figure in figures for text in (str(figure), ""))]
            for label, figures in PUBLISHED.items()
        ]
    header = ["PR area over recall 0.95 to 1, %", *(f"{DATA[name]}, {batch}" for name, batch in columns)]
    return markdown.table(header, rows)


def _cell(folder: Path, key: tuple[str, str, int | str], method: str, least: int) -> str:
    """Returns the mean of a row, and its paired difference from cross-entropy."""
    scores, base = (by_trial(folder, *key, name) for name in (method, "cross_entropy"))
    if len(scores) < max(least, 1):
        return ""
    mean = f"{np.mean(list(scores.values())):.1f}"
    return mean if scores == base else f"{mean} ({paired_difference(scores, base)})"


def _weighted(folder: Path, name: str, batch: int | str) -> str:
    """Returns the same of the best class weight by validation data, which is known for the full data only."""
    rows = weights.STUDY.store(folder).grouped("data").get((name,), []) if batch == "full" else []
    if len(rows) < SPLITS:
        return ""
    scores, base = scores_of(rows), by_trial(folder, name, "linear", "full", "cross_entropy")
    return f"{np.mean(list(scores.values())):.1f} ({paired_difference(scores, base)})"


def paired_difference(values: dict[int, float], base: dict[int, float]) -> str:
    """Returns the mean of the differences on the splits that both have, and its standard error."""
    paired = np.array([value - base[split] for split, value in values.items() if split in base])
    error = f" ± {paired.std(ddof=1) / np.sqrt(len(paired)):.1f}" if len(paired) > 1 else ""
    return f"{paired.mean():+.1f}{error}" if len(paired) else ""


def by_trial(folder: Path, *key: int | str) -> dict[int, float]:
    """Returns the test score of each split, for a data set, model, batch size and method."""
    return scores_of(STUDY.store(folder).grouped("data", "model", "batch_size", "method").get(key, []))


def scores_of(rows: list[Line]) -> dict[int, float]:
    """Returns the test score of each split."""
    return {row["trial"]: row["test"] for row in rows}


def page(folder: Path = RESULTS) -> str:
    """Returns all tables."""
    from studies.operating import images, small_batches  # they use this module

    intro = "Written by `python -m studies report` from `operating*.csv`; the protocol is in `studies/operating/`."
    parts = ["# Operating points", intro]
    parts += ["## Linear model", table("linear", folder), "## MLP", table("mlp", folder)]
    parts += ["## Small batches", small_batches.table(folder), "## Images", images.table(folder)]
    return "\n\n".join(parts) + "\n"
