"""What is on disk: the lines of rows, by data set, method, batch size and trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from studies.engine.evaluation import LOWER_IS_BETTER
from studies.harness.store import RESULTS, Line
from studies.recipes.plan import DATA, STUDY, Row

Results = Mapping[Row, Mapping[int, Line]]


def read(methods: Iterable[str], batch_sizes: Iterable[int], folder: Path = RESULTS) -> dict[Row, dict[int, Line]]:
    """Returns the trials of every row that has some."""
    wanted = [Row(data, name, size) for size in batch_sizes for data in DATA for name in methods]
    rows = STUDY.store(folder).grouped(*Row._fields)
    found = {row: {line["trial"]: line for line in rows.get(row, [])} for row in wanted}
    return {row: lines for row, lines in found.items() if lines}


def values(results: Results, row: Row, column: str) -> np.ndarray:
    """Returns a column of a row, in the order of the trials."""
    return np.array([float(line[column]) for _, line in sorted(results[row].items())])


def methods_at(results: Results, batch_size: int) -> list[str]:
    """Returns the methods that have results at a batch size, in their order."""
    return list(dict.fromkeys(row.method for row in results if row.batch_size == batch_size))


def shared_data(results: Results, batch_size: int, methods: Iterable[str] | None = None) -> list[str]:
    """Returns the data sets on which all of `methods` (by default all) have results: means need the same ones."""
    methods = methods_at(results, batch_size) if methods is None else list(methods)
    return [data for data in DATA if methods and all(Row(data, name, batch_size) in results for name in methods)]


def mean(results: Results, method: str, batch_size: int, column: str, data: Iterable[str]) -> float:
    """Returns the mean over data sets of the means over trials; of the seconds, which pauses spoil, the median."""
    found = [values(results, Row(name, method, batch_size), column).mean() for name in data]
    return float(np.median(found) if column == "seconds" else np.mean(found))


TIE = 0.001
DRAWS = 2000


class Comparison(NamedTuple):
    """How often the first of two methods is better, and by how much; positive is better, whatever the column."""

    wins: int
    ties: int
    losses: int
    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.low:+.3f} to {self.high:+.3f})"

    @property
    def counts(self) -> str:
        """Wins, ties and losses as a text."""
        return f"{self.wins} / {self.ties} / {self.losses}"


def compare(results: Results, first: str, second: str, batch_size: int, column: str) -> Comparison | None:
    """Compares two methods on the data sets and trials that both have; None if there are none."""
    data = shared_data(results, batch_size, (first, second))
    return of_differences([differences(results, first, second, name, batch_size, column) for name in data])


def compare_by_data(
    results: Results, first: str, second: str, batch_size: int, column: str
) -> dict[str, Comparison | None]:
    """Compares two methods on each data set that both have."""
    data = shared_data(results, batch_size, (first, second))
    return {name: of_differences([differences(results, first, second, name, batch_size, column)]) for name in data}


def differences(results: Results, first: str, second: str, data: str, batch_size: int, column: str) -> np.ndarray:
    """Returns by how much the first is better in each trial that both have."""
    one, other = (results[Row(data, method, batch_size)] for method in (first, second))
    sign = -1.0 if column in LOWER_IS_BETTER else 1.0
    trials = sorted(one.keys() & other.keys())
    return np.array([sign * (float(one[trial][column]) - float(other[trial][column])) for trial in trials])


def of_differences(by_data: list[np.ndarray]) -> Comparison | None:
    """Counts, and averages over data sets; the interval redraws the trials inside each data set."""
    by_data = [each for each in by_data if len(each)]
    if not by_data:
        return None
    random, every = np.random.default_rng(0), np.concatenate(by_data)
    draws = [random.choice(each, (DRAWS, len(each))).mean(axis=1) for each in by_data]
    low, high = np.quantile(np.mean(draws, axis=0), [0.025, 0.975])
    wins, losses = int(np.sum(every > TIE)), int(np.sum(every < -TIE))
    middle = float(np.mean([each.mean() for each in by_data]))
    return Comparison(wins, len(every) - wins - losses, losses, middle, float(low), float(high))


BLEND, BASELINE = "f1_bce_1", "bce"
F1_MARGIN, AUROC_MARGIN = 0.01, 0.005


class Verdict(NamedTuple):
    """The means that decide."""

    data: str
    blend_f1: float
    tuned_f1: float
    blend_auroc: float
    auroc: float

    @property
    def holds(self) -> bool:
        """Whether both halves of the claim hold."""
        ranks = self.blend_auroc >= self.auroc - AUROC_MARGIN
        return self.blend_f1 >= self.tuned_f1 - F1_MARGIN and ranks


def verdicts(results: Results, batch_size: int) -> list[Verdict]:
    """Returns one for each data set that has both methods."""
    return [_verdict(results, data, batch_size) for data in shared_data(results, batch_size, (BLEND, BASELINE))]


def _verdict(results: Results, data: str, batch_size: int) -> Verdict:
    def of(method: str, column: str) -> float:
        return float(values(results, Row(data, method, batch_size), column).mean())

    f1 = of(BLEND, "f1_at_half"), of(BASELINE, "f1_tuned")
    return Verdict(data, *f1, of(BLEND, "auroc"), of(BASELINE, "auroc"))
