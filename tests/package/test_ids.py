"""Class ids as labels: all types and shapes equal one-hot labels, and an id that does not exist is never silent."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from class_cases import classes_batch, value_and_gradient

from keras_softsets import SoftF1, SoftKappa, confusion_matrix, evaluate, metrics, multiclass_confusion_matrix

WHOLE = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATING = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATING])
def test_every_type(dtype):
    ids, p, w = classes_batch(n=40, classes=2 if dtype == "bool" else 4)
    expected = evaluate(np.eye(p.shape[1])[ids], p, "f1", w, threshold="argmax")
    typed = tf.cast(ids, dtype)
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
    for jit in (False, True):
        assert np.isnan(tf.function(loss, jit_compile=jit)(tf.constant(ids), tf.constant(p)))
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
            call = loss if mode == "eager" else tf.function(loss)
            assert float(call(tf.constant(odd), tf.constant(p), tf.constant(weight))) == pytest.approx(
                expected, rel=1e-5
            )


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


def test_fit_with_ids_weights_class_weight_and_masks():
    """Keras gives ids of shape (n, 1) or (n,) to losses, and weights for them; a mask removes time steps."""
    ids, p, w = classes_batch(n=60, classes=3)
    x = np.log(p)
    values = []
    for labels in (ids, ids[:, None], np.eye(3)[ids]):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, "softmax")])
        model.compile("sgd", SoftKappa(), weighted_metrics=[metrics.Kappa()])
        logs = model.fit(x, labels, 20, sample_weight=w, shuffle=False, verbose=0).history
        values.append([logs["loss"][0], logs["kappa"][0]])
    np.testing.assert_allclose(values[1:], [values[0]] * 2, rtol=1e-6)
    logs = model.fit(x, ids, 20, class_weight={0: 1, 1: 0, 2: 2}, shuffle=False, verbose=0).history
    assert np.isfinite(logs["loss"]).all()

    sequences = np.random.default_rng(0).normal(size=(8, 5, 2)).astype("float32")
    sequences[:, 3:] = 0
    steps = np.random.default_rng(1).integers(0, 3, (8, 5))
    steps[:, 3:] = 99  # under the mask
    model = keras.Sequential([keras.Input((5, 2)), keras.layers.Masking(), keras.layers.Dense(3, "softmax")])
    for per_sample in (False, True):
        reported = [metrics.F1(threshold="argmax", per_sample=per_sample)]
        model.compile("sgd", SoftF1(threshold="argmax", per_sample=per_sample), metrics=reported)
        found = model.evaluate(sequences, steps, verbose=0)
        q = model.predict(sequences, verbose=0)[:, :3]
        options = {"threshold": "argmax", "per_sample": per_sample}
        assert found[1] == pytest.approx(evaluate(steps[:, :3], q, **options), rel=1e-5)
        assert found[0] == pytest.approx(1 - evaluate(steps[:, :3], q, heaviside="linear", **options), rel=1e-5)
