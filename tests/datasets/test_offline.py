"""Without a network: data that come with the package load, and for others one sentence says at once what is missing."""

import hashlib
import io
import lzma
import socket

import numpy as np
import promise
import pytest
import requests
from raw_files import MADE_UP
from tensorflow_datasets.core.download import checksums, downloader

from keras_softsets import datasets
from keras_softsets.datasets._catalog import CATALOG
from keras_softsets.datasets._data_set import TableSource
from keras_softsets.datasets._files import SHIPPED


@pytest.fixture(autouse=True)
def no_raw_dir(monkeypatch):
    monkeypatch.delenv("KERAS_SOFTSETS_RAW_DIR", raising=False)


def refused(name, tmp_path):
    with pytest.raises(ConnectionError) as caught:
        datasets.load(name, data_dir=tmp_path / "prepared")
    assert type(caught.value) is ConnectionError
    assert caught.value.__suppress_context__  # else the traceback of `requests` comes first
    assert not list((tmp_path / "prepared").rglob("1.0.0"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        (
            "mammography",
            "get mammography.csv or mammography.arff or phpn1jVwe.arff or phpn1jVwe from "
            "https://www.openml.org/data/download/52214/phpn1jVwe, ",
        ),
        ("adult", "/adult/adult.data and adult.test from https://archive.ics.uci.edu/"),
        ("cifar10_frog", "cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"),
    ],
)
def test_without_a_network_the_official_files_and_raw_dir_are_named_after_three_tries(
    tmp_path, monkeypatch, name, files
):
    asked = []

    def unknown(host, *_, **__):
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    message = refused(name, tmp_path)
    start = f"The official files of {name} could not be downloaded (no connection, ConnectionError): get "
    assert message.startswith(start)
    assert message.endswith(", and pass the folder as `raw_dir` or name it in KERAS_SOFTSETS_RAW_DIR.")
    assert files in message
    assert len(message) < 400
    tries = sum(host in files for host in asked)  # a thread of another data set may still be asking
    assert 1 <= tries <= (6 if name == "adult" else 3)  # two files


def test_a_silent_server_is_waited_for_ten_seconds_and_a_refusal_is_quoted(tmp_path, monkeypatch):
    waited = []

    def silent(session, url, timeout=None, **_):
        waited.append(timeout)
        raise requests.exceptions.ConnectTimeout

    monkeypatch.setattr(requests.Session, "get", silent)
    assert "(no connection, ConnectTimeout)" in refused("mammography", tmp_path)
    assert waited == [10.0]

    def gone(session, url, **_):
        response = requests.Response()
        response.status_code, response.url, response.raw = 404, url, io.BytesIO()
        return response

    monkeypatch.setattr(requests.Session, "get", gone)
    quoted = "(Failed to get url https://www.openml.org/data/download/52214/phpn1jVwe. HTTP code: 404)"
    assert quoted in refused("mammography", tmp_path)
    assert downloader.MAX_RETRIES == 10  # TFDS is as patient as before with its own data sets


def test_only_a_download_is_announced(raw, load, tmp_path, monkeypatch, capfd):
    for name in ("synthetic_05", "wine_quality"):
        load(name)
    load("mammography", raw_dir=raw("mammography"))
    said = capfd.readouterr()
    assert said.out == ""
    assert "Downloading" not in said.err
    prepared = tmp_path / "prepared"
    for name in ("synthetic_05", "wine_quality_white", "mammography"):
        assert f"Preparing {name} in {prepared / name / '1.0.0'} ...\n" in said.err

    def serve(_downloader, url, destination, verify=True):
        MADE_UP["mammography"].write(destination)
        path = destination / "mammography.csv"
        return promise.Promise.resolve(downloader.DownloadResult(path=path, url_info=checksums.compute_url_info(path)))

    monkeypatch.setattr(downloader._Downloader, "download", serve)
    load("mammography", data_dir=tmp_path / "downloaded")
    assert "Downloading and preparing dataset" in capfd.readouterr().err


def test_files_without_a_download_are_asked_for_in_one_traceback(tmp_path, capfd):
    with pytest.raises(FileNotFoundError, match=r"^`raw_dir` or KERAS_SOFTSETS_RAW_DIR must be set: get ") as caught:
        datasets.load("cocktail_party", data_dir=tmp_path)
    assert caught.value.__suppress_context__
    assert "Downloading" not in capfd.readouterr().err


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
