"""Credit card fraud: transactions of European card holders, 28 anonymous components and the amount.

As in the paper, `Time` is left out, so that nothing is learnt from the moment of a transaction, and the amount enters
by its logarithm: `log(1 + Amount)`, because an amount can be zero.
"""

import math
from collections.abc import Sequence

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

_RAW_COLUMNS = ("Time", *(f"V{number}" for number in range(1, 29)), "Amount", "Class")
_ROWS = 284_807


def read(files: Sequence[LocalFile]) -> dict[str, Table]:
    """Parses creditcard.csv."""
    (file,) = files
    features, labels = [], []
    for number, line in progress(read_lines(file), file.path, total=_ROWS + 1):
        # The original puts the names and the label in quotes; copies often do not.
        fields = split_fields(file.path, number, line.replace('"', ""), len(_RAW_COLUMNS))
        if number == 1:
            _check_header(file, fields)
            continue
        *values, label = parse_numbers(file.path, number, _RAW_COLUMNS, fields)
        if label not in (0, 1) or values[-1] < 0:
            malformed(
                file.path,
                number,
                f"Class must be 0 or 1 and Amount not negative, received {fields[-1]} and {fields[-2]}",
            )
        features.append([*values[1:-1], math.log1p(values[-1])])
        labels.append(label)
    return {"train": table(features, labels)}


def _check_header(file: LocalFile, fields: list[str]) -> None:
    for expected, received in zip(_RAW_COLUMNS, fields, strict=True):
        if expected != received:
            malformed(file.path, 1, f"must name the column {expected}, received {received!r}")


SOURCE = TableSource(
    columns=(*_RAW_COLUMNS[1:-2], "log_amount"),
    read=read,
    files=(
        RawFile(
            ("creditcard.csv",),
            "https://storage.googleapis.com/download.tensorflow.org/data/creditcard.csv",
            size=150_828_752,
            sha256="76274b691b16a6c49d3f159c883398e03ccd6d1ee12d9d8ee38f4b4b98551a89",
        ),
    ),
    folder="creditcard",
)
