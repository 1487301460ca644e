"""Mammography: calcifications in mammograms, from OpenML's ARFF file or the same rows as CSV with a header."""

from collections.abc import Iterator, Sequence

from keras_softsets.datasets._raw import (
    LocalFile,
    RawFile,
    malformed,
    parse_numbers,
    progress,
    read_lines,
    split_fields,
)
from keras_softsets.datasets._tables import Table, TableSource, table

COLUMNS = tuple(f"attr{number}" for number in range(1, 7))
_LABELS = {"-1": 0, "1": 1}


def read(files: Sequence[LocalFile]) -> dict[str, Table]:
    """Parses the file."""
    (file,) = files
    features, labels = [], []
    for number, line in progress(_data_lines(file), file.path):
        *fields, label = split_fields(file.path, number, line, len(COLUMNS) + 1)
        features.append(parse_numbers(file.path, number, COLUMNS, fields))
        # The quotes belong to the field in the original, '-1' and '1'.
        label = label.strip("'\"")
        if label not in _LABELS:
            malformed(file.path, number, f"column class must be '-1' or '1', received {label!r}")
        labels.append(_LABELS[label])
    return {"train": table(features, labels)}


def _data_lines(file: LocalFile) -> Iterator[tuple[int, str]]:
    """Yields the lines after ARFF's `@data` or CSV's header."""
    in_data = False
    for number, line in read_lines(file):
        if not line or line.startswith("%"):
            continue
        if in_data:
            yield number, line
        elif line.lower() == "@data" or line == ",".join((*COLUMNS, "class")):
            in_data = True
        elif not line.startswith("@"):
            header = ",".join((*COLUMNS, "class"))
            malformed(file.path, number, f"must be the header {header} or part of an ARFF header, received {line!r}")


SOURCE = TableSource(
    columns=COLUMNS,
    read=read,
    files=(
        RawFile(
            # The last two are OpenML's own name for it.
            ("mammography.csv", "mammography.arff", "phpn1jVwe.arff", "phpn1jVwe"),
            "https://www.openml.org/data/download/52214/phpn1jVwe",
        ),
    ),
    folder="mammography",
    fingerprint="8660fe33f23e1a6f8e1e1956787403a52b7183c3ca071bbe9579939ad87f3ab3",
)
