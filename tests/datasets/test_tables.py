"""What the tabular data sets compute from raw files, against independent calculations; damaged lines are refused."""

import gzip
import math

import numpy as np
import pytest
from raw_files import ADULT_RICH_ROW, ADULT_ROW, MADE_UP, WINE_HEADER, mammography_lines, party, wine_lines

from keras_softsets.datasets._files import LocalFile
from keras_softsets.datasets.sets import (
    adult,
    cocktail_party,
    creditcard_fraud,
    letter,
    mammography,
    spambase,
    synthetic,
    wine_quality,
)


def found(path):
    return LocalFile(path, limit=100_000, origin="its source")


def local(tmp_path, name, *lines):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return found(path)


def test_arff_gives_the_same_table_as_csv(tmp_path):
    header = [f"@attribute attr{n} NUMERIC" for n in range(1, 7)]
    arff = ["% A remark", "@RELATION mammography", "", *header, "@attribute class {'-1','1'}", "@DATA"]
    csv = local(tmp_path, "a.csv", ",".join([*(f"attr{n}" for n in range(1, 7)), "class"]), *mammography_lines())
    first = mammography.MAMMOGRAPHY.source.read([csv])["train"]
    second = mammography.MAMMOGRAPHY.source.read([local(tmp_path, "b.arff", *arff, *mammography_lines())])["train"]
    np.testing.assert_array_equal(first.features, second.features)
    assert first.fingerprint == second.fingerprint
    assert first.features.shape == (100, 6)
    assert first.labels.tolist() == [1] * 25 + [0] * 75


def test_fingerprint_is_of_the_numbers_not_of_their_notation(tmp_path):
    lines = mammography_lines()
    header = ",".join([*(f"attr{n}" for n in range(1, 7)), "class"])
    first = mammography.MAMMOGRAPHY.source.read([local(tmp_path, "a", header, *lines)])["train"]
    spaced = mammography.MAMMOGRAPHY.source.read(
        [local(tmp_path, "b", header, *(line.replace(",", " , ") for line in lines))]
    )["train"]
    swapped = mammography.MAMMOGRAPHY.source.read([local(tmp_path, "c", header, *lines[::-1])])["train"]
    assert first.fingerprint == spaced.fingerprint != swapped.fingerprint


def test_adult_drops_fnlwgt_and_encodes_categories_by_their_alphabetical_place(tmp_path):
    data = local(tmp_path, "adult.data", ADULT_ROW, "")
    test = local(tmp_path, "adult.test", "|1x3 Cross validator", ADULT_RICH_ROW + ".", "")
    tables = adult.read([data, test])
    assert adult.ADULT.source.columns == (
        "age", "workclass", "education", "education-num", "marital-status", "occupation", "relationship", "race",
        "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    )  # fmt: skip
    assert tables["train"].features.tolist() == [[39, 7, 9, 13, 4, 1, 1, 4, 1, 2174, 0, 40, 39]]
    assert tables["test"].features.tolist() == [[52, 0, 11, 9, 2, 0, 0, 4, 1, 0, 0, 45, 39]]
    assert [tables[split].labels.tolist() for split in ("train", "test")] == [[0], [1]]


def test_adult_categories_are_sorted_and_unique():
    for categories in adult.CATEGORIES.values():
        assert categories.split() == sorted(set(categories.split()))


def test_creditcard_drops_time_and_takes_the_logarithm_of_the_amount(tmp_path):
    columns = ["Time", *(f"V{n}" for n in range(1, 29)), "Amount", "Class"]
    values = [f"{n}.5" for n in range(1, 29)]
    rows = [",".join(["86400", *values, "0", "0"]), ",".join(["1", *values, "1808", '"1"'])]
    table = creditcard_fraud.CREDITCARD_FRAUD.source.read(
        [local(tmp_path, "creditcard.csv", ",".join(columns), *rows)]
    )["train"]
    expected = [float(value) for value in values]
    np.testing.assert_allclose(table.features, [[*expected, 0.0], [*expected, math.log(1809)]], rtol=1e-15)
    assert table.labels.tolist() == [0, 1]
    assert creditcard_fraud.CREDITCARD_FRAUD.source.columns == (*columns[1:-2], "log_amount")


def test_cocktail_party_features_are_those_of_the_pairs_own_frame():
    """An independent way: rotate the plane as complex numbers, one pair and frame at a time."""
    people, _ = party()
    for pair in cocktail_party.PAIRS:
        features = cocktail_party.pair_features(people, pair)
        for frame, places in enumerate(people):
            place, direction = places[:, 0] + 1j * places[:, 1], np.exp(1j * places[:, 2])
            first, second = place[list(pair)]
            unit = (second - first) / abs(second - first)
            place, direction = (place - (first + second) / 2) / unit, direction / unit
            expected = [
                number
                for person in pair
                for number in (place[person].real, direction[person].real, direction[person].imag)
            ]
            for person in range(6):
                if person not in pair:
                    expected += [place[person].real, place[person].imag, direction[person].real, direction[person].imag]
            np.testing.assert_allclose(features[frame], expected, atol=1e-12)
            assert features[frame, 0] == pytest.approx(-abs(second - first) / 2)


def test_cocktail_party_features_do_not_depend_on_the_room():
    people, _ = party()
    turn, shift = 0.7, np.array([3.0, -2.0])
    rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    moved = np.concatenate([people[..., :2] @ rotation.T + shift, people[..., 2:] + turn], axis=-1)
    for pair in cocktail_party.PAIRS:
        first, second = (cocktail_party.pair_features(frames, pair) for frames in (people, moved))
        np.testing.assert_allclose(first, second, atol=1e-12)


def test_cocktail_party_pair_in_one_place_is_finite():
    assert np.isfinite(cocktail_party.pair_features(np.zeros((1, 6, 3)), (0, 1))).all()


def test_cocktail_party_positives_are_the_pairs_that_share_no_group(tmp_path):
    MADE_UP["cocktail_party"].write(tmp_path)
    files = [found(tmp_path / name) for name in ("tracking_hp.log", "grouping.ref")]
    table = cocktail_party.read(files)["train"]
    assert table.features.shape == (60, 22)
    labels = table.labels.reshape(4, 15)
    assert labels.sum(axis=1).tolist() == [0, 9, 8, 15]
    apart = {pair for pair, label in zip(cocktail_party.PAIRS, labels[2], strict=True) if label}
    assert apart == {
        (person, other) for person, other in cocktail_party.PAIRS if (person in (0, 5)) != (other in (0, 5))
    }
    people, _ = party()
    np.testing.assert_allclose(table.features[15:30], np.concatenate(
        [cocktail_party.pair_features(people[1:2], pair) for pair in cocktail_party.PAIRS]
    ))  # fmt: skip


def test_synthetic_blobs_are_isotropic_and_two_deviations_apart():
    table = synthetic.blobs(2_500)
    negative, positive = table.features[table.labels == 0], table.features[table.labels == 1]
    np.testing.assert_allclose(np.cov(negative.T), 100 * np.eye(3), atol=5)
    np.testing.assert_allclose(np.cov(positive.T), 100 * np.eye(3), atol=8)
    assert np.linalg.norm(positive.mean(axis=0) - negative.mean(axis=0)) == pytest.approx(20, abs=0.8)


def test_synthetic_sets_share_their_negatives_and_remove_positives_at_random():
    few, many = synthetic.blobs(250), synthetic.blobs(2_500)
    np.testing.assert_array_equal(few.features[:5_000], many.features[:5_000])
    kept = {tuple(row) for row in many.features[5_000:]}
    assert all(tuple(row) in kept for row in few.features[5_000:])
    assert not np.array_equal(few.features[5_000:], many.features[5_000:5_250])


def test_letters_are_numbered_by_the_alphabet(tmp_path):
    rows = ["Z," + ",".join(["15"] * 16), "A," + ",".join(map(str, range(16))), "B," + ",".join(["0"] * 16)]
    table = letter.LETTER.source.read([local(tmp_path, "letter-recognition.data", *rows)])["train"]
    assert table.labels.tolist() == [25, 0, 1]
    assert table.features.tolist() == [[15] * 16, list(range(16)), [0] * 16]


def test_spambase_takes_the_last_column_for_the_label(tmp_path):
    rows = [",".join([*(f"{n}.5" for n in range(57)), label]) for label in ("1", "0")]
    path = tmp_path / "spambase.data"
    path.write_bytes("\r\n".join([*rows, ""]).encode())
    windows, plain = (
        spambase.SPAMBASE.source.read([file])["train"] for file in (found(path), local(tmp_path, "copy", *rows, ""))
    )
    assert windows.labels.tolist() == [1, 0]
    assert windows.features.tolist() == [[n + 0.5 for n in range(57)]] * 2
    assert windows.fingerprint == plain.fingerprint
    columns = spambase.SPAMBASE.source.columns
    assert (columns[0], columns[47], columns[48], columns[53]) == (
        "word_freq_make", "word_freq_conference", "char_freq_;", "char_freq_#",
    )  # fmt: skip
    assert columns[54:] == ("capital_run_length_average", "capital_run_length_longest", "capital_run_length_total")


def test_wine_quality_joins_the_outer_grades_and_keeps_the_grade(tmp_path):
    table = wine_quality.read([local(tmp_path, "wine.csv", WINE_HEADER, *wine_lines())])["train"]
    assert table.extras["quality"][:7].tolist() == [3, 4, 5, 6, 7, 8, 9]
    assert table.labels[:7].tolist() == [0, 0, 1, 2, 3, 4, 4]
    first = wine_lines()[0].split(";")
    assert table.features[0].tolist() == [float(field) for field in first[:-1]]


def test_wine_quality_is_the_same_with_commas_and_without_a_header(tmp_path):
    original = local(tmp_path, "original.csv", WINE_HEADER, *wine_lines())
    copy = local(tmp_path, "copy.csv", *wine_lines(","), "")
    both = local(tmp_path, "both.csv", WINE_HEADER.replace(";", ","), *wine_lines(","))
    first, second, third = (wine_quality.read([file])["train"] for file in (original, copy, both))
    for other in (second, third):
        np.testing.assert_array_equal(first.features, other.features)
        np.testing.assert_array_equal(first.labels, other.labels)
        assert first.fingerprint == other.fingerprint


def test_wine_qualitys_fingerprint_tells_grades_of_one_class_apart(tmp_path):
    lines = wine_lines()
    assert lines[0].endswith(";3")
    first = wine_quality.read([local(tmp_path, "a", *lines)])["train"]
    second = wine_quality.read([local(tmp_path, "b", lines[0][:-1] + "4", *lines[1:])])["train"]
    np.testing.assert_array_equal(first.labels, second.labels)
    assert first.fingerprint != second.fingerprint


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
