"""Results on disk: one CSV for each configuration, one line for each trial and reading, written whole or not at all."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from benchmarks.paper.plan.configuration import Configuration

FOLDER = Path(__file__).parents[2] / "results" / "paper"
Line = dict[str, Any]  # a column's name to a text or a number


def read(configuration: Configuration, folder: Path = FOLDER) -> list[Line]:
    """Returns the lines of the trials that are finished, numbers as floats."""
    return read_lines(folder / configuration.path)


def missing_trials(configuration: Configuration, count: int, folder: Path = FOLDER) -> list[int]:
    """Returns the trials, of 0 to `count` - 1, that have no line yet."""
    finished = {int(line["trial"]) for line in read(configuration, folder)}
    return [trial for trial in range(count) if trial not in finished]


def add(configuration: Configuration, lines: list[Line], folder: Path = FOLDER) -> None:
    """Adds lines, in the order of readings and trials."""
    lines = sorted([*read(configuration, folder), *lines], key=lambda line: (line["reading"], line["trial"]))
    write_lines(folder / configuration.path, lines)


def epochs_path(
    configuration: Configuration, folder: Path = FOLDER, network: str = "tiny_darknet", trial: int = 0
) -> Path:
    """Returns the file of a network that was tested after every epoch, beside those of the trials."""
    trials = folder / configuration.path
    return trials.with_name(f"{trials.stem}-{network}-trial{trial}-epochs.csv")


def read_lines(path: Path) -> list[Line]:
    """Returns the lines of a file, numbers as floats; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{key: _number(value) for key, value in line.items()} for line in csv.DictReader(file)]


def write_lines(path: Path, lines: list[Line]) -> None:
    """Writes a file as a whole: a reader, or a killed run, sees either the old one or the new one."""
    for line in lines:
        if line.keys() != lines[0].keys():
            odd = sorted(line.keys() ^ lines[0].keys())
            raise ValueError(f"All lines of {path} must have the same columns. Received: {odd} in some of them only")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _text(value) for key, value in line.items()} for line in lines)
    unfinished.replace(path)


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{float(value):.6g}"
