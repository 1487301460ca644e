"""`DataSet`: all that the package knows about one data set, as a value defined in its file in `sets/`."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from keras_softsets.datasets._description import Description
from keras_softsets.datasets._images import ImageSource
from keras_softsets.datasets._tables import TableSource

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
