"""What earlier versions saved still loads, and gives the same numbers as it did then."""

import inspect
import json
import pathlib

import keras
import numpy as np
import pytest

import keras_softsets  # noqa: F401  (registers what is loaded)

FOLDER = pathlib.Path(__file__).parent / "saved_0_1"
OBJECTS = json.loads((FOLDER / "objects.json").read_text())


@pytest.mark.parametrize("entry", OBJECTS, ids=lambda entry: entry["object"]["class_name"])
def test_losses_and_metrics_of_0_1(entry):
    random = np.random.default_rng(0)
    adapter = keras.saving.deserialize_keras_object(entry["object"])
    value = adapter(random.integers(0, 2, (40, 2)), random.random((40, 2)), random.random(40))
    expected = entry["value"]
    for found, stored in zip(
        *([x.values() for x in (value, expected)] if isinstance(value, dict) else [[value], [expected]])
    ):
        assert float(found) == pytest.approx(stored, rel=1e-6, abs=3e-7)


@pytest.mark.skipif(
    "quantization_config" not in inspect.signature(keras.layers.Dense).parameters,
    reason="the model was saved by Keras 3.15.1, with an argument of its layers that older versions do not know",
)
def test_a_model_of_0_1_evaluates_the_same_and_trains_on():
    model = keras.saving.load_model(FOLDER / "model.keras")
    expected = json.loads((FOLDER / "model.json").read_text())
    x = np.random.default_rng(1).normal(size=(60, 3)).astype("float32")
    y = {name: np.random.default_rng(2).integers(0, 2, (60, 2)) for name in model.output_names}
    found = model.evaluate(x, y, batch_size=60, verbose=0, return_dict=True)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-5, abs=1e-6), name
    assert np.isfinite(model.fit(x, y, batch_size=60, epochs=1, verbose=0).history["loss"][0])
