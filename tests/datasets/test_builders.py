"""The TFDS builders: what they say about themselves, downloads (faked) and interruptions."""

import dataclasses
import hashlib
import pickle
import shutil

import numpy as np
import promise
import pytest
import tensorflow_datasets as tfds
from raw_files import (
    MADE_UP,
    cifar10_batches,
    creditcard_lines,
    expect_made_up,
    replace_data_set,
    write_creditcard_fraud,
)
from tensorflow_datasets.core.download import checksums, downloader
from tensorflow_datasets.core.download.download_manager import NonMatchingChecksumError

from keras_softsets import datasets
from keras_softsets.datasets._catalog import CATALOG
from keras_softsets.datasets.builders import BUILDERS, CreditcardFraud


@pytest.fixture
def creditcard(tmp_path, monkeypatch):
    """Made-up creditcard files and the keyword arguments to load them."""
    expect_made_up(monkeypatch, "creditcard_fraud")
    (tmp_path / "raw").mkdir()
    write_creditcard_fraud(tmp_path / "raw")
    return {"name": "creditcard_fraud", "raw_dir": tmp_path / "raw", "data_dir": tmp_path / "prepared"}


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_info_states_description_citation_licence_and_homepage(name, tmp_path):
    info = BUILDERS[name](data_dir=tmp_path).info
    data_set = CATALOG[name]
    assert info.description.split() == data_set.about.split()
    assert len(info.description) > 40
    assert info.citation == data_set.citation
    assert info.citation.startswith("@")
    assert info.redistribution_info.license == data_set.facts.licence
    paper = "https://arxiv.org/abs/2009.01367"
    assert info.homepage == (paper if name.startswith("synthetic") else CATALOG[name].facts.source)
    assert str(info.version) == "1.0.0"
    assert info.release_notes


@pytest.mark.parametrize("name", sorted(set(BUILDERS) - {"cifar10_frog", "cifar10_transportation"}))
def test_tables_name_their_columns(name, tmp_path):
    builder = BUILDERS[name](data_dir=tmp_path)
    columns = builder.info.metadata["columns"]
    assert len(set(columns)) == len(columns) == CATALOG[name].facts.features
    assert builder.info.features["features"].shape == (CATALOG[name].facts.features,)


def test_tfds_load_knows_the_builders(creditcard):
    rows = tfds.load(
        "creditcard_fraud",
        split="train",
        data_dir=creditcard["data_dir"],
        builder_kwargs={"raw_dir": creditcard["raw_dir"]},
        as_supervised=True,
    )
    labels = [int(label) for _, label in rows]
    assert labels == [int(number % 5 == 0) for number in range(60)]


def test_wine_quality_has_the_grade_as_a_further_feature(tmp_path, monkeypatch):
    expect_made_up(monkeypatch, "wine_quality")
    MADE_UP["wine_quality"].write(tmp_path)
    rows, info = tfds.load(
        "wine_quality_white",
        split="train",
        data_dir=tmp_path / "prepared",
        builder_kwargs={"raw_dir": tmp_path},
        with_info=True,
    )
    pairs = [(int(row["quality"]), int(row["label"])) for row in rows]
    assert pairs == [(3, 0), (4, 0), (5, 1), (6, 2), (7, 3), (8, 4), (9, 4)] * 10
    names = [info.features["label"].int2str(label) for label in range(5)]
    assert names == ["quality 4 or less", "quality 5", "quality 6", "quality 7", "quality 8 or more"]


def test_builder_survives_pickling_with_its_raw_dir(creditcard):
    builder = CreditcardFraud(data_dir=creditcard["data_dir"], raw_dir=creditcard["raw_dir"])
    copy = pickle.loads(pickle.dumps(builder))
    assert copy.raw_dir == creditcard["raw_dir"]
    assert copy.data_dir == builder.data_dir


def interrupt(monkeypatch, error):
    """Makes the next preparation fail after ten examples."""
    generate = CreditcardFraud._generate_examples

    def failing(self, table):
        for row, example in generate(self, table):
            if row == 10:
                raise error
            yield row, example

    monkeypatch.setattr(CreditcardFraud, "_generate_examples", failing)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk full"), MemoryError()])
def test_an_interrupted_preparation_leaves_nothing_half_made(creditcard, error):
    with pytest.MonkeyPatch.context() as monkeypatch:
        interrupt(monkeypatch, error)
        with pytest.raises(type(error)):
            datasets.load(**creditcard)
    assert list((creditcard["data_dir"] / "creditcard_fraud").iterdir()) == []
    assert sum(len(y) for _, y in datasets.load(**creditcard)) == 60


def test_what_a_killed_preparation_left_is_not_read(creditcard):
    leftover = creditcard["data_dir"] / "creditcard_fraud" / "incomplete.ABC123_1.0.0"
    leftover.mkdir(parents=True)
    (leftover / "creditcard_fraud-train.tfrecord-00000-of-00001").write_bytes(b"half")
    assert sum(len(y) for _, y in datasets.load(**creditcard)) == 60


def test_two_preparations_at_once_end_with_one_result(creditcard, monkeypatch):
    """While one process generates, another one finishes first: the slower one reads what the other has made."""
    generate = CreditcardFraud._generate_examples
    calls = []

    def overtaken(self, table):
        calls.append(self)
        if len(calls) == 1:
            other = CreditcardFraud(data_dir=creditcard["data_dir"], raw_dir=creditcard["raw_dir"])
            other.download_and_prepare()
        yield from generate(self, table)

    monkeypatch.setattr(CreditcardFraud, "_generate_examples", overtaken)
    assert sum(len(y) for _, y in datasets.load(**creditcard)) == 60
    assert len(calls) == 2
    assert [path.name for path in (creditcard["data_dir"] / "creditcard_fraud").iterdir()] == ["1.0.0"]


def test_other_prepared_data_under_the_same_version_are_noticed(creditcard, monkeypatch):
    datasets.load(**creditcard)
    facts = CATALOG["creditcard_fraud"].facts
    replace_data_set(monkeypatch, "creditcard_fraud", facts=facts._replace(size=61))
    message = (
        r"^The prepared data in .*1\.0\.0 are damaged; delete the folder and load again: they must hold 61 samples"
    )
    with pytest.raises(ValueError, match=message):
        datasets.load(**creditcard)


@pytest.mark.parametrize("damage", [lambda b: b[:-7], lambda b: b[:99] + b"?" + b[100:], lambda b: b"", None])
def test_damaged_prepared_data_are_named(creditcard, damage):
    datasets.load(**creditcard)
    (records,) = creditcard["data_dir"].rglob("*.tfrecord*")
    records.unlink() if damage is None else records.write_bytes(damage(records.read_bytes()))
    with pytest.raises(
        ValueError, match=r"^The prepared data in .*1\.0\.0 are damaged; delete the folder and load again"
    ):
        datasets.load(**creditcard)


class Internet:
    """Stands in for TFDS's downloader: serves made-up content and remembers what was asked for."""

    def __init__(self, content):
        self.content, self.asked = content, []

    def download(self, _downloader, url, destination, verify=True):
        self.asked.append(url)
        path = destination / "file"
        path.write_bytes(self.content[url])
        return promise.Promise.resolve(downloader.DownloadResult(path=path, url_info=checksums.compute_url_info(path)))


@pytest.fixture
def internet(creditcard, monkeypatch):
    """The creditcard download with the digest of the made-up file."""
    content = (creditcard["raw_dir"] / "creditcard.csv").read_bytes()
    source = CreditcardFraud.data_set.source
    file = source.files[0]._replace(size=len(content), sha256=hashlib.sha256(content).hexdigest())
    replace_data_set(monkeypatch, "creditcard_fraud", source=dataclasses.replace(source, files=(file,)))
    info = checksums.UrlInfo(size=file.size, checksum=file.sha256, filename="creditcard.csv")
    monkeypatch.setattr(CreditcardFraud, "url_infos", {file.url: info})
    internet = Internet({file.url: content})
    monkeypatch.setattr(downloader._Downloader, "download", lambda *args, **kw: internet.download(*args, **kw))
    return internet


def test_without_raw_dir_the_official_file_is_downloaded(creditcard, internet, tmp_path):
    downloaded = datasets.load("creditcard_fraud", data_dir=tmp_path / "downloaded")
    assert internet.asked == ["https://storage.googleapis.com/download.tensorflow.org/data/creditcard.csv"]
    for (x, y), (x2, y2) in zip(downloaded, datasets.load(**creditcard), strict=True):
        np.testing.assert_array_equal(x, x2)
        np.testing.assert_array_equal(y, y2)
    datasets.load("creditcard_fraud", data_dir=tmp_path / "downloaded")
    assert len(internet.asked) == 1


def test_a_download_with_another_digest_is_refused(internet, tmp_path):
    (url,) = internet.content
    internet.content[url] = "\n".join(creditcard_lines()[:-1]).encode()
    with pytest.raises(NonMatchingChecksumError, match=r"creditcard\.csv.*has wrong checksum"):
        datasets.load("creditcard_fraud", data_dir=tmp_path / "downloaded")
    assert not (tmp_path / "downloaded" / "creditcard_fraud" / "1.0.0").exists()


def test_cifar10_is_built_on_tfds_own_builder(tmp_path, monkeypatch):
    """TFDS downloads and prepares its `cifar10`; the result is the same as from the batches on disk."""
    expect_made_up(monkeypatch, "cifar10_transportation")
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    MADE_UP["cifar10_transportation"].write(folder)
    names = "airplane automobile bird cat deer dog frog horse ship truck"
    (folder / "batches.meta.txt").write_text("\n".join(names.split()))
    asked = []
    cifar10 = tfds.builder_cls("cifar10")
    monkeypatch.setattr(cifar10, "url_infos", {})  # Found out with a package that TFDS 4.9.10 does not install.
    monkeypatch.setattr(
        tfds.download.DownloadManager, "download_and_extract", lambda self, url: asked.append(url) or tmp_path
    )
    downloaded = datasets.load("cifar10_transportation", data_dir=tmp_path / "downloaded")
    assert asked == ["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"]
    assert (tmp_path / "downloaded" / "cifar10").is_dir()
    shutil.rmtree(tmp_path / "downloaded" / "cifar10")
    from_disk = datasets.load("cifar10_transportation", raw_dir=tmp_path, data_dir=tmp_path / "from_disk")
    for (x, y), (x2, y2) in zip(downloaded, from_disk, strict=True):
        np.testing.assert_array_equal(x, x2)
        np.testing.assert_array_equal(y, y2)
    first_classes = np.frombuffer(cifar10_batches()["test_batch"], "uint8").reshape(-1, 3073)[:, 0]
    np.testing.assert_array_equal(downloaded.test[1], np.isin(first_classes, [0, 1, 8, 9]))
