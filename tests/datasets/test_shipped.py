"""Data that come with the package: the official bytes, licence beside them, no download and no `raw_dir`."""

import hashlib
import lzma

import numpy as np
import pytest
from tensorflow_datasets.core.download import downloader

from keras_softsets import datasets
from keras_softsets.datasets._catalog import CATALOG
from keras_softsets.datasets._files import SHIPPED
from keras_softsets.datasets._tables import TableSource

TABLES = {name: data_set for name, data_set in CATALOG.items() if isinstance(data_set.source, TableSource)}
FILES = [(name, file) for name, data_set in TABLES.items() for file in data_set.source.files if file.shipped]


def test_only_wine_is_shipped():
    assert [name for name, _ in FILES] == ["wine_quality"]
    assert sorted(path.name for path in SHIPPED.iterdir()) == ["winequality-white.csv.xz", "winequality-white.txt"]


@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_shipped_file_is_the_official_one_with_its_licence(name, file):
    content = lzma.decompress((SHIPPED / f"{file.names[0]}.xz").read_bytes())
    assert (len(content), hashlib.sha256(content).hexdigest()) == (file.size, file.sha256)
    notice = (SHIPPED / file.names[0]).with_suffix(".txt").read_text()
    for fact in (file.sha256, CATALOG[name].facts.source, CATALOG[name].facts.licence, "doi.org/10.24432/C56S3T"):
        assert fact in notice


def test_wine_needs_neither_download_nor_raw_files(tmp_path, monkeypatch):
    def offline(*_, **__):
        raise ConnectionError("nothing may be downloaded")

    monkeypatch.setattr(downloader._Downloader, "download", offline)
    monkeypatch.setenv("KERAS_SOFTSETS_RAW_DIR", str(tmp_path))  # a folder without this file
    splits = datasets.load("wine_quality", data_dir=tmp_path / "prepared")
    labels = np.concatenate([y for _, y in splits])
    assert np.bincount(labels).tolist() == [183, 1_457, 2_198, 880, 180]
    assert splits.train[0].shape == (3_134, 11)
    with pytest.raises(FileNotFoundError, match=r"^winequality-white\.csv .* must be in "):
        datasets.load("wine_quality", raw_dir=tmp_path, data_dir=tmp_path / "again")
