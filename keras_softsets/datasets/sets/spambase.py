"""Spambase: is an e-mail spam? Frequencies of words and characters, from UCI's file or one with other line endings."""

from collections.abc import Iterator

from keras_softsets.datasets._data_set import DataSet, Description, TableSource
from keras_softsets.datasets._files import LocalFile, RawFile
from keras_softsets.datasets._tables import from_one_file, malformed, parse_numbers, read_lines, split_fields

_FACTS = Description(
    "spambase", 4_601, 1_813, 57, source="https://archive.ics.uci.edu/dataset/94/spambase", licence="CC BY 4.0"
)
_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses free business "
    "email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data 415 85 technology 1999 parts "
    "pm direct cs meeting original project re edu table conference"
)
_COLUMNS = (
    *(f"word_freq_{word}" for word in _WORDS.split()),
    *(f"char_freq_{character}" for character in ";([!$#"),
    *(f"capital_run_length_{quantity}" for quantity in ("average", "longest", "total")),
)


def _rows(file: LocalFile) -> Iterator[tuple[list[float], float]]:
    for number, line in read_lines(file):
        if not line:
            continue
        fields = split_fields(file.path, number, line, len(_COLUMNS) + 1)
        *values, label = parse_numbers(file.path, number, (*_COLUMNS, "spam"), fields)
        if label not in (0, 1):
            malformed(file.path, number, f"column spam must be 0 or 1, received {fields[-1]!r}")
        yield values, label


SPAMBASE = DataSet(
    _FACTS,
    about="""E-mails of one company, around 1999: which are spam? 39.4 % are.

    How often each of 48 words and 6 characters occurs, in per cent of all words or characters, and the average,
    longest and total length of runs of capital letters.
    """,
    citation="""@misc{spambase1999,
  author = {Hopkins, Mark and Reeber, Erik and Forman, George and Suermondt, Jaap},
  title = {Spambase},
  howpublished = {UCI Machine Learning Repository},
  year = {1999},
  doi = {10.24432/C53G6X},
}""",
    source=TableSource(
        columns=_COLUMNS,
        read=from_one_file(_rows, at_most=_FACTS.size),
        files=(
            RawFile(
                ("spambase.data",),
                702_942,
                url="https://archive.ics.uci.edu/ml/machine-learning-databases/spambase/spambase.data",
                sha256="b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
                exact=False,  # Copies differ in their line endings.
            ),
        ),
        folder="spambase",
        fingerprint="ac5f1044ec0e8fcde656ad01b11dcb23b294c852a64c1a0ca68be767a5e1e790",
    ),
)
