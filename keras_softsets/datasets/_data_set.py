"""`DataSet`: all that the package knows about one data set, as a value defined in its file in `sets/`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from keras_softsets.datasets._files import LocalFile, RawFile

Array = np.ndarray[Any, Any]


class Description(NamedTuple):
    """Facts about one data set: the training, validation and test parts together.

    Attributes:
        name: What `load` takes.
        size: Number of samples.
        positives: Number of samples of the positive class. With more than two classes, each is the positive one
            against the rest in turn: a tuple with the number of samples of each class, in the order of the class ids.
        features: Number of values for each sample.
        source: Where the data come from.
        licence: Licence as listed by the source; check there before you redistribute.
        classes: Number of classes. Defaults to `2`.
    """

    name: str
    size: int
    positives: int | tuple[int, ...]
    features: int
    source: str
    licence: str
    classes: int = 2

    def __str__(self) -> str:
        """Returns one line of a table."""
        if isinstance(self.positives, int):
            balance = f"{self.positives:>6,} positive ({self.positives / self.size:>6.2%})"
        else:
            balance = f"{self.classes} classes, {min(self.positives):,} to {max(self.positives):,}"
        return f"{self.name:<22} {self.size:>7,} samples, {balance:>24}, {self.features:>4} features; {self.licence}"


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


class Images(NamedTuple):
    """Images `(n, height, width, 3)` and their original classes `(n,)`, both uint8."""

    images: Array
    classes: Array


@dataclass(frozen=True)
class ImageSource:
    """Where the images of a binary task come from and how they are read.

    Attributes:
        original: Name of TFDS's own builder of the original data set, which is used if there is no `raw_dir`.
        shape: Of an image.
        classes: Names of the original classes, in the order of their ids.
        positive: Those that are the positive class of the task.
        read: Reads the images under `raw_dir`, by their TFDS split.
        files: The official file, one of the forms that `read` understands.
    """

    original: str
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    positive: tuple[str, ...]
    read: Callable[[Path], dict[str, Images]]
    files: tuple[RawFile, ...]

    @property
    def positive_ids(self) -> list[int]:
        """The original classes that are positive, as ids."""
        return [self.classes.index(name) for name in self.positive]


Source = TypeVar("Source", TableSource, ImageSource)


@dataclass(frozen=True)
class DataSet(Generic[Source]):
    """A data set, independent of TensorFlow Datasets: `builders` makes a TFDS builder from it.

    Attributes:
        facts: What `describe` shows; `facts.name` is what `load` takes.
        about: What TFDS shows: a line, and perhaps a paragraph about the preprocessing.
        citation: BibTeX.
        source: Where the samples come from and how they are read.
        tfds_name: What `tfds.load` takes. Defaults to `facts.name`; needed only if TFDS has a set of that name.
    """

    facts: Description
    about: str
    citation: str
    source: Source
    tfds_name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tfds_name", self.tfds_name or self.facts.name)


def check_counts(expected: Description, labels: Any, where: str) -> None:
    """Raises a `ValueError` if the counts of the labels differ from those of the published data set.

    Args:
        expected: The published facts.
        labels: `(samples,)`, class ids; 1 for positive where there are two classes.
        where: The beginning of the error message.
    """
    counts = tuple(np.bincount(np.asarray(labels, "int64"), minlength=expected.classes).tolist())
    positives = counts[1] if expected.classes == 2 else counts
    if (len(labels), positives) != (expected.size, expected.positives):
        of_classes = "of them positive" if expected.classes == 2 else "of the classes in turn"
        raise ValueError(
            f"{where} must hold {expected.size:,} samples, {_listed(expected.positives)} {of_classes}, "
            f"received {len(labels):,} and {_listed(positives)}."
        )


def _listed(counts: int | tuple[int, ...]) -> str:
    return " ".join(f"{count:,}" for count in ((counts,) if isinstance(counts, int) else counts))
