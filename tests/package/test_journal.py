"""The journal of callbacks: what is kept, what is refused and how it is said, without any training."""

import json
import os
import re

import numpy as np
import pytest

from keras_softsets.callbacks._journal import Journal

ENTRIES = {"name": lambda value: isinstance(value, str), "best": lambda value: type(value) is int}
ARRAYS = [np.arange(6, dtype="float32").reshape(2, 3), np.array(7, "int64")]


def journal(folder, key="", **arguments):
    return Journal(folder, "diary", key, entries=ENTRIES, **{"arrays_entry": "best", **arguments})


def state(best=2):
    return {"name": "x", "best": best}


def written(folder, key=""):
    """Saves a state before epoch 3 with arrays of epoch 2."""
    journal(folder, key).save(3, state(), ARRAYS)
    return folder / (f"diary.{key}.3.json" if key else "diary.3.json")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_states_and_arrays_come_back(tmp_path):
    written(tmp_path / "new" / "folder")
    again = journal(tmp_path / "new" / "folder")
    assert again.epochs() == [3]
    assert again.resume(3) == state()
    for array, expected in zip(again.arrays(state(), like=ARRAYS), ARRAYS, strict=True):
        np.testing.assert_array_equal(array, expected, strict=True)
    again.delete()
    assert not (tmp_path / "new" / "folder").exists()


def test_two_states_are_kept_with_their_arrays(tmp_path):
    book = journal(tmp_path)
    for epoch, (best, arrays) in enumerate([(0, ARRAYS), (0, None), (2, ARRAYS), (2, None), (2, None)], start=1):
        book.save(epoch, state(best), arrays)
        assert book.epochs() == [e for e in (epoch - 1, epoch) if e]
        bests = {json.loads((tmp_path / f"diary.{e}.json").read_text())["best"] for e in book.epochs()}
        assert {name for name in names(tmp_path) if name.endswith("npz")} == {f"diary.{b}.npz" for b in bests}


def test_a_journal_without_arrays_beside_another(tmp_path):
    schedule = Journal(tmp_path, "schedule", entries={"weight": lambda value: type(value) is float})
    for epoch in range(4):
        schedule.save(epoch, {"weight": epoch / 4})
        journal(tmp_path).save(epoch, state(0), ARRAYS if epoch == 0 else None)
    assert names(tmp_path) == ["diary.0.npz", "diary.2.json", "diary.3.json", "schedule.2.json", "schedule.3.json"]
    assert schedule.resume(2) == {"weight": 0.5}
    schedule.delete()
    assert names(tmp_path) == ["diary.0.npz", "diary.2.json", "diary.3.json"]
    assert journal(tmp_path).epochs_of_others() == set()


def test_without_a_folder_nothing_is_kept():
    book = journal(None)
    book.save(1, state(), ARRAYS)
    assert (book.epochs(), book.epochs_of_others(), book.shared()) == ([], set(), False)


KEYS = ["loss", "val_loss", "val.loss", "val/loss", "val_loss.3", "3", "[a-z]*", "Ü loss", "..", ""]


def test_keys_of_all_kinds_share_a_folder(tmp_path):
    for epoch in (3, 4):
        for index, key in enumerate(KEYS):
            arrays = [np.array(float(index))] if epoch == 3 else None
            journal(tmp_path, key).save(epoch, {"name": key, "best": 2}, arrays)
    assert len(names(tmp_path)) == 3 * len(KEYS)
    for index, key in enumerate(KEYS):
        book = journal(tmp_path, key)
        assert book.epochs() == [3, 4]
        assert book.resume(4)["name"] == key
        assert book.arrays(state(), like=[np.array(0.0)])[0] == index
        assert book.epochs_of_others() == ({3, 4} if key != KEYS[-1] else set())
        book.delete()
        assert len(names(tmp_path) if tmp_path.exists() else []) == 3 * (len(KEYS) - 1 - index)


def test_resuming_drops_the_future(tmp_path):
    book = journal(tmp_path)
    book.save(3, state(), ARRAYS)
    book.save(4, state())
    journal(tmp_path).resume(3)
    book = journal(tmp_path)
    book.save(4, {"name": "again", "best": 2})
    assert book.resume(4)["name"] == "again"


def test_a_file_gets_its_name_only_when_it_is_whole(tmp_path, monkeypatch):
    def killed(source, target):
        raise KeyboardInterrupt

    written(tmp_path)
    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        journal(tmp_path).save(4, state())
    assert names(tmp_path) == ["diary.2.npz", "diary.3.json", "diary.4.json.tmp"]


def test_two_writers_of_the_same_files_are_noticed(tmp_path):
    written(tmp_path)
    with pytest.raises(ValueError, match=r"must not be shared by two callbacks.*written 'diary.3.json'"):
        written(tmp_path)


def test_a_state_that_is_missing(tmp_path):
    written(tmp_path)
    with pytest.raises(ValueError, match=r"before epoch 6, where training starts, but holds those before epochs \[4\]"):
        journal(tmp_path).resume(5)


def replaced_by_folder(path):
    path.unlink()
    path.mkdir()


def replaced_by_loop(path):  # unreadable also for root, which may read everything else
    path.unlink()
    path.symlink_to(path)


def content(data):
    return lambda path: path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (content(b""), r"is not JSON \(Expecting value"),
        (content(b'{"name": "x", "be'), r"is not JSON \("),
        (content(b"\xff\xfe\x00\x01\x02"), r"is not JSON \("),
        (content(b"[" * 100_000), r"is not JSON \("),
        (content(b"[]"), "holds a list instead of a dictionary"),
        (content(b"null"), "holds a NoneType instead of a dictionary"),
        (content(b"{}"), "has nothing for 'name'"),
        (content(b'{"name": "x"}'), "has nothing for 'best'"),
        (content(b'{"name": 1, "best": 2}'), "has 1 for 'name'"),
        (content(b'{"name": "x", "best": "2"}'), "has '2' for 'best'"),
        (replaced_by_folder, r"cannot be read \(Is a directory\)"),
        (replaced_by_loop, r"cannot be read \(Too many levels"),
    ],
)
@pytest.mark.parametrize("key", ["", "val_loss"])
def test_damaged_states(tmp_path, damage, why, key):
    path = written(tmp_path, key)
    damage(path)
    start = re.escape(path.name.removesuffix(".3.json"))
    message = rf"`backup_dir` must hold .* but '{start}.3.json' {why}.*remove {start}\.\* to .*Received: backup_dir='"
    with pytest.raises(ValueError, match=message):
        journal(tmp_path, key).resume(3)
    for file in tmp_path.glob(f"{path.name.removesuffix('.3.json')}.*"):  # the remedy that the message names
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
    assert journal(tmp_path, key).epochs() == []


def savez(*arrays, **named):
    def damage(path):
        with path.open("wb") as file:
            np.savez(file, *arrays, **named)

    return damage


def save_one(path):
    with path.open("wb") as file:
        np.save(file, ARRAYS[0])


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (content(b""), r"is not a file of arrays \("),
        (content(b"PK\x03\x04 and no more"), r"is not a file of arrays \("),
        (content(b'{"name": "x"}'), r"is not a file of arrays \("),
        (save_one, r"is not a file of arrays \("),
        (savez(np.array([{}], dtype=object), ARRAYS[1]), r"is not a file of arrays \(Object arrays"),
        (savez(ARRAYS[0]), r"is of another model, with \['float32\[2, 3\]'\] instead of \['float32\[2, 3\]', 'int64"),
        (savez(*ARRAYS, ARRAYS[0]), "is of another model"),
        (savez(*reversed(ARRAYS)), "is of another model"),
        (savez(ARRAYS[0].T, ARRAYS[1]), "is of another model"),
        (savez(ARRAYS[0].astype("float64"), ARRAYS[1]), r"is of another model, with \['float64"),
        (savez(ARRAYS[0].view("int32"), ARRAYS[1]), "is of another model"),
        (savez(kernel=ARRAYS[0], bias=ARRAYS[1]), r"is not a file of arrays \("),
        (replaced_by_folder, r"cannot be read \(Is a directory\)"),
        (replaced_by_loop, r"cannot be read \(Too many levels"),
        (lambda path: path.unlink(), r"cannot be read \(No such file"),
    ],
)
def test_damaged_arrays(tmp_path, damage, why):
    written(tmp_path)
    damage(tmp_path / "diary.2.npz")
    message = rf"`backup_dir` must hold .* but 'diary.2.npz' {why}.*remove diary\.\* to .*Received: backup_dir='"
    with pytest.raises(ValueError, match=message):
        journal(tmp_path).arrays(journal(tmp_path).resume(3), like=ARRAYS)


@pytest.mark.parametrize("name", ["diary.3.json", "diary.2.npz"])
def test_every_cut_and_every_flipped_bit_is_a_clear_error_or_harmless(tmp_path, name):
    written(tmp_path)
    whole = (tmp_path / name).read_bytes()
    cuts = [whole[:length] for length in range(len(whole))]
    flips = [whole[:i] + bytes([byte ^ 1 << bit]) + whole[i + 1 :] for i, byte in enumerate(whole) for bit in range(8)]
    messages = []
    for damaged in cuts + flips:
        (tmp_path / name).write_bytes(damaged)
        try:
            arrays = journal(tmp_path).arrays(journal(tmp_path).resume(3), like=ARRAYS)
        except ValueError as error:
            messages.append(str(error))
        else:
            np.testing.assert_array_equal(arrays[0], ARRAYS[0])
    assert len(messages) >= len(cuts)
    assert all(re.search(r"'diary\.\d+\.(json|npz)'", message) for message in messages)


def test_bfloat16_is_known_by_its_size(tmp_path):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    arrays = [np.array([1.5, -2.0]).astype(bfloat16)]
    journal(tmp_path).save(3, state(), arrays)
    (array,) = journal(tmp_path).arrays(state(), like=arrays)
    assert array.dtype == bfloat16
    assert array.astype("float32").tolist() == [1.5, -2.0]
    with pytest.raises(ValueError, match=r"'diary.2.npz' is of another model"):
        journal(tmp_path).arrays(state(), like=[np.zeros(2, "float16")])


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match=r"`backup_dir` must be a folder, but is a file.*backup_dir='.*file'"):
        journal(tmp_path / "file")


def test_files_of_an_earlier_name_are_taken_over(tmp_path, monkeypatch):
    """Killed before any of the renames, the next process completes them."""
    rename, steps = os.replace, 3
    for killed_at in range(steps + 1):
        folder = tmp_path / str(killed_at)
        written(folder)
        journal(folder).save(4, state())
        (folder / "diary.5.json.tmp").write_text("half")
        left = iter([True] * killed_at)

        def rename_or_die(source, target, left=left):
            if not next(left, False):
                raise KeyboardInterrupt
            rename(source, target)

        monkeypatch.setattr(os, "replace", rename_or_die)
        if killed_at < steps:
            with pytest.raises(KeyboardInterrupt):
                journal(folder, "x").take_over(journal(folder), lambda found: found["name"] == "x")
        monkeypatch.setattr(os, "replace", rename)
        journal(folder, "x").take_over(journal(folder), lambda found: found["name"] == "x")
        assert names(folder) == ["diary.x.2.npz", "diary.x.3.json", "diary.x.4.json"]


def test_files_of_an_earlier_name_that_are_of_others_stay(tmp_path):
    written(tmp_path)
    journal(tmp_path, "y").take_over(journal(tmp_path), lambda found: found["name"] == "y")
    assert names(tmp_path) == ["diary.2.npz", "diary.3.json"]
    assert journal(tmp_path, "y").epochs_of_others() == {3}
