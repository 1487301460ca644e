"""Numbers out of the CSV files: mean and deviation over trials, the paper's figures, paired differences."""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.paper import store
from benchmarks.paper.configurations import TRIALS, Configuration

FIGURES = Path(__file__).with_name("figures.csv")


class Number(NamedTuple):
    """Mean and standard deviation (of a sample, ddof = 1) over `count` trials; deviation NaN where there is none."""

    mean: float
    deviation: float
    count: int

    @property
    def text(self) -> str:
        """Mean and, if there are several trials, deviation."""
        return f"{self.mean:.3f} ± {self.deviation:.3f}" if self.count > 1 else f"{self.mean:.3f}"

    def __str__(self) -> str:
        """Returns it as it stands in a table."""
        if self.mean != self.mean:  # a row without this value, such as the tuned threshold of logits
            return "-"
        text = f"{self.mean:.0f}" if self.mean >= 10 else self.text
        return text if self.count == TRIALS else f"{text} (n = {self.count})"


@functools.cache
def _figures() -> dict[tuple[str, ...], Number]:
    with FIGURES.open(newline="") as file:
        return {
            (row["table"], row["dataset"], row["row"], row["metric"]): Number(
                float(row["mean"]), float(row["deviation"] or "nan"), TRIALS
            )
            for row in csv.DictReader(file)
        }


def published(table: str, dataset: str, row: str | None, metric: str) -> Number | None:
    """Returns the paper's figure, if it has one."""
    return _figures().get((table, dataset, row or "", metric))


def values(configuration: Configuration, reading: str, metric: str, folder: Path = store.FOLDER) -> dict[int, float]:
    """Returns the metric of each finished trial."""
    rows = store.read(configuration, folder)
    return {int(row["trial"]): float(row[metric]) for row in rows if row["reading"] == reading}


def measured(configuration: Configuration, reading: str, metric: str, folder: Path = store.FOLDER) -> Number | None:
    """Returns mean and standard deviation over the finished trials, if there are any."""
    found = list(values(configuration, reading, metric, folder).values())
    return number(found) if found else None


def epochs(
    configuration: Configuration, folder: Path = store.FOLDER, network: str = "tiny_darknet"
) -> list[list[store.Row]]:
    """Returns for each trial what the network was worth after each epoch; no trial if it was not tested after each."""
    paths = (store.epochs_path(configuration, folder, network, trial) for trial in range(TRIALS))
    return [rows for path in paths if (rows := store.read_rows(path))]


def best_epoch(rows: list[store.Row]) -> store.Row:
    """Returns the line whose weights early stopping restores: validation data choose it, not test data."""
    return min(rows, key=lambda row: row["validation_loss"])


def at_best_epoch(trials: list[list[store.Row]], metric: str) -> Number:
    """Returns mean and standard deviation over trials, each at its own best epoch."""
    return number([best_epoch(rows)[metric] for rows in trials])


def span(counts: list[float]) -> str:
    """Returns whole numbers as `"42"`, or `"42 to 97"` where they differ."""
    low, high = f"{min(counts):.0f}", f"{max(counts):.0f}"
    return low if low == high else f"{low} to {high}"


def number(sample: list[float]) -> Number:
    """Returns mean and standard deviation of a sample."""
    deviation = float(np.std(sample, ddof=1)) if len(sample) > 1 else float("nan")
    return Number(float(np.mean(sample)), deviation, len(sample))


def difference(
    left: Configuration, right: Configuration, metrics: tuple[str, str], folder: Path = store.FOLDER
) -> Number | None:
    """Returns mean and deviation of the paired difference left - right over the trials that both have finished."""
    first, second = (
        values(configuration, "probabilities", metric, folder)
        for configuration, metric in zip((left, right), metrics, strict=True)
    )
    common = sorted(first.keys() & second.keys())
    return number([first[trial] - second[trial] for trial in common]) if common else None
