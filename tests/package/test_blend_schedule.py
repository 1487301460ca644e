"""BlendSchedule: the weights of an epoch are a function of the epoch, also after being killed."""

import json
import math
import pathlib

import keras
import numpy as np
import processes
import pytest

from keras_softsets import BlendedLoss, BlendSchedule, SoftF1

SCRIPT = pathlib.Path(__file__).parents[1] / "scripts" / "blend_killed.py"
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


def test_killed_training_ends_as_if_it_had_not_been_killed(tmp_path):
    whole, killed = json.loads(processes.run_well(SCRIPT, tmp_path, 2, 4, 7).splitlines()[-1])
    assert killed == whole  # to the last bit
    assert whole["blend"] == {"f1": 1.0, "bce": 0.25}


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
