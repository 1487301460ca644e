"""One set of rules for data: an error eagerly, NaN in every cell inside a graph, and the same for all functions."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from cases import NINE, batch

from keras_softsets import SoftF1, confusion_matrix, evaluate, metrics, tune_threshold

Y, P = [0, 1, 1, 0], [0.1, 0.8, 0.6, 0.3]
BAD = {
    "labels of -1": ([-1, 1, 1, -1], P, None, "`y_true` must be in"),
    "masks of 255": ([0, 255, 255, 0], P, None, "values from 0 to 255"),
    "logits": (Y, [-3.0, 4.0, 2.0, -1.0], None, "from_logits=True"),
    "negative weights": (Y, P, [1, 1, -1, 1], "`sample_weight` must be finite and non-negative"),
    "weights of NaN": (Y, P, [1, np.nan, 1, 1], "`sample_weight` must be finite"),
    "infinite weights": (Y, P, [1, np.inf, 1, 1], "`sample_weight` must be finite"),
    "labels of NaN": ([0, np.nan, 1, 0], P, None, "`y_true` must be in .* Received: NaN"),
}
USES = {
    "loss": lambda y, p, w: SoftF1()(y, p, w),
    "nine": lambda y, p, w: SoftF1(threshold=NINE)(y, p, w),
    "sigmoid": lambda y, p, w: SoftF1(heaviside="sigmoid")(y, p, w),
    "metric": lambda y, p, w: metrics.F1()(y, p, w),
    "evaluate": lambda y, p, w: evaluate(y, p, "f1", w),
    "cells": lambda y, p, w: confusion_matrix(y, p, w).tp,
    "area": lambda y, p, w: evaluate(y, p, "roc_auc", w),
    "tuner": lambda y, p, w: tune_threshold(y, p, "f1", w),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("case", BAD)
def test_eagerly_an_error_that_names_the_argument(use, case):
    *data, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        USES[use](*data)
    if use != "tuner":
        with pytest.raises(ValueError, match=message):  # of tensors, too
            USES[use](*(None if x is None else tf.constant(x, tf.float32) for x in data))


@pytest.mark.parametrize("heaviside", ["linear", "step", "sigmoid"])
@pytest.mark.parametrize("thresholds", [0.5, NINE], ids=["one", "nine"])
def test_in_a_graph_nan_in_every_cell(heaviside, thresholds):
    for weighted in (False, True):
        specs = [tf.TensorSpec([None], tf.float32)] * 3

        @tf.function(input_signature=specs)
        def cells(y, p, w, weighted=weighted):
            options = dict(threshold=thresholds, heaviside=heaviside)
            return tf.stack(confusion_matrix(y, p, w if weighted else None, **options))

        for y, p, w, _ in BAD.values():
            if (w is not None) == weighted:
                assert np.isnan(cells(*np.float32([y, p, w or np.ones(4)]))).all()
        assert np.isfinite(cells(*np.float32([Y, P, np.ones(4)]))).all()


def linear_model(loss, **options):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, options.pop("activation", "sigmoid"))])
    model.compile("sgd", loss, metrics=[metrics.F1()], **options)
    return model


@pytest.mark.parametrize(("labels", "activation"), [([-1, 1], "sigmoid"), ([0, 255], "sigmoid"), ([0, 1], "linear")])
def test_fit_and_evaluate_show_nan(labels, activation):
    x, y = 5 * np.linspace(-1, 1, 64)[:, None], np.repeat(labels, 32)
    model = linear_model(SoftF1(), activation=activation)
    model.layers[-1].set_weights([np.ones((1, 1)), np.zeros(1)])
    values = model.evaluate(x, y, verbose=0, return_dict=True)
    assert np.isnan([values["loss"], values["f1"]]).all()
    stop = keras.callbacks.TerminateOnNaN()
    history = model.fit(x, y, epochs=5, verbose=0, callbacks=[stop]).history["loss"]
    assert len(history) == 1


def test_labels_that_are_masked_may_be_anything():
    model = linear_model(SoftF1())
    values = model.evaluate(np.ones((4, 1)), np.array([0, 1, 255, -1]), sample_weight=np.array([1, 1, 0, 0]), verbose=0)
    assert np.isfinite(values[0])


def test_probabilities_that_overshoot_a_little_are_clipped():
    assert evaluate([0, 1], [-0.05, 1.05]) == 1.0
    assert float(SoftF1()([0, 1], [-0.05, 1.05])) == float(SoftF1()([0, 1], [0.0, 1.0]))


def test_a_vector_of_weights_belongs_to_samples_whatever_the_static_shape():
    y, p, _ = batch(3, 3)
    w = np.float32([1, 2, 0])
    unknown = [tf.TensorSpec([None, None]), tf.TensorSpec([None, None]), tf.TensorSpec([None])]
    graph = tf.function(lambda y, p, w: tf.stack(confusion_matrix(y, p, w)), input_signature=unknown)
    per_sample = np.stack(confusion_matrix(y, p, w[:, None]))
    np.testing.assert_array_equal(graph(y.astype("float32"), p, w), per_sample)
    np.testing.assert_array_equal(np.stack(confusion_matrix(y, p, w)), per_sample)
    assert not np.allclose(np.stack(confusion_matrix(y, p, w[None])), per_sample)
    y, p, _ = batch(7, 3)
    for vector in (w, tf.constant(w)):
        with pytest.raises(ValueError, match=r"per class \(1, classes\)"):
            confusion_matrix(y, p, vector)
    with pytest.raises(tf.errors.InvalidArgumentError):
        graph(y.astype("float32"), p, w)


def test_the_weighted_average_of_tiny_weights():
    y, p, _ = batch()
    expected = evaluate(y, p, average="weighted")
    for scale in (1e-30, 1e-33):
        assert evaluate(y, p, "f1", np.full(len(y), scale), average="weighted") == pytest.approx(expected, rel=1e-5)
        loss = float(SoftF1(average="weighted")(y, p, np.full(len(y), scale)))
        assert loss == pytest.approx(float(SoftF1(average="weighted")(y, p)), rel=1e-5)
