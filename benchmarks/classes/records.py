"""The results of the trainings, in a CSV that grows by one training at a time."""

import csv
import itertools
import os
from pathlib import Path
from typing import NamedTuple

from benchmarks.classes.plan import decisions


class Record(NamedTuple):
    """One score on test data."""

    data: str
    seed: int
    method: str
    score: str
    decision: str
    value: float
    seconds: float


def read(file: Path) -> list[Record]:
    """Returns the records in a file; none if there is no file."""
    if not file.exists():
        return []
    kinds = Record.__annotations__
    with file.open(newline="") as stream:
        rows = csv.DictReader(stream)
        return [Record(**{name: kinds[name](value) for name, value in row.items()}) for row in rows]


def append(file: Path, records: list[Record]) -> None:
    """Adds the records of a training; the file is replaced as a whole, and never half written."""
    known, temporary = read(file), file.with_suffix(".part")
    file.parent.mkdir(parents=True, exist_ok=True)
    with temporary.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(Record._fields)
        writer.writerows([*known, *records])
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)


def finished(records: list[Record], scores: tuple[str, ...]) -> set[tuple[int, str]]:
    """The seeds and methods whose records are complete."""
    found: dict[tuple[int, str], set[tuple[str, str]]] = {}
    for r in records:
        found.setdefault((r.seed, r.method), set()).add((r.score, r.decision))
    return {key for key, values in found.items() if values >= set(itertools.product(scores, decisions(key[1])))}


def new(records: list[Record], known: list[Record]) -> list[Record]:
    """The records of a training that are not known: a decision may be added to a study that is on disk."""
    keys = {r[:5] for r in known}
    return [r for r in records if r[:5] not in keys]
