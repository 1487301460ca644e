"""Versions that a server can trust: whole, numbered, never overwritten, also by several exports at the same time."""

import json
import stat

import numpy as np
import processes
import pytest
import tensorflow as tf
from exported_models import SCRIPTS, functional, served

from keras_softsets.export import _export as export
from keras_softsets.export import _files, export_classifier


@pytest.fixture(scope="module")
def children(tmp_path_factory):
    folder = tmp_path_factory.mktemp("children")
    versions = json.loads(processes.run_well(SCRIPTS / "export_in_children.py", folder).splitlines()[-1])
    return folder, versions


def test_concurrent_exports_do_not_collide(children):
    folder, versions = children
    assert sorted(v for own in versions for v in own) == list(range(1, 10))
    assert sorted(path.name for path in (folder / "shared").iterdir()) == [str(v) for v in range(1, 10)]
    for child, own in enumerate(versions):
        assert own == sorted(own)
        for version in own:  # each version is whole, and the one that its child wrote
            probability = served(folder / "shared" / str(version), x=tf.zeros((1, 2)))["probability"]
            np.testing.assert_allclose(probability, [[1 / (1 + np.exp(-child))]], atol=1e-6)


@pytest.mark.processes
def test_killed_export_leaves_no_version(children):
    folder, _ = children
    (left,) = (folder / "killed").iterdir()
    assert left.name.startswith(".export-")
    assert (left / "model" / "saved_model.pb").exists()  # it was killed late, with everything written
    assert export_classifier(functional()[0], folder / "killed").name == "1"


@pytest.mark.parametrize("version", ["1", "2"])  # exported directly, and saved, loaded and exported
def test_model_of_a_strategy(children, version):
    folder, _ = children
    with np.load(folder / "strategy.npz") as file:
        answer = served(folder / "strategy" / version, features=file["features"])
        np.testing.assert_allclose(answer["probability"], file["expected"], rtol=0, atol=1e-6)
        np.testing.assert_array_equal(answer["label"], file["expected"] >= 0.5)


def test_versions_count_on_and_are_never_overwritten(tmp_path):
    model = functional()[0]
    (tmp_path / "notes").mkdir()
    (tmp_path / "7").mkdir()
    assert export_classifier(model, str(tmp_path)) == tmp_path / "8"
    assert export_classifier(model, tmp_path, version=3) == tmp_path / "3"
    before = (tmp_path / "3" / "saved_model.pb").stat().st_mtime_ns
    for version in (3, 7):
        with pytest.raises(FileExistsError, match=f"`version` must be new.*Received: version={version}"):
            export_classifier(model, tmp_path, version=version)
    assert export_classifier(model, tmp_path) == tmp_path / "9"
    assert (tmp_path / "3" / "saved_model.pb").stat().st_mtime_ns == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "7", "8", "9", "notes"]


def test_names_that_no_server_reads_do_not_count(tmp_path):
    """TF Serving passes over numbers that do not fit into int64; one more than these would never be served."""
    for name in ("99999999999999999999", "9223372036854775808", "0" * 30 + "4", "7a", "-8"):
        (tmp_path / name).mkdir()
    assert export_classifier(functional()[0], tmp_path).name == "5"


def test_no_version_after_the_highest(tmp_path):
    (tmp_path / "9223372036854775807").mkdir()
    with pytest.raises(
        ValueError, match=r"`version` must be given, because .* has version 9223372036854775807 already"
    ):
        export_classifier(functional()[0], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["9223372036854775807"]
    assert export_classifier(functional()[0], tmp_path, version=2).name == "2"


def test_a_version_taken_in_the_last_moment(tmp_path, monkeypatch):
    finished = [tmp_path / "a", tmp_path / "b"]
    for folder in finished:
        folder.mkdir()
        (folder / "saved_model.pb").write_text(folder.name)
    seen = iter([set(), set(), {1}])  # the second export looks before the first has renamed
    monkeypatch.setattr(_files, "_versions", lambda folder: next(seen))
    assert [_files.publish(folder, tmp_path, None).name for folder in finished] == ["1", "2"]
    finished[0].mkdir()
    (finished[0] / "saved_model.pb").write_text("c")
    with pytest.raises(FileExistsError, match=r"`version` must be new.*Received: version=2"):
        _files.publish(finished[0], tmp_path, 2)
    assert (tmp_path / "2" / "saved_model.pb").read_text() == "b"


def test_failed_export_leaves_nothing(tmp_path, monkeypatch):
    def full_disk(folder):
        raise OSError("No space left on device")

    monkeypatch.setattr(export, "flush", full_disk)
    with pytest.raises(OSError, match="No space left"):
        export_classifier(functional()[0], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_others_may_read_the_version(tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    version = export_classifier(functional()[0], tmp_path)
    assert stat.S_IMODE(version.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
