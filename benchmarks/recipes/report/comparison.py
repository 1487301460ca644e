"""Pairs of methods: wins, ties and losses over (data set, trial), and the mean difference with a bootstrap interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.recipes.evaluation import LOWER_IS_BETTER
from benchmarks.recipes.plan import Row
from benchmarks.recipes.report.numbers import Results, shared_data

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
