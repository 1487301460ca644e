"""From lines to numbers, with errors that name the file, the line and the column."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from keras_softsets.datasets._reading import malformed


def split_fields(path: Path, number: int, line: str, columns: int, separator: str | None = ",") -> list[str]:
    """Returns the fields of a line without surrounding blanks.

    Raises:
        ValueError: If their number is not `columns`.
    """
    fields = [field.strip() for field in line.split(separator)]
    if len(fields) != columns:
        malformed(path, number, f"must have {columns} columns, received {len(fields)}")
    return fields


def parse_numbers(path: Path, number: int, names: Sequence[str], fields: Sequence[str]) -> list[float]:
    """Returns the fields as finite numbers.

    Raises:
        ValueError: If one of them is not; the message names the line and the column.
    """
    try:
        values = list(map(float, fields))
    except ValueError:
        values = [math.nan]
    if not math.isfinite(sum(values)):
        for name, field in zip(names, fields, strict=True):
            if not _is_finite(field):
                malformed(path, number, f"column {name} must be a finite number, received {field!r}")
    return values


def _is_finite(field: str) -> bool:
    try:
        return math.isfinite(float(field))
    except ValueError:
        return False


def progress(items: Iterable[Any], path: Path, total: int | None = None, unit: str = " lines") -> Iterable[Any]:
    """Shows a progress bar over `items` if there is a terminal to show it on."""
    from tqdm.auto import tqdm

    return tqdm(items, desc=f"Reading {path.name}", total=total, unit=unit, leave=False, disable=None)
