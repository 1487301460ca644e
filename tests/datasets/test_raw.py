"""Raw files: where they are found, how they are compressed, and errors that name file and line."""

import gzip
import lzma

import numpy as np
import pytest
from raw_files import MADE_UP, expect_made_up

TABLES = [name for name in MADE_UP if not name.startswith("cifar10")]
COMPRESS = {".gz": gzip.compress, ".xz": lzma.compress}


def assert_same(first, second):
    for (x, y), (x2, y2) in zip(first, second, strict=True):
        np.testing.assert_array_equal(x, x2)
        np.testing.assert_array_equal(y, y2)


@pytest.mark.parametrize("name", sorted(MADE_UP))
def test_files_are_found_in_a_folder_of_their_own(raw, load, tmp_path, name):
    directory = raw(name, f"raw/{MADE_UP[name].folder}").parent
    labels = np.concatenate([y for _, y in load(name, raw_dir=directory)]).astype(int)
    assert len(labels) == MADE_UP[name].size
    counts = np.bincount(labels).tolist()
    assert MADE_UP[name].positives == (counts[1] if len(counts) == 2 else tuple(counts))


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize("name", [*TABLES, "cifar10_frog"])
def test_compressed_files_are_the_same_as_plain_ones(raw, load, tmp_path, name, suffix):
    directory = raw(name)
    plain = load(name, raw_dir=directory)
    for path in list(directory.iterdir()):
        path.with_name(path.name + suffix).write_bytes(COMPRESS[suffix](path.read_bytes()))
        path.unlink()
    assert_same(load(name, raw_dir=directory, data_dir=tmp_path / "again"), plain)


def test_environment_gives_the_raw_dir_and_the_argument_overrules_it(raw, load, tmp_path, monkeypatch):
    directory = raw("mammography")
    monkeypatch.setenv("KERAS_SOFTSETS_RAW_DIR", str(directory))
    first = load("mammography")
    monkeypatch.setenv("KERAS_SOFTSETS_RAW_DIR", str(tmp_path / "nowhere"))
    assert_same(load("mammography", raw_dir=directory, data_dir=tmp_path / "again"), first)
    with pytest.raises(
        FileNotFoundError, match=r"^The environment variable KERAS_SOFTSETS_RAW_DIR must be .*nowhere'$"
    ):
        load("mammography", data_dir=tmp_path / "third")
    with pytest.raises(FileNotFoundError, match=r"^`raw_dir` must be an existing folder\. Received: .*missing'$"):
        load("mammography", raw_dir=tmp_path / "missing", data_dir=tmp_path / "third")


def test_prepared_data_need_no_raw_files(raw, load):
    directory = raw("mammography")
    first = load("mammography", raw_dir=directory)
    (directory / "mammography.csv").unlink()
    assert_same(load("mammography", raw_dir=directory), first)


@pytest.mark.parametrize(
    ("name", "file", "otherwise"),
    [
        ("adult", "adult.test", "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test"),
        (
            "creditcard_fraud",
            "creditcard.csv",
            "https://storage.googleapis.com/download.tensorflow.org/data/creditcard.csv",
        ),
        ("letter", "letter-recognition.data", "https://archive.ics.uci.edu/ml/machine-learning-databases/letter-rec"),
        ("mammography", "mammography.csv", "https://www.openml.org/data/download/52214/phpn1jVwe"),
        (
            "spambase",
            "spambase.data",
            "https://archive.ics.uci.edu/ml/machine-learning-databases/spambase/spambase.data",
        ),
        (
            "wine_quality",
            "winequality-white.csv",
            "https://archive.ics.uci.edu/ml/machine-learning-databases/wine-qual",
        ),
        ("cocktail_party", "grouping.ref", "https://tev.fbk.eu/"),
        ("cifar10_frog", "data_batch_1.bin", "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"),
        ("cifar10_frog", "data_batch_3.bin", "beside the other files of CIFAR-10"),
    ],
)
def test_a_missing_file_says_what_is_expected_where(raw, load, name, file, otherwise):
    directory = raw(name)
    (directory / file).unlink()
    with pytest.raises(FileNotFoundError) as error:
        load(name, raw_dir=directory)
    message = str(error.value)
    assert file in message
    assert f"must be in {directory} or in {directory / MADE_UP[name].folder}" in message
    assert otherwise in message


def test_cocktail_party_says_where_to_get_it_and_where_to_put_it(load, monkeypatch):
    monkeypatch.delenv("KERAS_SOFTSETS_RAW_DIR", raising=False)
    with pytest.raises(FileNotFoundError) as error:
        load("cocktail_party")
    for expected in ("`raw_dir`", "KERAS_SOFTSETS_RAW_DIR", "tracking_hp.log", "grouping.ref", "https://tev.fbk.eu/"):
        assert expected in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"attr1,attr2,attr3,attr4,attr5,attr6,class\n\xff\xfe", r"line 2: must be UTF-8 text, received b'\\xff'\.$"),
        (b"attr1,attr2,attr3,attr4,attr5,attr6,class\n" + b"1" * 70_000, r"line 2: must be shorter than 65,536 bytes"),
        (b"", r"must hold 100 samples, 25 of them positive, received 0 and 0\.$"),
    ],
)
def test_binary_endless_and_empty_files_are_refused(raw, load, content, message):
    directory = raw("mammography")
    (directory / "mammography.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load("mammography", raw_dir=directory)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize("damage", [lambda content: content[:-20], lambda content: b"not compressed at all"])
def test_a_damaged_archive_is_named(raw, load, suffix, damage):
    directory = raw("mammography")
    plain = directory / "mammography.csv"
    path = directory / f"mammography.csv{suffix}"
    path.write_bytes(damage(COMPRESS[suffix](plain.read_bytes())))
    plain.unlink()
    with pytest.raises(ValueError, match=r"; get the published file from https://www\.openml\.org/.*\.$") as error:
        load("mammography", raw_dir=directory)
    assert str(error.value).startswith(f"{path} cannot be read because it is damaged or truncated: ")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("adult", r"adult\.data must have the sha256 5b00264637db.*, received [0-9a-f]{64}; get .* from https://.*\.$"),
        (
            "creditcard_fraud",
            r"creditcard\.csv must have the sha256 76274b691b16.*, received [0-9a-f]{64}; get .* from https://.*\.$",
        ),
        ("letter", r"letter-recognition\.data must have the sha256 2b89f3602c.*, received [0-9a-f]{64}; get .*\.$"),
        ("spambase", r"^The numbers in the raw files of spambase must have the sha256 ac5f1044.*, received"),
        ("wine_quality", r"^The numbers in the raw files of wine_quality must have the sha256 fe4d32a2.*, received"),
        ("mammography", r"^The numbers in the raw files of mammography must have the sha256 8660fe33.*, received"),
        (
            "cocktail_party",
            r"^The numbers in the raw files of cocktail_party must have the sha256 c7fe84a5.*, received",
        ),
        (
            "cifar10_frog",
            r"data_batch_1\.bin must give data_batch_1 with the sha1 aadd24ac.*, received [0-9a-f]{40}\.$",
        ),
    ],
)
def test_content_other_than_the_published_one_is_refused(tmp_path, monkeypatch, load, name, message):
    expect_made_up(monkeypatch, name, files=False)
    MADE_UP[name].write(tmp_path)
    with pytest.raises(ValueError, match=message):
        load(name, raw_dir=tmp_path)
    assert not (tmp_path / "prepared" / name / "1.0.0").exists()


@pytest.mark.parametrize(
    ("name", "file", "message"),
    [
        ("mammography", "mammography.csv", "100 samples, 25 of them positive, received 99 and 25."),
        (
            "wine_quality",
            "winequality-white.csv",
            "70 samples, 20 10 10 10 20 of the classes in turn, received 69 and 20 10 10 10 19.",
        ),
    ],
)
def test_other_counts_than_the_published_ones_are_refused(raw, load, name, file, message):
    directory = raw(name)
    path = directory / file
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    with pytest.raises(ValueError) as error:
        load(name, raw_dir=directory)
    assert str(error.value) == f"The raw files of {name} must hold {message}"
