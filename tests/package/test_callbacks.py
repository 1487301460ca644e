"""Callbacks: WindowedEarlyStopping on made-up histories and beside Keras's own; the weights of a BlendSchedule."""

import json
import math
import pathlib
import statistics

import keras
import numpy as np
import processes
import pytest
from small_trainings import FakeModel, play, small_fit, small_model

from keras_softsets import BlendedLoss, BlendSchedule, SoftF1, losses, metrics
from keras_softsets.callbacks import WindowedEarlyStopping

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
    """The definition in the docstring, word for word and without any bookkeeping."""
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


SCRIPT = pathlib.Path(__file__).parents[1] / "scripts" / "losses_killed.py"
START, END = {"f1": 0.0, "bce": 1.0}, {"f1": 2.0, "bce": 0.5}


def blend():
    return BlendedLoss({"f1": SoftF1(), "bce": keras.losses.BinaryCrossentropy()})


@pytest.mark.parametrize(
    ("options", "f1"),
    [
        ({"epochs": 4}, [0, 0.5, 1, 1.5, 2, 2]),
        ({"epochs": 2, "warmup": 2}, [0, 0, 0, 1, 2, 2]),
        ({"epochs": 4, "shape": "cosine"}, [0, 1 - math.sqrt(0.5), 1, 1 + math.sqrt(0.5), 2, 2]),
    ],
)
def test_weights_of_each_epoch(options, f1):
    schedule = BlendSchedule(blend(), START, END, **options)
    found = [schedule.weights(epoch) for epoch in range(6)]
    np.testing.assert_allclose([weights["f1"] for weights in found], f1, atol=1e-12)
    np.testing.assert_allclose([weights["bce"] for weights in found], 1 - np.array(f1) / 4, atol=1e-12)


def test_training_uses_them_and_logs_them():
    loss = blend()
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "sigmoid", trainable=False)])
    model.compile("sgd", loss)
    x, y = np.linspace(-1, 1, 8)[:, None], np.arange(8)[:, None] > 4
    history = model.fit(x, y, 8, epochs=4, callbacks=[BlendSchedule(loss, START, END, epochs=3)], verbose=0).history
    f1, bce = (float(part(y, model.predict(x, verbose=0))) for part in loss.parts.values())
    want = [history["f1_weight"][k] * f1 + history["bce_weight"][k] * bce for k in range(4)]
    np.testing.assert_allclose(history["loss"], want, rtol=1e-6)
    np.testing.assert_allclose(history["f1_weight"], [0, 2 / 3, 4 / 3, 2], rtol=1e-12)
    assert loss.weights == END


@pytest.mark.processes
def test_killed_training_ends_as_if_it_had_not_been_killed(tmp_path):
    whole, killed = json.loads(processes.run_well(SCRIPT, "blend", tmp_path, 2, 4, 7).splitlines()[-1])
    assert killed == whole  # to the last bit
    assert whole["loss"] == {"f1": 1.0, "bce": 0.25}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"blend": SoftF1()}, "`blend` must be a BlendedLoss"),
        ({"start": {"f1": 1.0}}, "`start` must have a number for each"),
        ({"end": {"f1": 0.0, "bce": 0.0}}, "`end` must not all be 0"),
        ({"epochs": 0}, "`epochs` must be a whole number"),
        ({"shape": "step"}, "`shape` must be one of 'linear', 'cosine'"),
        ({"warmup": -1}, "`warmup` must be a whole number"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        BlendSchedule(**{"blend": blend(), "start": START, "end": END, "epochs": 3, **arguments})
