"""One set of rules for data: the same for all functions, class ids as one-hot labels, and bad values never silent."""

import keras
import numpy as np
import pytest
from cases import NINE, batch, compiled, of_tensorflow, value_and_gradient
from class_cases import classes_batch
from keras import ops

from keras_softsets import (
    SoftF1,
    SoftKappa,
    confusion_matrix,
    evaluate,
    metrics,
    multiclass_confusion_matrix,
    tune_threshold,
)

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
            USES[use](*(None if x is None else ops.convert_to_tensor(x, "float32") for x in data))


@pytest.mark.parametrize("heaviside", ["linear", "step", "sigmoid"])
@pytest.mark.parametrize("thresholds", [0.5, NINE], ids=["one", "nine"])
@of_tensorflow
def test_in_a_graph_nan_in_every_cell(heaviside, thresholds):
    import tensorflow as tf

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


@of_tensorflow  # JAX has its own in test_backends.py; PyTorch's compiler would need g++ and minutes
@pytest.mark.parametrize(("labels", "activation"), [([-1, 1], "sigmoid"), ([0, 255], "sigmoid"), ([0, 1], "linear")])
def test_a_compiled_fit_and_evaluate_show_nan(labels, activation):
    x, y = 5 * np.linspace(-1, 1, 64)[:, None], np.repeat(labels, 32)
    model = linear_model(SoftF1(), activation=activation, jit_compile=True)
    model.layers[-1].set_weights([np.ones((1, 1)), np.zeros(1)])
    values = model.evaluate(x, y, verbose=0, return_dict=True)
    assert np.isnan([values["loss"], values["f1"]]).all()
    stop = keras.callbacks.TerminateOnNaN()
    history = model.fit(x, y, epochs=5, verbose=0, callbacks=[stop]).history["loss"]
    assert len(history) == 1


def test_labels_that_are_masked_may_be_anything():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "sigmoid")])
    model.compile("sgd", SoftF1(), weighted_metrics=[metrics.F1()])
    loss = model.evaluate(
        np.ones((4, 1)), np.array([0, 1, 255, -1]), sample_weight=np.array([1, 1, 0, 0]), verbose=0, return_dict=True
    )["loss"]
    whole = model.evaluate(np.ones((2, 1)), np.array([0, 1]), verbose=0, return_dict=True)
    assert loss == pytest.approx(whole["loss"], rel=1e-6)


def test_probabilities_that_overshoot_a_little_are_clipped():
    assert evaluate([0, 1], [-0.05, 1.05]) == 1.0
    assert float(SoftF1()([0, 1], [-0.05, 1.05])) == float(SoftF1()([0, 1], [0.0, 1.0]))


@of_tensorflow
def test_a_vector_of_weights_belongs_to_samples_whatever_the_static_shape():
    import tensorflow as tf

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


WHOLE = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]
WHOLE += [] if keras.config.backend() == "torch" else ["uint64"]
FLOATING = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATING])
def test_every_type(dtype):
    ids, p, w = classes_batch(n=40, classes=2 if dtype == "bool" else 4)
    expected = evaluate(np.eye(p.shape[1])[ids], p, "f1", w, threshold="argmax")
    typed = ops.cast(ids, dtype)
    assert float(metrics.F1(threshold="argmax")(typed, p, w)) == pytest.approx(expected, rel=1e-6)
    with_ignored = metrics.F1(threshold="argmax", ignore_class=-1 if dtype == "bool" else 100)
    assert float(with_ignored(typed, p, w)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("shape", [(24,), (24, 1), (2, 3, 4), (2, 3, 4, 1)])
@pytest.mark.parametrize("threshold", ["argmax", 0.4, [0.3, 0.5]])
def test_every_shape_and_decision(shape, threshold):
    ids, p, w = classes_batch(n=24)
    leading = shape if shape[-1] != 1 else shape[:-1]
    y, q, weight = ids.reshape(shape), p.reshape(*leading, 4), w.reshape(leading)
    hot = np.eye(4, dtype="float32")[ids].reshape(q.shape)
    np.testing.assert_allclose(
        np.stack(confusion_matrix(y, q, weight, threshold=threshold)),
        np.stack(confusion_matrix(hot, q, weight, threshold=threshold)),
        rtol=1e-6,
    )
    if threshold == "argmax":
        found, expected = (multiclass_confusion_matrix(labels, q, weight).counts for labels in (y, hot))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_shapes_that_are_no_ids():
    p = np.full((6, 3), 1 / 3, "float32")
    for shape in ((5,), (6, 2)):
        with pytest.raises(ValueError, match=r"`y_true`.*Received"):
            evaluate(np.zeros(shape, int), p, threshold="argmax")
    one = np.full((6, 1), 0.5, "float32")  # one class has no ids: labels in [0, 1]
    assert evaluate([0, 1, 1, 0, 1, 1], one, "recall") == 1.0


@pytest.mark.parametrize("wrong", [-1, 4, 255, 1.5, float("nan")])
def test_ids_that_do_not_exist(wrong):
    ids, p, _ = classes_batch(n=6)
    ids = np.append(ids[:5], wrong)
    loss, metric = SoftKappa(), metrics.F1(threshold="argmax")
    for use in (loss, metric, lambda y, p: evaluate(y, p, threshold=0.5)):
        with pytest.raises(ValueError, match=r"whole numbers from 0 to 3.*Received: (-1|4|255|1.5|nan)$"):
            use(ids, p)
    if keras.config.backend() == "tensorflow":
        _in_graphs(loss, metric, ids, p)


def _in_graphs(loss, metric, ids, p):
    import tensorflow as tf

    assert np.isnan(tf.function(loss, jit_compile=True)(tf.constant(ids), tf.constant(p)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="these must be below the number of outputs"):
        tf.function(loss)(tf.constant(ids), tf.constant(p))
    tf.function(metric.update_state)(tf.constant(ids), tf.constant(p))
    assert np.isnan(metric.result())


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_an_id_that_does_not_count_may_be_anything(mode):
    ids, p, w = classes_batch(n=12)
    odd = np.where(np.arange(12) % 3 == 0, -1, ids)
    kept = odd >= 0
    for make in (SoftKappa, lambda **k: SoftF1(threshold="argmax", **k), lambda **k: SoftF1(threshold=0.5, **k)):
        expected = float(make()(ids[kept], p[kept], w[kept]))
        calls = (make(), (w * kept).astype("float32")), (make(ignore_class=-1), w)
        for loss, weight in calls:
            call = loss if mode == "eager" else compiled(loss)
            assert float(call(*map(ops.convert_to_tensor, (odd, p, weight)))) == pytest.approx(expected, rel=1e-5)


def test_ignored_ids_have_no_slope_and_their_predictions_may_be_nan():
    ids, p, w = classes_batch(n=12)
    odd = np.where(np.arange(12) % 3 == 0, 255, ids).astype("uint8")
    value, gradient = value_and_gradient(SoftKappa(ignore_class=255), odd, np.where(odd[:, None] == 255, np.nan, p), w)
    clean = value_and_gradient(SoftKappa(), ids[odd != 255], p[odd != 255], w[odd != 255])
    assert value == pytest.approx(clean[0], rel=1e-5)
    np.testing.assert_allclose(gradient[odd != 255], clean[1], atol=1e-6)
    assert not gradient[odd == 255].any()


def test_ignore_class_of_a_single_class():
    y, p = np.array([0, 1, 255, 1]), np.array([0.2, 0.7, 0.9, 0.4], "float32")
    assert evaluate(y, p, ignore_class=255) == pytest.approx(evaluate(y[[0, 1, 3]], p[[0, 1, 3]]))
    with pytest.raises(ValueError, match=r"`ignore_class` must be None unless"):
        evaluate(np.eye(3), np.eye(3), ignore_class=255)
