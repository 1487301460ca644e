"""What image data sets share: the images and their source."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from keras_softsets.datasets._tables import Array


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
    """

    original: str
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    positive: tuple[str, ...]
    read: Callable[[Path], dict[str, Images]]

    @property
    def positive_ids(self) -> list[int]:
        """The original classes that are positive, as ids."""
        return [self.classes.index(name) for name in self.positive]
