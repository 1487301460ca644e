"""export_classifier: the same numbers and labels outside Keras, for models of all kinds and several classes."""

import os
import pathlib
import re
import sys

import keras
import numpy as np
import processes
import pytest
import tensorflow as tf
from class_cases import classes_batch
from exported_models import (
    KINDS,
    Dense,
    Subclassed,
    features,
    fresh_answer,
    functional,
    serve_without_keras,
    served,
    stateful,
)

from keras_softsets import Argmax, AtRecall, PerClass, evaluate, export_classifier, tune_threshold


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Exports each kind of model, and lets one fresh process without Keras answer for all."""
    folder, scratch, expected = tmp_path_factory.mktemp("exported"), tmp_path_factory.mktemp("scratch"), {}
    for kind in KINDS:
        keras.utils.set_random_seed(4)
        model, inputs, arguments = kind(scratch) if kind.__code__.co_argcount else kind()
        probability = fresh_answer(model, inputs)
        assert export_classifier(model, folder / kind.__name__, **arguments) == folder / kind.__name__ / "1"
        np.savez(folder / kind.__name__, **inputs)
        probability = 1 / (1 + np.exp(-probability)) if arguments.get("from_logits") else probability
        expected[kind.__name__] = probability, np.asarray(arguments.get("threshold", 0.5), "float32")
    serve_without_keras(folder)
    return folder, expected


@pytest.mark.processes
@pytest.mark.parametrize("kind", [kind.__name__ for kind in KINDS])
def test_fresh_process_without_keras_gives_the_same_numbers_and_labels(exported, kind):
    folder, expected = exported
    probability, threshold = expected[kind]
    with np.load(folder / f"{kind}.1.out.npz") as answer:
        assert set(answer) == {"probability", "label"}
        assert (answer["probability"].dtype, answer["label"].dtype) == (np.float32, np.int32)
        np.testing.assert_allclose(answer["probability"], probability, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(answer["label"], (probability >= threshold).astype("int32"))
    assert np.ptp(probability) > 0.01  # a constant answer would prove nothing


@pytest.mark.parametrize("kind", [kind.__name__ for kind in KINDS])
def test_signature_takes_batches_of_any_size_unless_the_model_cannot(exported, kind):
    folder, _ = exported
    serve = tf.saved_model.load(folder / kind / "1").signatures["serving_default"]
    with np.load(folder / f"{kind}.npz") as file:
        specs = serve.structured_input_signature[1]
        assert {name: len(spec.shape) for name, spec in specs.items()} == {name: file[name].ndim for name in file}
    fixed = 7 if kind in ("stateful", "fixed_batch_size") else None
    for spec in specs.values():
        assert spec.shape[0] == fixed


def test_labels_of_both_classes_occur(exported):
    folder, _ = exported
    with np.load(folder / "functional.1.out.npz") as answer:
        assert set(answer["label"].ravel()) == {0, 1}
    with np.load(folder / "multi_label.1.out.npz") as answer:
        assert answer["label"][:, 1].tolist() == [0] * 7  # a threshold of inf
        assert answer["label"][:, 2].tolist() == [1] * 7  # a threshold of 0


def test_command_line_shows_and_runs_the_signature(exported, tmp_path):
    folder, expected = exported
    cli = pathlib.Path(sys.executable).with_name("saved_model_cli")
    version = folder / "two_named_inputs" / "1"
    signature = ["--tag_set", "serve", "--signature_def", "serving_default"]
    shown = processes.run_well(cli, "show", "--dir", version, *signature)
    found = re.findall(r"(inputs|outputs)\['(\w+)'\].*?dtype: (\w+)\s+shape: (\(.*?\))", shown, re.DOTALL)
    assert set(found) == {
        ("inputs", "Age", "DT_FLOAT", "(-1, 1)"),
        ("inputs", "dose", "DT_FLOAT", "(-1, 2, 2)"),
        ("outputs", "label", "DT_INT32", "(-1, 1)"),
        ("outputs", "probability", "DT_FLOAT", "(-1, 1)"),
    }
    npz = folder / "two_named_inputs.npz"
    inputs = f"Age={npz}[Age];dose={npz}[dose]"
    processes.run_well(cli, "run", "--dir", version, *signature, "--outdir", tmp_path, "--inputs", inputs)
    probability, threshold = expected["two_named_inputs"]
    np.testing.assert_allclose(np.load(tmp_path / "probability.npy"), probability, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(np.load(tmp_path / "label.npy"), probability >= threshold)


def constant(bias, units=1, **arguments):
    x = keras.Input((1,), name="x")
    initializer = keras.initializers.Constant(bias)
    head = Dense(units, kernel_initializer="zeros", bias_initializer=initializer, **arguments)
    return keras.Model(x, head(x))


def constant_probability(value, units=1):
    logits = constant(value, units)
    return keras.Model(logits.input, keras.layers.ReLU(max_value=1.0)(logits.output))


def test_label_is_compared_in_float32(tmp_path):
    # As float64, 0.7 is larger than the model's float32 0.7, and the label would be 0.
    answer = served(export_classifier(constant_probability(0.7), tmp_path, threshold=0.7), x=tf.zeros((1, 1)))
    assert answer["label"].tolist() == [[1]]
    assert answer["probability"].tolist() == [[float(np.float32(0.7))]]


def test_half_precision_probabilities_are_not_rounded(tmp_path):
    # The float16 sigmoid of 9 is 1.0.
    answer = served(export_classifier(constant(9.0, dtype="float16"), tmp_path, from_logits=True), x=tf.zeros((1, 1)))
    np.testing.assert_allclose(answer["probability"], [[1 / (1 + np.exp(-9.0))]], atol=1e-7)


def two_outputs():
    x = keras.Input((1,))
    return keras.Model(x, {"a": Dense(1)(x), "b": Dense(1)(x)})


@pytest.mark.parametrize("name", ["class", "self", "1x", "_x", "été"])
def test_names_that_python_or_tensorflow_refuses(name, tmp_path):
    model = keras.Sequential([keras.Input((2,), name=name), Dense(1, "sigmoid")])
    serve = tf.saved_model.load(export_classifier(model, tmp_path)).signatures["serving_default"]
    (argument,) = serve.structured_input_signature[1]
    assert argument.startswith("input_")
    answer = serve(**{argument: tf.ones((1, 2))})
    np.testing.assert_allclose(answer["probability"], model(tf.ones((1, 2))), rtol=1e-6)


def test_the_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    model = keras.Sequential([keras.Input((2,)), Dense(1, "sigmoid")])
    assert export_classifier(model, "~/models") == tmp_path / "models" / "1"


class NeedsItsRows(keras.Model):
    def call(self, inputs):
        return keras.ops.sigmoid(
            inputs + keras.ops.reshape(keras.ops.arange(inputs.shape[0], dtype="float32"), (-1, 1))
        )


def test_a_batch_size_that_nobody_declared_is_not_kept(tmp_path):
    """A subclassed model was built with some batch, whose size means nothing."""
    model = NeedsItsRows()
    model(features(2, 1))
    with pytest.raises((TypeError, ValueError), match="None"):
        export_classifier(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


class TwoArguments(keras.Model):
    def call(self, left, right):
        return keras.ops.sum(left + right, -1, keepdims=True)


def two_arguments():
    model = TwoArguments()
    model(features(4, 2), features(4, 2))
    return model


def colliding_names():
    a, b = keras.Input((1,), name="a b"), keras.Input((1,), name="a-b")
    return keras.Model({"a b": a, "a-b": b}, Dense(1, "sigmoid")(keras.layers.Concatenate()([a, b])))


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (Subclassed, {}, "`model` must be built.* unbuilt"),
        (lambda: keras.Sequential([Dense(1)]), {}, "`model` must be built"),
        (two_outputs, {}, "`model` must have one output tensor. Received: dict of 2"),
        (two_arguments, {}, "`model` must take its inputs as one argument"),
        (lambda: constant_probability(0.0), {"threshold": True}, "Received: threshold=True"),
        (lambda: constant_probability(0.0), {"threshold": "0.5"}, "Received: threshold='0.5'"),
        (colliding_names, {}, r"differ in letters, digits and '_'. Received: \['a_b', 'a_b'\]"),
        (lambda: constant_probability(0.0), {"threshold": 50}, "Received: threshold=50"),
        (lambda: constant_probability(0.0), {"threshold": -0.1}, "`threshold` must be a number in"),
        (lambda: constant_probability(0.0), {"threshold": float("nan")}, "Received: threshold=nan"),
        (lambda: constant_probability(0.0), {"threshold": [[0.5]]}, "`threshold` must be a number in"),
        (
            lambda: constant_probability(0.0, 2),
            {"threshold": PerClass([0.5] * 3)},
            r"3 thresholds for an output of shape \(None, 2\)",
        ),
        (lambda: constant_probability(0.0), {"threshold": [[0.5], [0.5, 0.5]]}, "`threshold` must be a number in"),
        (lambda: constant_probability(0.0), {"version": 2**63}, "Received: version=9223372036854775808"),
        (lambda: constant_probability(0.0), {"version": -1}, "Received: version=-1"),
        (lambda: constant_probability(0.0), {"version": "2"}, "Received: version='2'"),
        (lambda: constant_probability(0.0), {"version": True}, "Received: version=True"),
    ],
)
def test_bad_arguments_write_nothing(tmp_path, make, arguments, message):
    with pytest.raises(ValueError, match=message):
        export_classifier(make(), tmp_path / "model", **arguments)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("path", ["", b"", "gs://bucket/model", 5, __file__])
def test_path_must_be_local(path):
    with pytest.raises(ValueError, match=r"`path` must be a (local )?folder.*Received: path="):
        export_classifier(functional()[0], path)


def test_path_may_be_bytes(tmp_path):
    assert export_classifier(functional()[0], os.fsencode(tmp_path)) == tmp_path / "1"


def test_a_stateful_model_remembers_as_in_keras(tmp_path):
    model, inputs, _ = stateful()
    version = export_classifier(model, tmp_path)
    serve = tf.saved_model.load(version).signatures["serving_default"]
    for _ in range(3):
        expected = model.predict(inputs["x"], batch_size=7, verbose=0)
        np.testing.assert_allclose(serve(x=tf.constant(inputs["x"]))["probability"], expected, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match=r"`warmup` must be None for a model with stateful layers"):
        export_classifier(model, tmp_path, warmup=inputs["x"])


@pytest.mark.parametrize("sweep", [[0.2, 0.7], (0.2, 0.7), np.array([0.2, 0.7]), tf.constant([0.2, 0.7])])
def test_a_list_is_a_sweep_here_too(tmp_path, sweep):
    with pytest.raises(ValueError, match=r"not a sweep; for one threshold for each class pass PerClass\(\[...\]\)"):
        export_classifier(constant_probability(0.0, 2), tmp_path, threshold=sweep)
    with pytest.raises(ValueError, match=r"pass `metric.threshold\(\)` of a metric at this operating point"):
        export_classifier(constant_probability(0.0), tmp_path, threshold=AtRecall(0.9))


def test_a_tuned_threshold_is_exported_as_it_is(tmp_path):
    y, p = np.array([0, 0, 1, 1]), np.array([0.1, 0.6, 0.7, 0.9])
    for tuned in (tune_threshold(y, p), tune_threshold(y, p, curve=True)):
        for probability in (tuned.threshold - 0.01, tuned.threshold + 0.01):
            answer = served(export_classifier(constant_probability(probability), tmp_path, tuned), x=tf.zeros((1, 1)))
            assert answer["label"].tolist() == [[int(probability > tuned.threshold)]]


OFFSETS = Argmax(offsets=[0.0, 0.5, -0.25, 1.0])


def model(*layers, shape=(4,)):
    return keras.Sequential([keras.Input(shape, name="x"), *layers])


@pytest.mark.parametrize("threshold", ["argmax", Argmax(), Argmax(0.3), OFFSETS])
@pytest.mark.parametrize("from_logits", [False, True])
def test_probabilities_and_class_ids(tmp_path, threshold, from_logits):
    ids, p, w = classes_batch()
    x = np.log(p) + 3 if from_logits else p
    version = export_classifier(model(keras.layers.Lambda(lambda x: x)), tmp_path, threshold, from_logits=from_logits)
    answer = served(version, x=x)
    assert answer["label"].dtype == np.int32
    assert answer["label"].shape == (150,)
    np.testing.assert_allclose(answer["probability"], p, rtol=1e-5)
    expected = evaluate(ids, x, "f1", w, threshold=threshold, from_logits=from_logits)
    decided = np.eye(4, dtype="float32")[answer["label"]]
    assert evaluate(ids, decided, "f1", w, threshold="argmax") == pytest.approx(expected)
    plain = p.argmax(-1)
    assert np.array_equal(answer["label"], plain) == (threshold != OFFSETS)


def test_the_tuned_decision_in_a_process_without_keras(tmp_path):
    ids, p, w = classes_batch()
    tuned = tune_threshold(ids, p, "kappa", w, decision="argmax", weights="quadratic")
    keras.utils.set_random_seed(4)
    network = model(keras.layers.Softmax())
    export_classifier(network, tmp_path / "grades", tuned.threshold, warmup=np.log(p)[:3])
    np.savez(tmp_path / "grades", x=np.log(p))
    serve_without_keras(tmp_path)
    with np.load(tmp_path / "grades.1.out.npz") as answer:
        decided = np.eye(4, dtype="float32")[answer["label"]]
    reached = evaluate(ids, decided, "kappa", w, weights="quadratic")
    assert reached == pytest.approx(tuned.score, abs=0.01)  # the softmax of log p is p, up to its last digits


def test_images_have_a_label_for_each_pixel(tmp_path):
    network = model(keras.layers.Conv2D(3, 1), shape=(2, 5, 4))
    x = np.random.default_rng(0).normal(size=(6, 2, 5, 4)).astype("float32")
    answer = served(export_classifier(network, tmp_path, "argmax", from_logits=True), x=x)
    assert answer["label"].shape == (6, 2, 5)
    np.testing.assert_array_equal(answer["label"], network.predict(x, verbose=0).argmax(-1))


@pytest.mark.parametrize(
    ("units", "threshold", "message"),
    [
        (1, "argmax", "a number for predictions of one class"),
        (3, OFFSETS, "must hold 3 numbers, one for each class"),
        (3, "largest", "'argmax', or a decision .* Received: threshold='largest'"),
    ],
)
def test_what_is_refused(tmp_path, units, threshold, message):
    with pytest.raises(ValueError, match=message):
        export_classifier(model(keras.layers.Dense(units, "softmax")), tmp_path, threshold)
    assert not list(tmp_path.iterdir())


def test_the_signature_says_what_comes_back(tmp_path):
    network = model(keras.layers.Dense(3, "softmax"))
    serve = tf.saved_model.load(export_classifier(network, tmp_path, "argmax")).signatures["serving_default"]
    outputs = {name: (spec.shape.as_list(), spec.dtype) for name, spec in serve.structured_outputs.items()}
    assert outputs == {"probability": ([None, 3], tf.float32), "label": ([None], tf.int32)}
