"""Credit card fraud: transactions of European card holders, 28 anonymous components and the amount.

As in the paper, `Time` is left out, so that the time of a transaction has no influence, and the amount is
replaced by its logarithm: `log(1 + Amount)`, because an amount can be zero.
"""

import math
from collections.abc import Iterator

from keras_softsets.datasets._data_set import DataSet, Description, TableSource
from keras_softsets.datasets._files import LocalFile, RawFile
from keras_softsets.datasets._tables import from_one_file, malformed, parse_numbers, progress, read_lines, split_fields

_FACTS = Description(
    "creditcard_fraud",
    284_807,
    492,
    29,
    source="https://www.kaggle.com/datasets/mlg-ulb/creditcardfraud",
    licence="Database Contents License (DbCL) 1.0",
)
_RAW_COLUMNS = ("Time", *(f"V{number}" for number in range(1, 29)), "Amount", "Class")


def _rows(file: LocalFile) -> Iterator[tuple[list[float], float]]:
    for number, line in progress(read_lines(file), file.path, total=_FACTS.size + 1):
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
        yield [*values[1:-1], math.log1p(values[-1])], label


def _check_header(file: LocalFile, fields: list[str]) -> None:
    for expected, received in zip(_RAW_COLUMNS, fields, strict=True):
        if expected != received:
            malformed(file.path, 1, f"must name the column {expected}, received {received!r}")


CREDITCARD_FRAUD = DataSet(
    _FACTS,
    about="""Fraud among card transactions of two days in September 2013, 0.17 % positives.

    28 anonymous components and the logarithm of one plus the amount; the time of a transaction is left out.
    """,
    citation="""@inproceedings{dalpozzolo2015calibrating,
  author = {Dal Pozzolo, Andrea and Caelen, Olivier and Johnson, Reid A. and Bontempi, Gianluca},
  title = {Calibrating Probability with Undersampling for Unbalanced Classification},
  booktitle = {IEEE Symposium Series on Computational Intelligence},
  year = {2015},
}""",
    source=TableSource(
        columns=(*_RAW_COLUMNS[1:-2], "log_amount"),
        read=from_one_file(_rows, at_most=_FACTS.size),
        files=(
            RawFile(
                ("creditcard.csv",),
                150_828_752,
                url="https://storage.googleapis.com/download.tensorflow.org/data/creditcard.csv",
                sha256="76274b691b16a6c49d3f159c883398e03ccd6d1ee12d9d8ee38f4b4b98551a89",
            ),
        ),
        folder="creditcard",
    ),
)
