"""Mammography: calcifications in mammograms, from OpenML's ARFF file or the same rows as CSV with a header."""

from collections.abc import Iterator

from keras_softsets.datasets._data_set import DataSet, Description, TableSource
from keras_softsets.datasets._files import LocalFile, RawFile
from keras_softsets.datasets._tables import from_one_file, malformed, parse_numbers, progress, read_lines, split_fields

_FACTS = Description("mammography", 11_183, 260, 6, source="https://www.openml.org/d/310", licence="public")
_COLUMNS = tuple(f"attr{number}" for number in range(1, 7))
_LABELS = {"-1": 0, "1": 1}


def _rows(file: LocalFile) -> Iterator[tuple[list[float], int]]:
    for number, line in progress(_data_lines(file), file.path):
        *fields, label = split_fields(file.path, number, line, len(_COLUMNS) + 1)
        values = parse_numbers(file.path, number, _COLUMNS, fields)
        # The quotes belong to the field in the original, '-1' and '1'.
        label = label.strip("'\"")
        if label not in _LABELS:
            malformed(file.path, number, f"column class must be '-1' or '1', received {label!r}")
        yield values, _LABELS[label]


def _data_lines(file: LocalFile) -> Iterator[tuple[int, str]]:
    """Yields the lines after ARFF's `@data` or CSV's header."""
    in_data = False
    for number, line in read_lines(file):
        if not line or line.startswith("%"):
            continue
        if in_data:
            yield number, line
        elif line.lower() == "@data" or line == ",".join((*_COLUMNS, "class")):
            in_data = True
        elif not line.startswith("@"):
            header = ",".join((*_COLUMNS, "class"))
            malformed(file.path, number, f"must be the header {header} or part of an ARFF header, received {line!r}")


MAMMOGRAPHY = DataSet(
    _FACTS,
    about="Microcalcifications in mammograms: six features of a candidate region, 2.32 % positives.",
    citation="""@article{woods1993comparative,
  author = {Woods, Kevin S. and Doss, Christopher C. and Bowyer, Kevin W. and Solka, Jeffrey L. and
    Priebe, Carey E. and Kegelmeyer, W. Philip},
  title = {Comparative Evaluation of Pattern Recognition Techniques for Detection of Microcalcifications in
    Mammography},
  journal = {International Journal of Pattern Recognition and Artificial Intelligence},
  volume = {7},
  number = {6},
  pages = {1417--1436},
  year = {1993},
}""",
    source=TableSource(
        columns=_COLUMNS,
        read=from_one_file(_rows, at_most=_FACTS.size),
        files=(
            RawFile(
                # The last two are OpenML's own name for it.
                ("mammography.csv", "mammography.arff", "phpn1jVwe.arff", "phpn1jVwe"),
                827_947,  # as CSV; the ARFF file has some more lines at its beginning
                url="https://www.openml.org/data/download/52214/phpn1jVwe",
            ),
        ),
        folder="mammography",
        fingerprint="8660fe33f23e1a6f8e1e1956787403a52b7183c3ca071bbe9579939ad87f3ab3",
    ),
)
