"""`as_classifier`: labels and probabilities of the model itself, saved, exported and shifted."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_softsets import Argmax, AtRecall, PerClass, as_classifier, export_classifier
from keras_softsets.calibration import brier_score, calibration_error

X = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
CASES = {
    "sigmoid": (1, "sigmoid", 0.3, 0.7),
    "per class": (3, "sigmoid", PerClass([0.2, 0.5, 0.7]), [1.0, 0.0, -1.0]),
    "argmax": (3, "softmax", "argmax", [0.1, 0.2, 0.9]),
    "offsets": (3, "softmax", Argmax(offsets=[0.0, 0.5, -0.2]), [0.1, 0.2, 0.9]),
}


def model_of(units, activation):
    keras.utils.set_random_seed(3)
    return keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(units, activation)])


def wanted(p, threshold, shift):
    shift = np.asarray(shift)
    if isinstance(threshold, (str, Argmax)):
        offsets = np.asarray(getattr(threshold, "offsets", 0.0))
        shifted = p * np.exp(-shift)
        return shifted / shifted.sum(-1, keepdims=True), (np.log(p) + offsets).argmax(-1)
    odds = p / (1 - p) / np.exp(shift)
    return odds / (1 + odds), (p >= np.asarray(threshold, "float32")).astype(int)


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_labels_are_the_models_and_probabilities_are_shifted(case, logits, tmp_path):
    units, activation, threshold, shift = CASES[case]
    model = model_of(units, activation)
    probability, label = wanted(model.predict(X, verbose=0).astype("float64"), threshold, shift)
    if logits:
        model.layers[-1].activation = keras.activations.linear
    classifier = as_classifier(model, threshold, shift, from_logits=logits)
    found = classifier.predict(X, verbose=0)
    np.testing.assert_allclose(found["probability"], probability, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found["label"], label)
    assert (found["probability"].dtype, found["label"].dtype) == ("float32", "int32")
    classifier.save(tmp_path / "classifier.keras")
    classifier.export(tmp_path / "exported", verbose=False)
    folder = export_classifier(model, tmp_path / "versions", threshold, from_logits=logits, shift=shift)
    loaded = tf.saved_model.load(str(tmp_path / "exported"))
    served = tf.saved_model.load(str(folder))
    for again in (
        keras.models.load_model(tmp_path / "classifier.keras").predict(X, verbose=0),
        loaded.serve(X),
        served.signatures["serving_default"](x=tf.constant(X)),
    ):
        np.testing.assert_array_equal(again["label"], label)
        np.testing.assert_allclose(again["probability"], found["probability"], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_labels_at_the_neighbours_of_the_threshold(threshold, shift):
    at = np.float32(threshold)
    p = np.array([np.nextafter(at, np.float32(0)), at, np.nextafter(at, np.float32(1))], "float32")[:, None]
    inputs = keras.Input((1,))
    found = as_classifier(keras.Model(inputs, keras.layers.ReLU(max_value=1.0)(inputs)), threshold, shift)(p)
    assert np.ravel(found["label"]).tolist() == [0, 1, 1]


@pytest.mark.parametrize("shift", [120.0, -120.0])
def test_certain_probabilities_stay_numbers_however_large_the_shift(shift):
    inputs = keras.Input((1,))
    model = keras.Model(inputs, keras.layers.ReLU(max_value=1.0)(inputs))
    found = as_classifier(model, shift=shift)(np.array([[0.0], [0.5], [1.0]], "float32"))
    np.testing.assert_allclose(np.ravel(found["probability"]), [0, shift < 0, 1], atol=1e-6)
    inputs = keras.Input((2,))
    model = keras.Model(inputs, keras.layers.ReLU(max_value=1.0)(inputs))
    found = as_classifier(model, "argmax", shift=[shift, 0.0])(np.eye(2, dtype="float32"))
    np.testing.assert_allclose(found["probability"], np.eye(2))


def test_without_a_shift_the_probability_is_the_models_own():
    model = model_of(1, "sigmoid")
    np.testing.assert_array_equal(as_classifier(model)(X)["probability"], model(X))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shift": [1.0, 2.0]}, "`shift` must be a number, or one for each of the output's classes. Received: 2"),
        ({"shift": float("inf")}, "`shift` must be a finite number, or one for each class. Received: shift=inf"),
        ({"threshold": [0.2, 0.4]}, r"`threshold` must be one decision, not a sweep.*Received: threshold=\[0.2, 0.4\]"),
        ({"threshold": AtRecall(0.9)}, "`threshold` must not depend on data that a server does not have"),
        ({"threshold": PerClass([0.2, 0.4])}, "Received: 2 thresholds for an output of shape"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        as_classifier(model_of(3, "sigmoid"), **arguments)


def test_a_shift_calibrates_a_shifted_truth():
    random = np.random.default_rng(0)
    logit = random.normal(-2, 1.5, 200_000)
    y = random.random(logit.shape) < 1 / (1 + np.exp(-logit))
    inputs = keras.Input((1,))
    model = keras.Model(inputs, keras.layers.Activation("sigmoid")(inputs))
    moved = (logit + 1.3).astype("float32")[:, None]
    before, after = (np.ravel(as_classifier(model, shift=s)(moved)["probability"]) for s in (0.0, 1.3))
    assert calibration_error(y, after) < 0.005 < 0.1 < calibration_error(y, before)
    assert brier_score(y, after) < brier_score(y, before)


def neighbours(threshold, number=3):
    """The threshold in float32, and the numbers next to it on both sides."""
    found = [np.float32(threshold)] * (2 * number + 1)
    for k in range(number):
        found[number + k + 1] = np.nextafter(found[number + k], np.float32(2))
        found[number - k - 1] = np.nextafter(found[number - k], np.float32(-1))
    return np.clip(found, 0, 1)


@pytest.mark.parametrize("logits", [False, True])
def test_offsets_decide_as_in_float64_next_to_ties(logits):
    rng, offsets, rows = np.random.default_rng(0), np.array([0.3, 0.25, -2.5]), np.arange(4000)
    first, second = rng.permuted(np.tile(np.arange(3), (4000, 1)), axis=1)[:, :2].T
    x = np.full((4000, 3), -30.0 if logits else 0.0, "float32")
    x[rows, first] = rng.normal(0, 3, 4000) if logits else 0.01 + 0.04 * rng.random(4000)
    tied = np.log(x[rows, first].astype("float64")) if not logits else x[rows, first].astype("float64")
    tied = tied + offsets[first] - offsets[second]
    near = (tied if logits else np.exp(tied)).astype("float32")
    x[rows, second] = np.nextafter(near, np.where(rng.random(4000) < 0.3, 2, near).astype("float32"))
    inputs = keras.Input((3,))
    layer = keras.layers.Dense(3, kernel_initializer="identity") if logits else keras.layers.ReLU(max_value=1.0)
    classifier = as_classifier(keras.Model(inputs, layer(inputs)), Argmax(offsets=offsets), from_logits=logits)
    exact = x.astype("float64") if logits else np.log(np.maximum(x.astype("float64"), np.finfo("float32").tiny))
    expected = (exact + offsets).argmax(1)
    np.testing.assert_array_equal(classifier.predict(x, batch_size=4000, verbose=0)["label"], expected)
    assert set(expected) == {0, 1, 2}


def by_onnx(path, x):
    session = pytest.importorskip("onnxruntime").InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {session.get_inputs()[0].name: x})))


def by_openvino(path, x):
    openvino = pytest.importorskip("openvino")
    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return {"label" if value.dtype.kind == "i" else "probability": value for value in compiled(x).values()}


def by_litert(path, x):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter").Interpreter(path)
    place = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(place, x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(place, x)
    interpreter.invoke()
    values = [interpreter.get_tensor(output["index"]) for output in interpreter.get_output_details()]
    return {"label" if value.dtype.kind == "i" else "probability": value for value in values}


FORMATS = {
    "onnx": ("tf2onnx", "model.onnx", by_onnx),
    "openvino": ("openvino", "model.xml", by_openvino),
    "litert": ("ai_edge_litert", "model.tflite", by_litert),
}


@pytest.mark.parametrize("threshold", [PerClass([0.1, 1 / 3]), Argmax(offsets=[0.25, -0.5])], ids=str)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_decides_alike_at_the_neighbours_of_the_threshold(name, threshold, tmp_path):
    needs, file, answer = FORMATS[name]
    pytest.importorskip(needs)
    p = keras.Sequential([keras.Input((2,), name="x"), keras.layers.ReLU(max_value=1.0)])  # its inputs are p
    edge = 1 / (1 + np.exp(0.75))  # where both classes are equal with these offsets
    near = neighbours(0.1), neighbours(1 / 3), neighbours(edge), 1 - neighbours(edge)
    x = np.concatenate([np.stack(near[:2], 1), np.stack(near[2:], 1), [[0.0, 1.0], [1.0, 0.0]]]).astype("float32")
    classifier = as_classifier(p, threshold)
    expected = classifier.predict(x, verbose=0)
    path = str(tmp_path / file)  # Keras (3.15.1) takes no Path for OpenVINO
    classifier.export(path, format=name, verbose=False)
    found = answer(path, x)
    np.testing.assert_array_equal(found["label"], expected["label"])
    np.testing.assert_array_equal(found["probability"], expected["probability"])
    assert len(np.unique(expected["label"])) == 2
