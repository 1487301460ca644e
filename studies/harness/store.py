"""Results on disk: one tidy CSV for each study, and a journal of what is not in it yet.

A running study appends each row to a journal as soon as it is finished; `collect` merges the journal into the CSV,
which is sorted by its keys and committed. Readers see both, so a run that was killed resumes where it stopped.
"""

from __future__ import annotations

import csv
import functools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
Line = dict[str, Any]  # a column's name to a text or a number


class Store(NamedTuple):
    """The rows of one study.

    Attributes:
        name: Of the CSV, and of the journal.
        keys: The columns that name a row, in the order in which rows are sorted.
        folder: Where the CSV is; the journal is in `journal` beside it.
    """

    name: str
    keys: tuple[str, ...]
    folder: Path = RESULTS

    @property
    def table(self) -> Path:
        """The committed CSV."""
        return self.folder / f"{self.name}.csv"

    @property
    def scratch(self) -> Path:
        """A folder that is not committed: the journal, and whatever a training needs to be resumed."""
        return self.folder.parent / "journal" / self.name

    def read(self) -> list[Line]:
        """Returns all rows, of the CSV and of the journal, numbers as numbers; a column without a value is left out."""
        return [{name: _value(text) for name, text in row.items() if text} for row in self._rows()]

    def grouped(self, *names: str) -> dict[tuple[Any, ...], list[Line]]:
        """Returns the rows, grouped by the values of some columns; read once for as long as no file changes."""
        return _grouped(self, names, self._stamp())

    def append(self, lines: Iterable[Line]) -> None:
        """Adds finished rows to the journal of this process; they are on disk when this returns."""
        rows = [{name: _text(value) for name, value in line.items()} for line in lines]
        for row in rows:
            if missing := [name for name in self.keys if name not in row]:
                raise ValueError(f"A row of {self.name} must have the keys {self.keys}. Received: {missing} missing")
        self.scratch.mkdir(parents=True, exist_ok=True)
        with (self.scratch / f"{os.getpid()}.jsonl").open("a") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))
            file.flush()
            os.fsync(file.fileno())

    def collect(self) -> int:
        """Merges the journal into the CSV and removes it; returns the number of rows that it had."""
        journals = self._journals()
        added = sum(1 for _ in _entries(journals))
        if added:
            write(self.table, self._rows(), self.keys)
        for journal in journals:  # only now: the CSV has everything
            journal.unlink()
        return added

    def _rows(self) -> list[dict[str, str]]:
        """Returns the rows as text; of two with the same keys, the later one."""
        found = {self._key(row): row for row in read_text(self.table)}
        for row in _entries(self._journals()):
            found[self._key(row)] = row
        return list(found.values())

    def _key(self, row: dict[str, str]) -> tuple[str, ...]:
        return tuple(row[name] for name in self.keys)

    def _stamp(self) -> tuple[Any, ...]:
        files = [path for path in (self.table, *self._journals()) if path.exists()]
        return tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in files)

    def _journals(self) -> list[Path]:
        return sorted(self.scratch.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=32)
def _grouped(store: Store, names: tuple[str, ...], stamp: tuple[Any, ...]) -> dict[tuple[Any, ...], list[Line]]:
    found: dict[tuple[Any, ...], list[Line]] = {}
    for line in store.read():
        found.setdefault(tuple(line[name] for name in names), []).append(line)
    return found


def read_text(path: Path) -> list[dict[str, str]]:
    """Returns the rows of a CSV as they are written; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, str]], keys: tuple[str, ...]) -> None:
    """Writes a CSV as a whole, keys first and sorted by them: a killed process leaves the old one or the new one."""
    columns = dict.fromkeys([*keys, *(name for row in rows for name in row)])
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: [_sortable(row[name]) for name in keys]))
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def _entries(journals: list[Path]) -> Iterator[dict[str, str]]:
    for journal in journals:
        for line in journal.read_text().splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue  # the last line of a process that was killed while writing


def _value(text: str) -> str | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _text(value: Any) -> str:
    """Returns six digits of a number: more than the trials' spread leaves meaning to."""
    return str(value) if isinstance(value, (str, int)) else f"{float(value):.6g}"


def _sortable(text: str) -> tuple[bool, Any]:
    value = _value(text)
    return isinstance(value, str), value
