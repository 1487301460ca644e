"""Exports of several classes: the label is the id of the class that wins, as metrics decide it."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from class_cases import classes_batch
from exported_models import serve_without_keras, served

from keras_softsets import Argmax, evaluate, export_classifier, tune_threshold

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
        (3, "largest", r"'argmax' or Argmax\(...\). Received: threshold=largest"),
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
