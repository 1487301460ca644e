"""Adult: does a person earn more than 50,000 dollars a year? UCI's two files.

`fnlwgt`, the number of people that a row represents, is left out, as in the paper. A category is encoded as its place
in the alphabetical list of categories, in which `?`, the sign for a missing value, is a separate category. The lists
are part of the code, so the encoding does not depend on which rows are read.
"""

from collections.abc import Iterator, Sequence

from keras_softsets.datasets._data_set import DataSet, Description, Table, TableSource
from keras_softsets.datasets._files import LocalFile, RawFile
from keras_softsets.datasets._tables import collect, malformed, parse_numbers, progress, read_lines, split_fields, table

_FACTS = Description(
    "adult", 48_842, 11_687, 13, source="https://archive.ics.uci.edu/dataset/2/adult", licence="CC BY 4.0"
)

_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
)
_DROPPED = _COLUMNS.index("fnlwgt")
_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"

CATEGORIES = {
    "workclass": "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov Without-pay",
    "education": (
        "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate HS-grad Masters "
        "Preschool Prof-school Some-college"
    ),
    "marital-status": (
        "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married Separated Widowed"
    ),
    "occupation": (
        "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners "
        "Machine-op-inspct Other-service Priv-house-serv Prof-specialty Protective-serv Sales Tech-support "
        "Transport-moving"
    ),
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "native-country": (
        "? Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France Germany Greece "
        "Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland Italy Jamaica Japan Laos Mexico "
        "Nicaragua Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico Scotland South Taiwan "
        "Thailand Trinadad&Tobago United-States Vietnam Yugoslavia"
    ),
}
_CODES = {
    column: {category: str(code) for code, category in enumerate(categories.split())}
    for column, categories in CATEGORIES.items()
}
# The labels of adult.test end in a full stop.
_LABELS = {"<=50K": 0, "<=50K.": 0, ">50K": 1, ">50K.": 1}


def read(files: Sequence[LocalFile]) -> dict[str, Table]:
    """Parses adult.data and adult.test."""
    train, test = (table(*collect(_rows(file), file, at_most=_FACTS.size)) for file in files)
    return {"train": train, "test": test}


def _rows(file: LocalFile) -> Iterator[tuple[list[float], int]]:
    for number, line in progress(read_lines(file), file.path):
        # adult.test starts with a remark, and both files end in an empty line.
        if not line or line.startswith("|"):
            continue
        *fields, label = split_fields(file.path, number, line, len(_COLUMNS) + 1)
        if label not in _LABELS:
            malformed(file.path, number, f"the label must be <=50K or >50K, received {label!r}")
        yield _encode(file, number, fields), _LABELS[label]


def _encode(file: LocalFile, number: int, fields: list[str]) -> list[float]:
    for index, column in enumerate(_COLUMNS):
        if column in _CODES:
            if fields[index] not in _CODES[column]:
                malformed(file.path, number, f"column {column} must be a known category, received {fields[index]!r}")
            fields[index] = _CODES[column][fields[index]]
    values = parse_numbers(file.path, number, _COLUMNS, fields)
    del values[_DROPPED]
    return values


ADULT = DataSet(
    _FACTS,
    about="""Census income: does a person earn more than 50,000 dollars a year?

    The 1994 census extract of the UCI repository, both official files (the splits `train` and `test`). The weight
    `fnlwgt` is left out; a category is encoded as its place in the alphabetical list, `?` (missing) included.
    """,
    citation="""@misc{adult1996,
  author = {Becker, Barry and Kohavi, Ronny},
  title = {Adult},
  howpublished = {UCI Machine Learning Repository},
  year = {1996},
  doi = {10.24432/C5XW20},
}""",
    source=TableSource(
        columns=tuple(column for column in _COLUMNS if column != "fnlwgt"),
        read=read,
        files=(
            RawFile(
                ("adult.data",),
                3_974_305,
                url=_URL + "adult.data",
                sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            ),
            RawFile(
                ("adult.test",),
                2_003_153,
                url=_URL + "adult.test",
                sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            ),
        ),
        folder="adult",
    ),
)
