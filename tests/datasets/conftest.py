"""Made-up raw files, and a `load` that keeps what it prepares to itself."""

import functools

import pytest
from raw_files import MADE_UP, expect_made_up

from keras_softsets import datasets


@pytest.fixture
def raw(tmp_path, monkeypatch):
    """Returns a function that writes the made-up raw files of a data set and gives their folder."""

    def write(name, folder="raw"):
        expect_made_up(monkeypatch, name)
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        MADE_UP[name].write(tmp_path / folder)
        return tmp_path / folder

    return write


@pytest.fixture
def load(tmp_path):
    return functools.partial(datasets.load, data_dir=tmp_path / "prepared")
