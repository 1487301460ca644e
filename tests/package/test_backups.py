"""WindowedEarlyStopping and its files: training runs that are killed and resumed, shared folders, damaged files."""

import contextlib
import json
import os
import pathlib

import keras
import numpy as np
import processes
import pytest
from small_trainings import FakeModel, Interrupt, play, small_fit, small_model

from keras_softsets.callbacks import WindowedEarlyStopping

SCRIPT = pathlib.Path(__file__).parents[1] / "scripts" / "train_killed.py"


@pytest.mark.processes
def test_killed_training_ends_as_if_it_had_not_been_killed(tmp_path):
    kills = [
        "0:writing",
        "0:before/epoch_begin",
        "0:before/epoch_end",
        "1:between/epoch_end",
        "2:after/epoch_end",
        "3:after/batch",
        "5:writing",  # the best weights
        "5:between/epoch_end",  # a new best that BackupAndRestore has not seen
        "6:between/epoch_end",
        "6:writing",
        "8:before/epoch_begin",
        "9:between/epoch_end",  # after the decision to stop
        "9:after/epoch_end",
        "-1:before/train_end",
    ]
    whole, killed = json.loads(processes.run_well(SCRIPT, tmp_path, *kills).splitlines()[-1])
    assert killed == whole  # epochs, value, weights to the last bit, and nothing left behind
    assert (whole["stopped_epoch"], whole["best_epoch"]) == (9, 5)  # else the kills have missed their points
    assert whole["left_behind"] == []


def interrupted_fit(tmp_path, epoch, make_model=small_model, epochs=30, **arguments):
    """Interrupts training after an epoch and completes it with a new model and new callbacks, in one folder."""
    for interrupts in ([Interrupt(epoch)], []):
        model = make_model()
        callback = WindowedEarlyStopping(backup_dir=tmp_path / "b", **arguments)
        try:
            small_fit(model, callback, keras.callbacks.BackupAndRestore(tmp_path / "b"), *interrupts, epochs=epochs)
        except KeyboardInterrupt:
            continue
    return model, callback


@pytest.mark.parametrize("restore", [True, False])
def test_interrupted_after_the_decision_to_stop(tmp_path, restore):
    whole = small_model()
    expected = WindowedEarlyStopping(window=3, restore_best_weights=restore)
    small_fit(whole, expected)
    assert expected.stopped_epoch > expected.best_epoch
    model, callback = interrupted_fit(tmp_path, expected.stopped_epoch, window=3, restore_best_weights=restore)
    assert (callback.stopped_epoch, callback.best) == (expected.stopped_epoch, expected.best)
    assert model.history.epoch == [expected.stopped_epoch + 1]  # Keras must begin one, but there is no second
    np.testing.assert_array_equal(model.get_weights()[0], whole.get_weights()[0])
    assert not (tmp_path / "b").exists()


class InterruptAtTheEnd(keras.callbacks.Callback):
    def on_train_end(self, logs=None):
        raise KeyboardInterrupt


@pytest.mark.parametrize("window", [3, 20])  # stopped early, or after all epochs
def test_interrupted_between_the_ends_of_both_callbacks(tmp_path, window):
    whole = small_model()
    expected = WindowedEarlyStopping(window=window)
    small_fit(whole, expected, epochs=12)
    for interrupts in ([InterruptAtTheEnd()], []):
        model, callback = small_model(), WindowedEarlyStopping(window=window, backup_dir=tmp_path / "b")
        backup = keras.callbacks.BackupAndRestore(tmp_path / "b", double_checkpoint=True)
        with contextlib.suppress(KeyboardInterrupt):
            small_fit(model, callback, *interrupts, backup, epochs=12)
    state = [(c.stopped_epoch, c.best_epoch, c.best) for c in (callback, expected)]
    assert state[0] == state[1]
    np.testing.assert_array_equal(model.get_weights()[0], whole.get_weights()[0])
    assert not (tmp_path / "b").exists()


def test_interrupted_after_the_last_epoch(tmp_path):
    whole = small_model()
    expected = WindowedEarlyStopping(window=20)
    small_fit(whole, expected, epochs=6)
    assert expected.best_epoch < 5
    model, callback = interrupted_fit(tmp_path, 5, window=20, epochs=6)
    assert (callback.best_epoch, callback.best) == (expected.best_epoch, expected.best)
    np.testing.assert_array_equal(model.get_weights()[0], whole.get_weights()[0])


def test_bfloat16_weights_survive(tmp_path):
    whole = small_model("bfloat16")
    expected = WindowedEarlyStopping(window=3)
    small_fit(whole, expected)
    late = expected.stopped_epoch - 1
    assert expected.best_epoch < late  # so that the best weights come out of the file
    model, callback = interrupted_fit(tmp_path, late, lambda: small_model("bfloat16"), window=3)
    assert callback.best == expected.best
    np.testing.assert_array_equal(model.get_weights()[0].astype("float32"), whole.get_weights()[0].astype("float32"))


def test_files_of_old_epochs_are_removed(tmp_path):
    callback = WindowedEarlyStopping(window=9, backup_dir=tmp_path)
    callback.set_model(FakeModel())
    callback.on_train_begin()
    callback.on_epoch_begin(0)
    for epoch, value in enumerate([3.0, 2.0, 4.0, 1.0, 5.0]):
        callback.on_epoch_end(epoch, {"val_loss": value})
    names = {path.name.removeprefix("windowed_early_stopping.") for path in tmp_path.iterdir()}
    assert names == {"val_loss.4.json", "val_loss.5.json", "val_loss.3.npz"}


def test_a_lost_state_is_reported(tmp_path):
    callback = WindowedEarlyStopping(backup_dir=tmp_path)
    callback.set_model(FakeModel())
    callback.on_train_begin()
    callback.on_epoch_begin(0)  # then killed after BackupAndRestore has saved epoch 0, but before this callback has
    again = WindowedEarlyStopping(backup_dir=tmp_path)
    again.set_model(FakeModel())
    again.on_train_begin()
    with pytest.raises(ValueError, match=r"before epoch 2, where training starts, but holds those before epochs \[1\]"):
        again.on_epoch_begin(1)


def begun(callback, epoch=0):
    """Starts training with a callback at an epoch, and returns the callback."""
    callback.set_model(FakeModel())
    callback.on_train_begin()
    callback.on_epoch_begin(epoch)
    return callback


def test_a_monitor_that_the_training_did_not_begin_with_is_refused(tmp_path):
    begun(WindowedEarlyStopping(backup_dir=tmp_path)).on_epoch_end(0, {"val_loss": 1.0})
    with pytest.raises(
        ValueError, match=r"same monitor, but holds only those of others.*Received: monitor='loss', bac"
    ):
        begun(WindowedEarlyStopping("loss", backup_dir=tmp_path), epoch=1)
    assert begun(WindowedEarlyStopping(backup_dir=tmp_path), epoch=1).best == 1.0


def test_a_renamed_state_of_another_monitor_is_refused(tmp_path):
    begun(WindowedEarlyStopping(backup_dir=tmp_path))
    (tmp_path / "windowed_early_stopping.val_loss.0.json").rename(tmp_path / "windowed_early_stopping.loss.0.json")
    with pytest.raises(ValueError, match=r"same monitor, but holds 'val_loss'. Received: monitor='loss'"):
        begun(WindowedEarlyStopping("loss", backup_dir=tmp_path))


def test_the_same_monitor_twice_in_a_folder_is_refused(tmp_path):
    twice = [WindowedEarlyStopping(window=window, backup_dir=tmp_path) for window in (2, 5)]
    with pytest.raises(ValueError, match=r"must not be shared by two callbacks that write the same.*val_loss.1.json'"):
        small_fit(small_model(), *twice)


def two_monitors(folder=None):
    """The second callback stops the training; the first one sees each of its epochs, and no other."""
    watching = WindowedEarlyStopping("loss", window=20, restore_best_weights=False, backup_dir=folder)
    return watching, WindowedEarlyStopping(window=3, backup_dir=folder)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("before_the_end", [0, 2])
def test_two_monitors_share_a_folder(tmp_path, before_the_end, turned):
    whole, expected = small_model(), two_monitors()
    small_fit(whole, *expected)
    end = expected[1].stopped_epoch
    assert 2 < end < 29
    for interrupts in ([Interrupt(end - before_the_end)], []):
        model, both = small_model(), two_monitors(tmp_path / "b")
        backup = keras.callbacks.BackupAndRestore(tmp_path / "b")
        with contextlib.suppress(KeyboardInterrupt):
            small_fit(model, *(reversed(both) if turned else both), backup, *interrupts)
    for callback, reference in zip(both, expected, strict=True):
        assert callback._values == reference._values
        for name in ("stopped_epoch", "best_epoch", "best"):
            assert getattr(callback, name) == getattr(reference, name)
    np.testing.assert_array_equal(model.get_weights()[0], whole.get_weights()[0])
    assert not (tmp_path / "b").exists()


def interrupted_folder(tmp_path, epoch=3):
    """Returns the folder of a training run that was interrupted after an epoch."""
    with pytest.raises(KeyboardInterrupt):
        small_fit(small_model(), *resuming(tmp_path), Interrupt(epoch))
    return tmp_path


def resuming(folder):
    return WindowedEarlyStopping(window=9, backup_dir=folder), keras.callbacks.BackupAndRestore(folder)


class CountBatches(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.batches = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.batches += 1


@pytest.mark.parametrize(
    ("pattern", "damage", "message"),
    [
        ("*.4.json", lambda path: path.write_text(""), r"'windowed_early_stopping.val_loss.4.json' is not JSON"),
        ("*.4.json", lambda path: os.truncate(path, 40), r"val_loss.4.json' is not JSON"),
        ("*.4.json", lambda path: path.write_text('{"monitor": "val_loss"}'), r"has nothing for 'sign'"),
        (
            "*.npz",
            lambda path: os.truncate(path, path.stat().st_size // 2),
            r"val_loss.\d.npz' is not a file of arrays",
        ),
        ("*.npz", lambda path: path.unlink(), r"val_loss.\d.npz' cannot be read"),
    ],
)
def test_damaged_files_are_named_before_the_first_batch(tmp_path, pattern, damage, message):
    folder, counter = interrupted_folder(tmp_path), CountBatches()
    (path,) = folder.glob(f"windowed_early_stopping.val_loss{pattern}")
    damage(path)
    with pytest.raises(ValueError, match=message + r".*remove windowed_early_stopping.val_loss.\* to resume without"):
        small_fit(small_model(), *resuming(folder), counter)
    assert counter.batches == 0
    for file in folder.glob("windowed_early_stopping.val_loss.*"):  # the remedy that the message names
        file.unlink()
    assert small_fit(small_model(), *resuming(folder), epochs=6).epoch == [4, 5]


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("monitor", None),
        ("sign", 2.0),
        ("values", [0.5, "0.5"]),
        ("values", [float("nan")]),
        ("values", {"0": 0.5}),
        ("best", "0.5"),
        ("best_epoch", -1),
        ("best_epoch", True),
        ("stopped_epoch", 1.5),
    ],
)
def test_impossible_entries_of_a_state_are_named(tmp_path, entry, value):
    begun(WindowedEarlyStopping(backup_dir=tmp_path))
    path = tmp_path / "windowed_early_stopping.val_loss.0.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), entry: value}))
    with pytest.raises(ValueError, match=rf"'{path.name}' has .* for '{entry}'"):
        begun(WindowedEarlyStopping(backup_dir=tmp_path))


def test_weights_of_another_model_are_noticed_before_the_first_batch(tmp_path):
    begun(WindowedEarlyStopping(backup_dir=tmp_path)).on_epoch_end(0, {"val_loss": 1.0})
    other, counter = small_model(), CountBatches()
    with pytest.raises(ValueError, match=r"val_loss.0.npz' is of another model, with .*'float32\[2, 1\]'"):
        small_fit(other, WindowedEarlyStopping(backup_dir=tmp_path), counter, initial_epoch=1)
    assert counter.batches == 0


def test_files_of_version_0_1_still_load(tmp_path):
    """They had no monitor in their names."""
    whole = small_model()
    expected = WindowedEarlyStopping(window=9)
    small_fit(whole, expected, epochs=8)
    folder = interrupted_folder(tmp_path / "b")
    for path in folder.glob("windowed_early_stopping.val_loss.*"):
        path.rename(path.with_name(path.name.replace(".val_loss", "")))
    model, callbacks_ = small_model(), resuming(folder)
    assert small_fit(model, *callbacks_, epochs=8).epoch == [4, 5, 6, 7]
    assert callbacks_[0]._values == expected._values
    np.testing.assert_array_equal(model.get_weights()[0], whole.get_weights()[0])
    assert not folder.exists()


def test_other_files_in_the_folder_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    play(WindowedEarlyStopping(window=2, backup_dir=tmp_path), [1.0, 2.0, 3.0])
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
