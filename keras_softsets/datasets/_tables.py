"""What all tabular data sets share: the parsed table, its source, and the check of its content."""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from keras_softsets.datasets._description import Description, check_counts
from keras_softsets.datasets._files import LocalFile, RawFile

Array = np.ndarray[Any, Any]
Rows = Iterable[tuple[Sequence[float], float]]  # the features and the label of each sample


class Table(NamedTuple):
    """Samples in the order of the raw file.

    Attributes:
        features: `(samples, features)`, not standardised.
        labels: `(samples,)`, class ids; 1 for positive where there are two classes.
        fingerprint: Digest of the numbers in the raw file, independent of their notation.
        extras: Further whole numbers `(samples,)` by name, for those who use the TFDS builder.
    """

    features: Array
    labels: Array
    fingerprint: str
    extras: Mapping[str, Array]


@dataclass(frozen=True)
class TableSource:
    """Where a table comes from and how it is read.

    Attributes:
        columns: Names of the features.
        read: Parses the raw files into tables by their TFDS split.
        files: The raw files, in the order in which `read` takes them.
        folder: Name of the subfolder of `raw_dir` in which they may be.
        fingerprint: Expected fingerprint of the only table, if local files need not have an official digest.
        classes: Names of the classes, in the order of their ids.
        extras: Names of the table's extras.
    """

    columns: tuple[str, ...]
    read: Callable[[Sequence[LocalFile]], dict[str, Table]]
    files: tuple[RawFile, ...] = ()
    folder: str = ""
    fingerprint: str | None = None
    classes: tuple[str, ...] = ("negative", "positive")
    extras: tuple[str, ...] = ()


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
