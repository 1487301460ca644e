"""CSV files: what each column is, what the labels are, and how rows are split by them."""

from __future__ import annotations

import csv
import difflib
import itertools
import pathlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from keras_softsets._checks import shown

MOST_BYTES = 500 * 2**20
MOST_CATEGORIES = 100
MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"
    rf"|{_MONTH}\.? \d{{1,2}},? \d{{4}}|\d{{1,2}}[-. ]+{_MONTH}[-., ]+\d{{2,4}})([ T].*)?",
    re.IGNORECASE,
)

_DECIMAL_COMMA = re.compile(r"[-+]?\d+(,\d+)?")

Table = dict[str, list[str]]


def read_table(path: str) -> Table:
    """Reads a CSV with a header; the separator is a comma, a semicolon or a tab."""
    file = pathlib.Path(path)
    if not file.is_file():
        raise ValueError(f"`table` must be a CSV file. Received: {path}, which does not exist or is no file")
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise ValueError(
            f"`table` must have at most {MOST_BYTES // 2**20} MB, because it is read whole; a random tenth of its rows "
            f"will do for a comparison. Received: {path} of {size / 2**20:,.0f} MB"
        )
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            return _columns(path, opened)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"`table` must be a CSV, saved as UTF-8. Received: {path}: {error}") from None


def _columns(path: str, opened: Iterable[str]) -> Table:
    lines = iter(opened)
    first = next(lines, "")
    separator = max(",;\t", key=first.count)
    reader = csv.reader(itertools.chain([first], lines), delimiter=separator, skipinitialspace=True)
    header = [name.strip() for name in next(reader, [])]
    _check_header(path, header)
    rows = [row for row in reader if row]
    if not rows:
        raise ValueError(f"`table` must have rows below its header. Received: {path}, which has none")
    wrong = next((k for k, row in enumerate(rows) if len(row) != len(header)), None)
    if wrong is not None:
        raise ValueError(
            f"`table` must have {len(header)} fields in each row, as in its header. "
            f"Received: {path}, row {wrong + 2}: {len(rows[wrong])} fields"
        )
    columns = {name: [value.strip() for value in column] for name, column in zip(header, zip(*rows))}
    return columns if separator == "," else {name: _with_points(values) for name, values in columns.items()}


def _check_header(path: str, header: list[str]) -> None:
    if len(header) < 2:
        raise ValueError(
            "`table` must have a header of two or more names, separated by commas, semicolons or tabs. "
            f"Received: {path}, which begins with {shown(', '.join(header))}"
        )
    again = [name for name, times in Counter(header).items() if times > 1]
    if again:
        raise ValueError(f"`table` must have a header of different names. Received: {path} with {again[0]!r} twice")


def _with_points(values: list[str]) -> list[str]:
    """Numbers such as 1,5, where the comma does not separate fields, as 1.5; any other column as it is."""
    if all(_DECIMAL_COMMA.fullmatch(value) or value.lower() in MISSING for value in values):
        return [value.replace(",", ".") for value in values]
    return values


def column_of(table: Table, name: str, argument: str) -> list[str]:
    """Returns a column, or raises which ones there are."""
    if name not in table:
        near = difflib.get_close_matches(name, table, 3, 0.5) or list(table)
        shown = ", ".join(near[:12]) + (" ..." if len(near) > 12 else "")
        raise ValueError(f"`{argument}` must be one of the columns, such as {shown}. Received: {argument}={name}")
    return table[name]


class Kind(NamedTuple):
    """What a column is: `"number"`, `"category"`, or a reason to leave it out."""

    name: str
    kind: str


def kind_of(name: str, values: Sequence[str]) -> Kind:
    """Returns what a column is.

    Examples:
        >>> kind_of("age", ["31", "?", "45"]).kind, kind_of("city", ["Rome", "Oslo", "Rome"]).kind
        ('number', 'category')
    """
    known = [value for value in values if value.lower() not in MISSING]
    different = set(known)
    if len(different) <= 1 and len(known) in (0, len(values)):
        return Kind(name, "constant")
    if numbers_of(values) is not None:
        whole = all(value.lstrip("-").isdecimal() for value in known)
        named = re.search(r"(^|_|\b)(id|key|index|uuid)($|_|\b)", name.lower()) is not None
        counted = whole and len(different) == len(values) and _counts_up(known)
        return Kind(name, "id" if whole and len(different) == len(values) and (named or counted) else "number")
    if sum(_DATE.fullmatch(value) is not None for value in known) > 0.9 * len(known):
        return Kind(name, "date")
    if len(different) > max(MOST_CATEGORIES, 0.5 * len(known)) or len(different) == len(values):
        return Kind(name, "id")
    return Kind(name, "category")


def _counts_up(values: Sequence[str]) -> bool:
    numbers = sorted(map(int, values))
    return numbers[-1] - numbers[0] == len(numbers) - 1


def numbers_of(values: Sequence[str]) -> np.ndarray | None:
    """Returns a column as numbers, NaN where missing; None if it is not made of numbers."""
    try:
        return np.array([np.nan if value.lower() in MISSING else float(value) for value in values], "float64")
    except ValueError:
        return None


_FEWEST = 5  # rows of each class: three train, one tunes, one compares
_FEWEST_ROWS = 50
_MOST_CLASSES = 100
_POSITIVE = ("1", "1.0", "true", "yes", "y", "positive")


class Labels(NamedTuple):
    """Class ids and the classes' names; for two classes, id 1 is the positive one."""

    ids: np.ndarray
    names: list[str]


def labels_of(name: str, values: Sequence[str], positive: str | None, fewest: int = _FEWEST) -> Labels:
    """Returns the labels of a column, or raises what is wrong with it."""
    counts = Counter(values)
    missing = next((value for value in counts if value.lower() in MISSING - {"none"}), None)  # "none" may be a class
    if missing is not None:
        raise ValueError(
            "`label` must have a value in each row; remove rows without one. "
            f"Received: {name}, which is {missing!r} in {counts[missing]} rows"
        )
    if positive is not None and positive not in counts:
        raise ValueError(
            f"`positive` must be a value of {name}: {', '.join(_ordered(counts)[:10])}. Received: positive={positive}"
        )
    if len(counts) < 2:
        raise ValueError(f"`label` must have two or more values. Received: {name}, which is always {values[0]!r}")
    if len(counts) > 2 and positive is not None:
        values = [value if value == positive else f"not {positive}" for value in values]
        counts = Counter(values)
    _check_counts(name, counts, fewest)
    names = _binary(counts, positive) if len(counts) == 2 else _ordered(counts)
    place = {value: k for k, value in enumerate(names)}
    return Labels(np.array([place[value] for value in values]), names)


def check_rows(rows: int) -> None:
    """Raises if there are too few rows to learn from, to tune on and to compare on."""
    if rows < _FEWEST_ROWS:
        raise ValueError(
            f"`table` must have at least {_FEWEST_ROWS} rows, of which some train, some tune and some compare. "
            f"Received: {rows} rows"
        )


def _check_counts(name: str, counts: Counter[str], least: int) -> None:
    if len(counts) > _MOST_CLASSES:
        raise ValueError(
            f"`label` must have at most {_MOST_CLASSES} values; for a number, first make classes of it. "
            f"Received: {name} with {len(counts)} values"
        )
    value, fewest = min(counts.items(), key=lambda item: item[1])
    if fewest < least:
        raise ValueError(
            f"`label` must have each value in at least {least} rows; merge values, or remove rows. "
            f"Received: {name} with {fewest} of {value!r}"
        )


def _binary(counts: Counter[str], positive: str | None) -> list[str]:
    named = [value for value in counts if value.lower() in _POSITIVE]
    found = positive if positive is not None else named[0] if len(named) == 1 else min(counts, key=lambda v: counts[v])
    return [next(value for value in counts if value != found), found]


def _ordered(counts: Counter[str]) -> list[str]:
    """Numbers by size, anything else by letters: the order that a weighted kappa sees."""
    values = sorted(counts)
    return sorted(values, key=float) if numbers_of(values) is not None else values


_SHARES = (0.6, 0.8)  # where training and validation end


def split(ids: np.ndarray, groups: Sequence[str] | None, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the numbers of the rows of each part: 60, 20 and 20 %, each with the same share of every class.

    With groups, whole groups are divided, and the shares of classes are those that chance gives.
    """
    rng = np.random.default_rng(seed)
    if groups is None:
        place = np.empty(len(ids))
        for k in np.unique(ids):
            rows = np.flatnonzero(ids == k)
            place[rng.permutation(rows)] = (np.arange(len(rows)) + rng.random()) / len(rows)
    else:
        names, number = np.unique(np.asarray(groups), return_inverse=True)
        place = ((rng.permutation(len(names)) + 0.5) / len(names))[number]
    part = np.searchsorted(_SHARES, place, side="right")
    parts = tuple(np.flatnonzero(part == k) for k in range(3))
    for name, rows in zip(("training", "validation", "test"), parts):
        if set(ids[rows]) != set(ids):
            raise ValueError(
                f"`group` must leave every class in each part; there are too few groups. "
                f"Received: {len(set(groups or ()))} groups, and {name} rows without one of the classes"
            )
    return parts[0], parts[1], parts[2]
