"""What all tabular data sets share: the parsed table, its source, and the check of its content."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from keras_softsets.datasets._catalog import Description, check_counts
from keras_softsets.datasets._raw import LocalFile, RawFile

Array = np.ndarray[Any, Any]


class Table(NamedTuple):
    """Samples in the order of the raw file.

    Attributes:
        features: `(samples, features)`, not standardised.
        labels: `(samples,)`, 1 for positive.
        fingerprint: Digest of the numbers in the raw file, whatever their notation.
    """

    features: Array
    labels: Array
    fingerprint: str


@dataclass(frozen=True)
class TableSource:
    """Where a table comes from and how it is read.

    Attributes:
        columns: Names of the features.
        read: Parses the raw files into tables by their TFDS split.
        files: The raw files, in the order in which `read` takes them.
        folder: Name of the sub-folder of `raw_dir` in which they may lie.
        fingerprint: Expected fingerprint of the only table, where the files have no official digest.
    """

    columns: tuple[str, ...]
    read: Callable[[Sequence[LocalFile]], dict[str, Table]]
    files: tuple[RawFile, ...] = ()
    folder: str = ""
    fingerprint: str | None = None


def table(features: Any, labels: Any, raw: Any = None) -> Table:
    """Returns a table with the fingerprint of `raw`, by default the features, and the labels."""
    x, y = np.asarray(features, "float64"), np.asarray(labels, "int64")
    numbers = x if raw is None else np.asarray(raw)
    # Little-endian 64-bit numbers, so that the digest is the same on every machine.
    digest = hashlib.sha256(numbers.astype("<f8").tobytes() + y.astype("<i8").tobytes())
    return Table(x, y, digest.hexdigest())


def check_tables(tables: dict[str, Table], source: TableSource, expected: Description) -> None:
    """Raises a `ValueError` if the content is not that of the published data set."""
    size = sum(len(part.labels) for part in tables.values())
    positives = sum(int(part.labels.sum()) for part in tables.values())
    check_counts(expected, size, positives, f"The raw files of {expected.name}")
    for part in tables.values():
        if source.fingerprint is not None and part.fingerprint != source.fingerprint:
            raise ValueError(
                f"The numbers in the raw files of {expected.name} must have the sha256 {source.fingerprint}, "
                f"received {part.fingerprint}."
            )
