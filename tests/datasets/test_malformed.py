"""Malformed lines: every reader names the file, the line and what it received."""

import gzip

import pytest

# Each changes one line of a made-up file; the message must name the file, the line and what was received.
MALFORMED = [
    ("mammography", "mammography.csv", 3, lambda line: line.rsplit(",", 1)[0], "must have 7 columns, received 6"),
    ("mammography", "mammography.csv", 9, lambda line: line + ",1", "must have 7 columns, received 8"),
    ("mammography", "mammography.csv", 5, lambda line: "x" + line, "column attr1 must be a finite number, received 'x"),
    ("mammography", "mammography.csv", 5, lambda line: "nan" + line[line.index(",") :], "received 'nan'"),
    ("mammography", "mammography.csv", 7, lambda line: line[:-3] + "'2'", "column class must be '-1' or '1', received"),
    ("mammography", "mammography.csv", 1, lambda line: "a,b", "must be the header attr1,attr2,"),
    ("adult", "adult.data", 2, lambda line: line[:20], "must have 15 columns, received 3"),
    (
        "adult",
        "adult.test",
        4,
        lambda line: line.replace("White", "Green"),
        "race must be a known category, received 'G",
    ),
    ("adult", "adult.data", 3, lambda line: line.replace("2174", "many"), "capital-gain must be a finite number"),
    (
        "adult",
        "adult.data",
        3,
        lambda line: line.replace("<=50K", "50K"),
        "label must be <=50K or >50K, received '50K'",
    ),
    ("creditcard_fraud", "creditcard.csv", 8, lambda line: line[:50], "must have 31 columns, received"),
    ("creditcard_fraud", "creditcard.csv", 8, lambda line: "inf" + line[1:], "column Time must be a finite number"),
    ("creditcard_fraud", "creditcard.csv", 4, lambda line: line[:-3] + '"3"', "Class must be 0 or 1"),
    ("creditcard_fraud", "creditcard.csv", 5, lambda line: line.replace(",7.5,", ",-7.5,"), "received 0 and -7.5"),
    (
        "creditcard_fraud",
        "creditcard.csv",
        1,
        lambda line: line.replace("V7", "V0"),
        "must name the column V7, received",
    ),
    (
        "letter",
        "letter-recognition.data",
        3,
        lambda line: "c" + line[1:],
        "lettr must be a letter from A to Z, received 'c'",
    ),
    ("letter", "letter-recognition.data", 4, lambda line: line[:-1] + "?", "column yegvx must be a finite number"),
    ("letter", "letter-recognition.data", 26, lambda line: line + ",0", "must have 17 columns, received 18"),
    ("spambase", "spambase.data", 2, lambda line: line.rstrip()[:-1] + "2", "column spam must be 0 or 1, received '2'"),
    ("spambase", "spambase.data", 7, lambda line: "-," + line, "must have 58 columns, received 59"),
    (
        "wine_quality",
        "winequality-white.csv",
        1,
        lambda line: line.replace("pH", "ph"),
        "fixed acidity must be a finite",
    ),
    (
        "wine_quality",
        "winequality-white.csv",
        2,
        lambda line: line + ".5",
        "quality must be a whole number from 0 to 10",
    ),
    ("wine_quality", "winequality-white.csv", 9, lambda line: line[:-1] + "11", "from 0 to 10, received '11'"),
    ("cocktail_party", "tracking_hp.log", 2, lambda line: line[:30], "must have 25 columns, received"),
    (
        "cocktail_party",
        "tracking_hp.log",
        2,
        lambda line: line.replace("ID_004", "ID_009"),
        "must list ID_001 to ID_006",
    ),
    ("cocktail_party", "tracking_hp.log", 1, lambda line: line.replace("2.00", "2,0"), "column y of ID_001 must be a"),
    ("cocktail_party", "grouping.ref", 2, lambda line: line.replace(">", ""), "must be a stamp and groups like"),
    ("cocktail_party", "grouping.ref", 3, lambda line: line.replace("ID_002", "ID_001"), "each of the six people once"),
    (
        "cocktail_party",
        "grouping.ref",
        4,
        lambda line: "9" + line,
        "the stamp must be in tracking_hp.log, received 93.25",
    ),
]


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(("name", "file", "number", "change", "message"), MALFORMED)
def test_a_malformed_line_is_named(raw, load, tmp_path, name, file, number, change, message, suffix):
    directory = raw(name)
    path = directory / file
    lines = path.read_text().split("\n")
    lines[number - 1] = change(lines[number - 1])
    content = "\n".join(lines).encode()
    path.unlink()
    path = directory / (file + suffix)
    path.write_bytes(gzip.compress(content) if suffix else content)
    with pytest.raises(ValueError) as error:
        load(name, raw_dir=directory)
    assert str(error.value).startswith(f"{path}, line {number}: ")
    assert message in str(error.value)
    assert not (tmp_path / "prepared" / name / "1.0.0").exists()
