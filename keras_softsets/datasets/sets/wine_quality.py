"""Wine quality: what tasters think of a white wine, as five ordinal classes. UCI's file, or its rows with commas.

The file comes with the package, under its own licence: see `files/` beside this folder.

The tasters' grades range from 3 to 9, but only 20 of the 4,898 wines have a 3 and only 5 have a 9, too few to divide
among three parts. The outer grades are therefore merged: class 0 is a quality of at most 4, class 4 one of at least 8.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from keras_softsets.datasets._data_set import DataSet, Description, Table, TableSource
from keras_softsets.datasets._files import LocalFile, RawFile
from keras_softsets.datasets._tables import collect, malformed, parse_numbers, read_lines, split_fields, table

_FACTS = Description(
    "wine_quality",
    4_898,
    (183, 1_457, 2_198, 880, 180),
    11,
    source="https://archive.ics.uci.edu/dataset/186/wine+quality",
    licence="CC BY 4.0",
    classes=5,
)
_COLUMNS = (
    *("fixed acidity", "volatile acidity", "citric acid", "residual sugar", "chlorides", "free sulfur dioxide"),
    *("total sulfur dioxide", "density", "pH", "sulphates", "alcohol"),
)
_RAW_COLUMNS = (*_COLUMNS, "quality")
_LOWEST, _HIGHEST = 4, 8  # the qualities of the first and the last class
_GRADES = range(11)  # what a taster could give


def read(files: Sequence[LocalFile]) -> dict[str, Table]:
    """Parses winequality-white.csv."""
    (file,) = files
    features, quality = collect(_rows(file), file, at_most=_FACTS.size)
    classes = np.clip(quality, _LOWEST, _HIGHEST) - _LOWEST
    raw = np.concatenate([features, quality[:, None]], axis=1)
    return {"train": table(features, classes, raw, extras={"quality": quality})}


def _rows(file: LocalFile) -> Iterator[tuple[list[float], float]]:
    """Yields features and quality; the original has a header and semicolons, copies have commas."""
    for number, line in read_lines(file):
        if not line:
            continue
        fields = split_fields(
            file.path, number, line.replace('"', ""), len(_RAW_COLUMNS), separator=";" if ";" in line else ","
        )
        if number == 1 and tuple(fields) == _RAW_COLUMNS:
            continue
        *values, quality = parse_numbers(file.path, number, _RAW_COLUMNS, fields)
        if quality not in _GRADES:
            malformed(file.path, number, f"column quality must be a whole number from 0 to 10, received {fields[-1]!r}")
        yield values, quality


WINE_QUALITY = DataSet(
    _FACTS,
    about="""White vinho verde: eleven physico-chemical measurements and the tasters' grade, as five ordinal classes.

    `quality` is the grade as published, 3 to 9; `label` is 0 for a quality of at most 4, then 1, 2 and 3 for 5, 6 and
    7, and 4 for at least 8.
    """,
    citation="""@article{cortez2009modeling,
  author = {Cortez, Paulo and Cerdeira, Ant{\\'o}nio and Almeida, Fernando and Matos, Telmo and Reis, Jos{\\'e}},
  title = {Modeling Wine Preferences by Data Mining from Physicochemical Properties},
  journal = {Decision Support Systems},
  volume = {47},
  number = {4},
  pages = {547--553},
  year = {2009},
  note = {Data: UCI Machine Learning Repository, doi 10.24432/C56S3T},
}""",
    source=TableSource(
        columns=_COLUMNS,
        read=read,
        files=(
            RawFile(
                ("winequality-white.csv",),
                264_426,
                url="https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/winequality-white.csv",
                sha256="76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
                exact=False,  # Copies have commas and no header.
                shipped=True,
            ),
        ),
        folder="winequality",
        fingerprint="fe4d32a2a035ce84da20fc392d70d98a250c4daf2d54d35d0a6c8c28ac13338e",
        classes=("quality 4 or less", "quality 5", "quality 6", "quality 7", "quality 8 or more"),
        extras=("quality",),
    ),
    tfds_name="wine_quality_white",  # TFDS has a different `wine_quality`, with the quality as a number.
)
