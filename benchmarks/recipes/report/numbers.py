"""What is on disk: the lines of rows, by data set, method, batch size and trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.paper.records.store import Line, read_lines
from benchmarks.recipes.plan import DATA, Row

Results = Mapping[Row, Mapping[int, Line]]


def read(folder: Path, methods: Iterable[str], batch_sizes: Iterable[int]) -> dict[Row, dict[int, Line]]:
    """Returns the trials of every row that has some."""
    wanted = [Row(data, name, size) for size in batch_sizes for data in DATA for name in methods]
    found = {row: {int(line["trial"]): line for line in read_lines(folder / row.path)} for row in wanted}
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
