"""From the lines of a text file to a table, with errors that name file, line and column; the fingerprint of tables."""

import hashlib
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from keras_softsets.datasets._data_set import Array, Description, Table, TableSource, check_counts
from keras_softsets.datasets._files import LocalFile, open_bounded

# The longest official line has 600 characters. Without a limit, a file of one endless line would be held in memory.
_LONGEST_LINE = 2**16


def read_lines(file: LocalFile) -> Iterator[tuple[int, str]]:
    """Yields the lines of a text file with their numbers, and checks the digest after the last one.

    The digest is checked last, so that the parser reports a damaged line first, with its number.
    """
    digest = hashlib.sha256()
    with open_bounded(file) as stream:
        number = 0
        while line := stream.readline(_LONGEST_LINE):
            number += 1
            digest.update(line)
            yield number, _decode(file.path, number, line)
    if file.sha256 is not None and digest.hexdigest() != file.sha256:
        raise ValueError(
            f"{file.path} must have the sha256 {file.sha256}, received {digest.hexdigest()}; "
            f"get the published file from {file.origin}."
        )


def _decode(path: Path, number: int, line: bytes) -> str:
    if len(line) == _LONGEST_LINE:
        malformed(path, number, f"must be shorter than {_LONGEST_LINE:,} bytes, received a longer line")
    try:
        return line.decode().strip()
    except UnicodeDecodeError as error:
        malformed(path, number, f"must be UTF-8 text, received {error.object[error.start : error.end]!r}")


def malformed(path: Path, number: int, problem: str) -> NoReturn:
    """Raises the error for a malformed line."""
    raise ValueError(f"{path}, line {number}: {problem}.")


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


Rows = Iterable[tuple[Sequence[float], float]]  # the features and the label of each sample


def from_one_file(rows: Callable[[LocalFile], Rows], at_most: int) -> Callable[[Sequence[LocalFile]], dict[str, Table]]:
    """Returns the `read` function for a data set in one file, whose lines `rows` parses into `at_most` samples."""

    def read(files: Sequence[LocalFile]) -> dict[str, Table]:
        (file,) = files
        return {"train": table(*collect(rows(file), file, at_most))}

    return read


def collect(rows: Rows, file: LocalFile, at_most: int) -> tuple[Array, Array]:
    """Returns the features and labels of all rows, packed as they arrive.

    Args:
        rows: What was parsed.
        file: Where they come from.
        at_most: Number of samples that the published file holds.

    Returns:
        `(samples, features)` float64 and `(samples,)` int64.

    Raises:
        ValueError: If there are more rows. A short line can become many numbers, so a limit on bytes is not enough.
    """
    values, labels = array("d"), array("q")
    for features, label in rows:
        if len(labels) == at_most:
            raise ValueError(
                f"{file.path} must hold at most {at_most:,} samples, received more; "
                f"get the published file from {file.origin}."
            )
        values.extend(features)
        labels.append(int(label))
    return np.array(values).reshape(len(labels), -1 if labels else 0), np.array(labels)


def table(features: Any, labels: Any, raw: Any = None, extras: Mapping[str, Array] | None = None) -> Table:
    """Returns a table, with the fingerprint of `raw` (by default the features) and the labels."""
    x, y = np.asarray(features, "float64"), np.asarray(labels, "int64")
    # Little-endian 64-bit numbers, so that the digest is the same on every machine.
    digest = hashlib.sha256(np.ascontiguousarray(x if raw is None else raw, "<f8").data)
    digest.update(np.ascontiguousarray(y, "<i8").data)
    return Table(x, y, digest.hexdigest(), extras or {})


def check_tables(tables: dict[str, Table], source: TableSource, expected: Description) -> None:
    """Raises a `ValueError` if the content is not that of the published data set."""
    labels = np.concatenate([part.labels for part in tables.values()])
    check_counts(expected, labels, f"The raw files of {expected.name}")
    for part in tables.values():
        if source.fingerprint is not None and part.fingerprint != source.fingerprint:
            raise ValueError(
                f"The numbers in the raw files of {expected.name} must have the sha256 {source.fingerprint}, "
                f"received {part.fingerprint}."
            )
