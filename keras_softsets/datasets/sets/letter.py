"""Letter: 26 capital letters in 20 fonts, randomly distorted. UCI's file."""

import string
from collections.abc import Iterator

from keras_softsets.datasets._data_set import DataSet, Description, TableSource
from keras_softsets.datasets._files import LocalFile, RawFile
from keras_softsets.datasets._tables import from_one_file, malformed, parse_numbers, read_lines, split_fields

_LETTERS = tuple(string.ascii_uppercase)
_FACTS = Description(
    "letter",
    20_000,
    (
        *(789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792),  # A to M
        *(783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734),  # N to Z
    ),
    16,
    source="https://archive.ics.uci.edu/dataset/59/letter+recognition",
    licence="CC BY 4.0",
    classes=len(_LETTERS),
)
_COLUMNS = (
    *("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar"),
    *("y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
)


def _rows(file: LocalFile) -> Iterator[tuple[list[float], int]]:
    for number, line in read_lines(file):
        letter, *fields = split_fields(file.path, number, line, 1 + len(_COLUMNS))
        if letter not in _LETTERS:
            malformed(file.path, number, f"column lettr must be a letter from A to Z, received {letter!r}")
        yield parse_numbers(file.path, number, _COLUMNS, fields), _LETTERS.index(letter)


LETTER = DataSet(
    _FACTS,
    about="""Capital letters in 20 fonts, randomly distorted: 26 classes of 734 to 813 samples.

    16 whole numbers from 0 to 15: the place and size of the letter, moments and edge counts. `label` is the place of
    the letter in the alphabet, 0 for A.
    """,
    citation="""@article{frey1991letter,
  author = {Frey, Peter W. and Slate, David J.},
  title = {Letter Recognition Using {Holland}-Style Adaptive Classifiers},
  journal = {Machine Learning},
  volume = {6},
  number = {2},
  pages = {161--182},
  year = {1991},
  note = {Data: UCI Machine Learning Repository, doi 10.24432/C5ZP40},
}""",
    source=TableSource(
        columns=_COLUMNS,
        read=from_one_file(_rows, at_most=_FACTS.size),
        files=(
            RawFile(
                ("letter-recognition.data",),
                712_565,
                url="https://archive.ics.uci.edu/ml/machine-learning-databases/letter-recognition/letter-recognition.data",
                sha256="2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
            ),
        ),
        folder="letter",
        classes=_LETTERS,
    ),
)
