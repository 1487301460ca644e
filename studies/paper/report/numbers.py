"""Numbers out of the CSV files: mean and deviation over trials, those of the paper, paired differences."""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from studies.harness import store
from studies.harness.store import Line
from studies.paper import EPOCHS, PLAN_KEYS, TABLES
from studies.paper.plan import TRIALS, Configuration

PUBLISHED = store.RESULTS / "published.csv"


class Number(NamedTuple):
    """Mean and standard deviation (of a sample, ddof = 1) over `count` trials; NaN if there is no deviation."""

    mean: float
    deviation: float
    count: int

    @property
    def text(self) -> str:
        """Mean and, if there are several trials, deviation."""
        return f"{self.mean:.3f} ± {self.deviation:.3f}" if self.count > 1 else f"{self.mean:.3f}"

    def __str__(self) -> str:
        """Returns the number as a table shows it."""
        if self.mean != self.mean:  # a row without this value, such as the tuned threshold of logits
            return "-"
        text = f"{self.mean:.0f}" if self.mean >= 10 else self.text
        return text if self.count == TRIALS else f"{text} (n = {self.count})"


@functools.cache
def paper_numbers() -> dict[tuple[str, ...], Number]:
    """Returns what the paper reports, by table, data set, row and metric."""
    with PUBLISHED.open(newline="") as file:
        return {
            (row["table"], row["data"], row["row"], row["metric"]): Number(
                float(row["mean"]), float(row["deviation"] or "nan"), TRIALS
            )
            for row in csv.DictReader(file)
        }


def in_paper(table: str, dataset: str, row: str | None, metric: str) -> Number | None:
    """Returns the paper's number, if it has one."""
    return paper_numbers().get((table, dataset, row or "", metric))


def values(configuration: Configuration, reading: str, metric: str, folder: Path = store.RESULTS) -> dict[int, float]:
    """Returns the metric of each finished trial."""
    lines = TABLES.store(folder).grouped(*PLAN_KEYS, "reading").get((*configuration, reading), [])
    return {line["trial"]: float(line[metric]) for line in lines}


def measured(configuration: Configuration, reading: str, metric: str, folder: Path = store.RESULTS) -> Number | None:
    """Returns mean and standard deviation over the finished trials, if there are any."""
    found = list(values(configuration, reading, metric, folder).values())
    return number(found) if found else None


def epochs(
    configuration: Configuration, folder: Path = store.RESULTS, network: str = "tiny_darknet"
) -> list[list[Line]]:
    """Returns the lines of each epoch for each trial; no trial if the network was not tested after each epoch."""
    trials: dict[int, list[Line]] = {}
    key = (configuration.data, network, configuration.loss, configuration.balance)
    for line in EPOCHS.store(folder).grouped("data", "network", "loss", "balance").get(key, []):
        trials.setdefault(line["trial"], []).append(line)
    return [lines for _, lines in sorted(trials.items())]


def best_epoch(lines: list[Line]) -> Line:
    """Returns the line whose weights early stopping restores: validation data choose it, not test data."""
    return min(lines, key=lambda line: line["validation_loss"])


def at_best_epoch(trials: list[list[Line]], metric: str) -> Number:
    """Returns mean and standard deviation over trials, each at its own best epoch."""
    return number([best_epoch(lines)[metric] for lines in trials])


def span(counts: Sequence[float]) -> str:
    """Returns whole numbers as `"42"`, or `"42 to 97"` where they differ."""
    low, high = f"{min(counts):.0f}", f"{max(counts):.0f}"
    return low if low == high else f"{low} to {high}"


def number(sample: list[float]) -> Number:
    """Returns mean and standard deviation of a sample."""
    deviation = float(np.std(sample, ddof=1)) if len(sample) > 1 else float("nan")
    return Number(float(np.mean(sample)), deviation, len(sample))


def difference(
    left: Configuration, right: Configuration, metrics: tuple[str, str], folder: Path = store.RESULTS
) -> Number | None:
    """Returns mean and deviation of the paired difference left - right over the trials that both have finished."""
    first, second = (
        values(configuration, "probabilities", metric, folder)
        for configuration, metric in zip((left, right), metrics, strict=True)
    )
    common = sorted(first.keys() & second.keys())
    return number([first[trial] - second[trial] for trial in common]) if common else None
