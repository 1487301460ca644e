"""Results on disk: one CSV for each configuration, one line for each trial and reading, written whole or not at all."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from benchmarks.paper.configurations import Configuration

FOLDER = Path(__file__).parent.parent / "results" / "paper"
Row = dict[str, str | int | float]


def read(configuration: Configuration, folder: Path = FOLDER) -> list[Row]:
    """Returns the lines of the trials that are finished, numbers as floats."""
    return read_rows(folder / configuration.path)


def missing_trials(configuration: Configuration, count: int, folder: Path = FOLDER) -> list[int]:
    """Returns the trials, of 0 to `count` - 1, that have no line yet."""
    finished = {int(row["trial"]) for row in read(configuration, folder)}
    return [trial for trial in range(count) if trial not in finished]


def add(configuration: Configuration, rows: list[Row], folder: Path = FOLDER) -> None:
    """Adds lines, in the order of readings and trials."""
    rows = sorted([*read(configuration, folder), *rows], key=lambda row: (row["reading"], row["trial"]))
    write_rows(folder / configuration.path, rows)


def epochs_path(
    configuration: Configuration, folder: Path = FOLDER, network: str = "tiny_darknet", trial: int = 0
) -> Path:
    """Returns where a network that was tested after every epoch has its lines: beside those of the trials."""
    trials = folder / configuration.path
    return trials.with_name(f"{trials.stem}-{network}-trial{trial}-epochs.csv")


def read_rows(path: Path) -> list[Row]:
    """Returns the lines of a file, numbers as floats; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(file)]


def write_rows(path: Path, rows: list[Row]) -> None:
    """Writes a file; a reader, or a run that was killed, sees the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _text(value) for key, value in row.items()} for row in rows)
    unfinished.replace(path)


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{float(value):.6g}"
