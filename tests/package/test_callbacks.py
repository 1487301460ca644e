"""WindowedEarlyStopping: made-up histories, Keras's own EarlyStopping, and trainings that are killed."""

import contextlib
import doctest
import json
import os
import pathlib
import statistics
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_softsets import callbacks, losses, metrics
from keras_softsets.callbacks import WindowedEarlyStopping

SCRIPT = pathlib.Path(__file__).parents[1] / "scripts" / "train_killed.py"


class FakeModel:
    """What a callback sees of a model; its weights are the number of the epoch."""

    metrics = ()

    def __init__(self):
        self.stop_training = False
        self.weights = [np.array(-1.0)]

    def get_weights(self):
        return [w.copy() for w in self.weights]

    def set_weights(self, weights):
        self.weights = weights


def play(callback, history, name="val_loss", start=0):
    """Feeds a history to a callback as `fit` would, and returns the model with its final weights."""
    model = FakeModel()
    callback.set_model(model)
    callback.set_params({"epochs": start + len(history)})
    callback.on_train_begin()
    for epoch, value in enumerate(history, start):
        callback.on_epoch_begin(epoch)
        model.weights = [np.array(float(epoch))]
        callback.on_epoch_end(epoch, {"loss": 0.0, name: value})
        if model.stop_training:
            break
    callback.on_train_end()
    return model


STEPS = [9.0, 5.0, 6.0, 4.0, 8.0, 6.0, 6.0, 3.0, 7.0, 9.0, 9.0, 9.0]
# window 3, mode "min":  e      0  1  2     3  4  5  6     7  8     9     10    11
#   mean                 m(e)   9  7  6.67  5  6  6  6.67  5  5.33  6.33  8.33  9
#   median               m(e)   9  7  6     5  6  6  6     6  6     7     9     9
#   min                  m(e)   9  5  5     4  4  4  6     3  3     3     7     9


@pytest.mark.parametrize(
    ("history", "arguments", "stopped", "best"),
    [
        (STEPS, {"statistic": "mean"}, 6, 3),  # 6.67 against 5 = m(3)
        (STEPS, {"statistic": "median"}, 5, 3),  # 6 against 6 = m(2)
        (STEPS, {"statistic": "min"}, 6, 3),  # 6 against 4 = m(3)
        (STEPS, {"statistic": "mean", "window": 4}, 9, 7),  # 6.25 against 5.75 = m(4)
        (STEPS, {"statistic": "min", "window": 5}, 0, 7),  # five epochs after epoch 7 would be epoch 12
        (STEPS, {"statistic": "mean", "window": 2, "min_delta": 2.0}, 3, 3),  # 5 against 7 = m(1)
        (STEPS, {"statistic": "mean", "window": 12}, 0, 7),  # never a whole window
        ([3.0, 2.0, 1.0, 0.0], {"window": 1}, 0, 3),
        ([3.0, 2.0, 1.0, 0.0], {"window": 1, "min_delta": 1.0}, 1, 1),  # exactly min_delta is not more than it
        ([3.0, 2.0, 1.0, 0.0], {"window": 1, "min_delta": 0.99}, 0, 3),
        ([0.1] * 9, {"window": 7}, 7, 0),  # the mean of seven times 0.1 is 0.1, not 0.09999999999999999
        ([0.0, 9.0, 8.0, 9.0, 9.0], {"window": 2, "start_from_epoch": 1}, 4, 2),  # epoch 0 does not count
    ],
)
@pytest.mark.parametrize("mode", ["min", "max"])
def test_stops_where_the_definition_says(history, arguments, stopped, best, mode):
    sign = 1.0 if mode == "min" else -1.0
    callback = WindowedEarlyStopping(mode=mode, **{"window": 3, **arguments})
    model = play(callback, [sign * value for value in history])
    assert (callback.stopped_epoch, callback.best_epoch, callback.best) == (stopped, best, sign * history[best])
    assert model.stop_training == bool(stopped)
    assert model.weights[0] == best


def defined_stop(history, window, statistic, min_delta, mode):
    """The issue's sentence, word by word and without any bookkeeping."""
    sign = 1 if mode == "min" else -1
    function = {"mean": statistics.mean, "median": np.median, "min": min}[statistic]
    m = [function([sign * v for v in history[max(0, e - window + 1) : e + 1]]) for e in range(len(history))]
    for e in range(window, len(history)):
        if not min(m[: e - window + 1]) - m[e] > min_delta:
            return e
    return 0


@pytest.mark.parametrize("statistic", ["mean", "median", "min"])
@pytest.mark.parametrize("mode", ["min", "max"])
def test_random_histories_follow_the_definition(statistic, mode):
    rng = np.random.default_rng(5)
    stops = set()
    for _ in range(200):
        walk = np.cumsum(rng.integers(-2, 3, 40) / 4).tolist()
        window, min_delta = int(rng.integers(1, 12)), float(rng.integers(0, 3) / 8)
        callback = WindowedEarlyStopping("val_f1", window, statistic, min_delta, mode)
        play(callback, walk, "val_f1")
        assert callback.stopped_epoch == defined_stop(walk, window, statistic, min_delta, mode)
        stops.add(callback.stopped_epoch)
    assert len(stops) > 10  # the histories do differ


@pytest.mark.parametrize("mode", ["min", "max"])
def test_statistic_min_is_keras_early_stopping(mode):
    rng = np.random.default_rng(6)
    for _ in range(30):
        history = np.cumsum(rng.integers(-2, 3, 25)).astype(float).tolist()  # integers: with ties
        window, start = int(rng.integers(1, 9)), int(rng.integers(0, 4))
        theirs = keras.callbacks.EarlyStopping(
            patience=window, mode=mode, restore_best_weights=True, start_from_epoch=start
        )
        ours = WindowedEarlyStopping(window=window, statistic="min", mode=mode, start_from_epoch=start)
        expected, model = play(theirs, history), play(ours, history)
        assert model.weights[0] == expected.weights[0]
        assert model.stop_training == expected.stop_training
        for name in ("stopped_epoch", "best_epoch", "best"):
            assert getattr(ours, name) == getattr(theirs, name)


def small_model(dtype=None, metrics=()):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, "sigmoid", dtype=dtype)])
    model.compile(keras.optimizers.SGD(1.5), "binary_crossentropy", metrics=list(metrics))
    return model


def small_fit(model, *callback_list, epochs=30, **arguments):
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(24, 2)).astype("float32"), rng.integers(0, 2, (24, 1)).astype("float32")
    data = {"validation_data": (x[16:], y[16:]), "shuffle": False, "batch_size": 8, "verbose": 0}
    return model.fit(x[:16], y[:16], epochs=epochs, callbacks=list(callback_list), **{**data, **arguments})


@pytest.mark.parametrize("epochs", [2, 30])  # ended by the number of epochs, and early
def test_real_fit_ends_with_the_weights_of_keras_early_stopping(epochs):
    theirs, ours = small_model(), small_model()
    reference = keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
    callback = WindowedEarlyStopping(window=3, statistic="min")
    small_fit(theirs, reference, epochs=epochs)
    small_fit(ours, callback, epochs=epochs)
    assert callback.stopped_epoch == reference.stopped_epoch
    for weight, expected in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, expected)


def test_validation_is_exact_by_metric_or_in_one_batch():
    """The two ways of the docstring, against the loss of the whole validation set."""
    rng = np.random.default_rng(9)
    y = (rng.random((400, 1)) < 0.1).astype("float32")
    x = (rng.normal(size=(400, 2)) + y).astype("float32")
    gap = {}
    for batch_size in (4, 200):
        model = small_model()
        soft_f1 = metrics.F1(heaviside="linear", name="soft_f1")
        model.compile(keras.optimizers.Adam(0.01), losses.SoftF1(heaviside="linear"), metrics=[soft_f1])
        callback = WindowedEarlyStopping("val_soft_f1", mode="max")
        data = {"validation_data": (x[200:], y[200:]), "validation_batch_size": batch_size}
        logs = model.fit(x[:200], y[:200], 50, 2, 0, [callback], **data).history
        whole = float(losses.SoftF1(heaviside="linear")(y[200:], model.predict(x[200:], verbose=0)))
        assert callback.best_epoch == 1  # so that the last epoch's weights are in place
        assert 1 - callback.best == pytest.approx(whole, abs=1e-6)
        gap[batch_size] = logs["val_loss"][-1] - whole
    assert gap[200] == pytest.approx(0, abs=1e-6)
    assert abs(gap[4]) > 0.01  # the mean of batches is something else


def test_without_restoring_the_last_weights_stay():
    callback = WindowedEarlyStopping(window=2, restore_best_weights=False)
    assert play(callback, [1.0, 2.0, 3.0, 4.0]).weights[0] == callback.stopped_epoch == 2
    assert callback.best_weights is None


def test_an_instance_can_be_used_again():
    callback = WindowedEarlyStopping(window=2)
    play(callback, [1.0, 2.0, 3.0])
    assert play(callback, [5.0, 4.0, 3.0]).weights[0] == callback.best_epoch == 2
    assert callback.stopped_epoch == 0


def test_a_fit_can_begin_at_a_later_epoch():
    callback = WindowedEarlyStopping(window=2)
    play(callback, [1.0, 2.0, 3.0, 4.0], start=10)
    assert (callback.stopped_epoch, callback.best_epoch) == (12, 10)


@pytest.mark.parametrize(
    ("monitor", "metric", "sign"),
    [
        ("val_loss", None, 1),
        ("head_loss", None, 1),
        ("val_auc", keras.metrics.AUC(name="auc"), -1),
        ("mse", keras.metrics.MeanSquaredError(name="mse"), 1),
    ],
)
def test_auto_mode_knows_losses_and_metrics(monitor, metric, sign):
    model = small_model(metrics=[metric] if metric else [])
    small_fit(model, epochs=1)
    callback = WindowedEarlyStopping(monitor)
    callback.set_model(model)
    for value in (2.0, 3.0, 1.0):
        callback.on_epoch_end(0, {monitor: value})
    assert callback.best == (1.0 if sign == 1 else 3.0)


def test_auto_mode_refuses_to_guess():
    model = small_model(metrics=[keras.metrics.Mean(name="acc_like")])
    with pytest.raises(ValueError, match=r"`mode` must be 'min' or 'max'.*monitor='val_score'"):
        play(WindowedEarlyStopping("val_score"), [1.0], "val_score")
    callback = WindowedEarlyStopping("acc_like")
    callback.set_model(model)
    with pytest.raises(ValueError, match="`mode` must be 'min' or 'max'"):
        callback.on_epoch_end(0, {"acc_like": 1.0})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"window": 0}, "`window` must be a whole number of at least 1. Received: window=0"),
        ({"window": 2.5}, "`window` must be a whole number of at least 1. Received: window=2.5"),
        ({"window": True}, "Received: window=True"),
        ({"statistic": "max"}, "`statistic` must be one of .* Received: statistic='max'"),
        ({"mode": "maximum"}, "`mode` must be one of .* Received: mode='maximum'"),
        ({"min_delta": -0.1}, "`min_delta` must be .* Received: min_delta=-0.1"),
        ({"min_delta": float("nan")}, "Received: min_delta=nan"),
        ({"start_from_epoch": -1}, "`start_from_epoch` must be .* Received: start_from_epoch=-1"),
        ({"monitor": 1}, "`monitor` must be a name in the logs of `fit`. Received: monitor=1"),
        ({"backup_dir": __file__}, "`backup_dir` must be a folder, but is a file"),
        ({"backup_dir": 1}, "`backup_dir` must be a local folder. Received: backup_dir=1"),
        ({"backup_dir": ""}, "`backup_dir` must be a local folder. Received: backup_dir=''"),
        ({"backup_dir": "gs://bucket/run"}, "Received: backup_dir='gs://bucket/run'"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        WindowedEarlyStopping(**arguments)


def test_missing_monitor_names_what_there_is():
    with pytest.raises(ValueError, match=r"epoch 1 has only \['loss', 'val_loss'\]. Received: monitor='val_f1'"):
        small_fit(small_model(), WindowedEarlyStopping("val_f1", mode="max"))
    with pytest.raises(ValueError, match=r"validation_freq=1.*epoch 1 has only \['loss'\]"):
        small_fit(small_model(), WindowedEarlyStopping(), validation_freq=2)


def test_vector_valued_metric_is_refused():
    metric = keras.metrics.F1Score(average=None, name="f1")
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, "sigmoid")])
    model.compile("sgd", "binary_crossentropy", metrics=[metric])
    x, y = np.ones((4, 2)), np.eye(3)[[0, 1, 2, 0]]
    with pytest.raises(ValueError, match=r"epoch 1 has one of shape \(3,\); use a metric with an average"):
        model.fit(x, y, callbacks=[WindowedEarlyStopping("f1")], verbose=0)


def test_nan_is_an_error_that_keeps_the_best_weights():
    model = FakeModel()
    callback = WindowedEarlyStopping()
    callback.set_model(model)
    for epoch, value in enumerate([3.0, 2.0, 4.0]):
        model.weights = [np.array(float(epoch))]
        callback.on_epoch_end(epoch, {"val_loss": value})
    with pytest.raises(ValueError, match=r"is NaN at epoch 4; weights of epoch 2 restored. Received: monitor='val_l"):
        callback.on_epoch_end(3, {"val_loss": float("nan")})
    assert model.weights[0] == 1.0


def test_verbose_tells_what_happened(capsys):
    play(WindowedEarlyStopping(window=2), [1.0, 2.0, 3.0])
    assert capsys.readouterr().out == ""
    play(WindowedEarlyStopping(window=2, verbose=1), [1.0, 2.0, 3.0])
    assert capsys.readouterr().out.splitlines() == [
        "Epoch 3: early stopping, 2 epochs brought no improvement.",
        "Restoring the weights of the best epoch: 1.",
    ]


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
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, str(SCRIPT), str(tmp_path), *kills]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    whole, killed = json.loads(done.stdout.splitlines()[-1])
    assert killed == whole  # epochs, value, weights to the last bit, and nothing left behind
    assert (whole["stopped_epoch"], whole["best_epoch"]) == (9, 5)  # else the kills have missed their points
    assert whole["left_behind"] == []


class Interrupt(keras.callbacks.Callback):
    """Ends `fit` without `on_train_end`, as a kill does, but cheaper."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_end(self, epoch, logs=None):
        if epoch == self.epoch:
            raise KeyboardInterrupt


def interrupted_fit(tmp_path, epoch, make_model=small_model, epochs=30, **arguments):
    """Interrupts a training after an epoch and completes it with a new model and new callbacks, in one folder."""
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
    """Begins a training with a callback at an epoch, and returns it."""
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
    with pytest.raises(
        ValueError, match=r"must not be shared by two callbacks with the same monitor.*val_loss.1.json'"
    ):
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
    """Returns the folder of a training that was interrupted after an epoch."""
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


def test_docstring_examples():
    results = doctest.testmod(callbacks)
    assert results.attempted > 0
    assert results.failed == 0
