"""Each loss in `fit`: half precision, compiled or not, weights, masks, and shapes that Keras would broadcast."""

import functools
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from cases import LOSSES, paired
from class_cases import classes_batch

from keras_softsets import SoftF1, SoftFBeta, SoftKappa, SoftSetLoss, evaluate, metrics

# On their own these are best served by calling everything positive, or nothing, or do not mind where 0.5 lies.
ONE_SIDED = {"SoftRecall", "SoftSpecificity", "SoftPrecision", "SoftAccuracy", "SoftAUROC", "SoftAUPRC"}


def blobs(n=500, seed=0):
    random = np.random.default_rng(seed)
    y = (random.random(n) < 0.25).astype("float32")
    return (random.normal(size=(n, 3)) + 1.5 * y[:, None]).astype("float32"), y


def mlp(**output):
    layers = [
        keras.Input((3,)),
        keras.layers.Dense(8, "relu"),
        keras.layers.Dense(1, **{"activation": "sigmoid", **output}),
    ]
    return keras.Sequential(layers)


def train(model, loss, x, y, *, jit_compile="auto", epochs=6, batch_size=100, **fit):
    f1 = metrics.F1(from_logits=loss.evaluation.from_logits)
    model.compile(keras.optimizers.Adam(0.03), loss, metrics=[f1], jit_compile=jit_compile)
    history = model.fit(x, y, batch_size=batch_size, epochs=epochs, verbose=0, **fit).history
    assert np.isfinite(history["loss"]).all()
    assert all(np.isfinite(w).all() for w in model.get_weights())
    return history


def one_branch_for_each(losses):
    """Independent networks in one model: each loss trains its own, and Keras traces and compiles all of them once."""
    inputs = keras.Input((3,))
    outputs = {}
    for loss in losses:
        x = keras.layers.Dense(8, "relu")(inputs)
        outputs[loss.__name__] = keras.layers.Dense(1, "sigmoid", name=loss.__name__)(x)
    return keras.Model(inputs, outputs)


@pytest.mark.parametrize(
    ("policy", "jit_compile"),
    [
        ("mixed_float16", True),  # both at once; each alone is slow
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in itertools.product(("float32", "mixed_float16", "mixed_bfloat16"), (False, True))
            if pair != ("mixed_float16", True)
        ),
    ],
)
def test_every_loss_trains(policy, jit_compile):
    keras.config.set_dtype_policy(policy)
    x, y = blobs()
    model, names = one_branch_for_each(LOSSES), [loss.__name__ for loss in LOSSES]
    model.compile(
        keras.optimizers.Adam(0.03),
        {loss.__name__: loss() for loss in LOSSES},
        metrics={"SoftF1": [metrics.F1()]},  # one for all, since each is traced
        jit_compile=jit_compile,
    )
    history = model.fit(x, dict.fromkeys(names, y), batch_size=100, epochs=8, verbose=0).history
    assert history["SoftF1_f1"][-1] > 0.4
    found = model(x, training=False)
    for name in names:
        assert np.isfinite(history[f"{name}_loss"]).all(), name
        assert history[f"{name}_loss"][-1] < history[f"{name}_loss"][0], name
        if name not in ONE_SIDED:
            assert evaluate(y, found[name]) > 0.4, name
    assert all(np.isfinite(w).all() for w in model.get_weights())


def test_class_weight_and_sample_weight_are_one_thing_and_move_the_decision():
    x, y = blobs()
    results = {}
    for name, fit in {
        "plain": {},
        "class": {"class_weight": {0: 1.0, 1: 20.0}},
        "sample": {"sample_weight": np.where(y > 0, 20.0, 1.0)},
    }.items():
        keras.utils.set_random_seed(1)
        model = mlp()
        train(model, SoftF1(), x, y, shuffle=False, batch_size=96, **fit)  # the last batch is partial
        results[name] = model.predict(x, verbose=0)[:, 0]
    np.testing.assert_allclose(results["class"], results["sample"], atol=1e-6)
    recall = {name: (p[y > 0] >= 0.5).mean() for name, p in results.items()}
    assert recall["class"] > recall["plain"]
    assert (results["class"] >= 0.5).mean() > (results["plain"] >= 0.5).mean()


def test_evaluate_in_one_batch_is_the_loss_of_the_set_and_the_metric_is_always():
    x, y = blobs(300)
    model, w = mlp(), np.random.default_rng(1).random(300)
    soft = metrics.F1(heaviside="linear", name="soft")
    model.compile(loss=SoftF1(), weighted_metrics=[soft])
    p = model.predict(x, verbose=0)
    expected = float(SoftF1()(y, p, w))
    whole = model.evaluate(x, y, batch_size=300, sample_weight=w, verbose=0, return_dict=True)
    assert whole["loss"] == pytest.approx(expected, rel=1e-5)
    parts = model.evaluate(x, y, batch_size=7, sample_weight=w, verbose=0, return_dict=True)
    assert 1 - parts["soft"] == pytest.approx(expected, rel=1e-5)
    assert parts["loss"] != pytest.approx(expected, rel=1e-3)


@functools.cache
def losses_with_labels_of(shape, dtype):
    x, y = blobs(200)
    keras.utils.set_random_seed(1)
    return train(mlp(), SoftF1(), x, y.reshape(shape).astype(dtype), shuffle=False, epochs=2)["loss"]


@pytest.mark.parametrize(("dtype", "shape"), paired(["int32", "bool", "float64"], [(-1,), (-1, 1)]))
def test_labels_of_both_shapes_and_any_type_give_the_same_training(dtype, shape):
    expected = losses_with_labels_of((-1, 1), "float32")
    np.testing.assert_allclose(losses_with_labels_of(shape, dtype), expected, rtol=1e-6)


def test_masked_sequences():
    random = np.random.default_rng(0)
    length = random.integers(1, 9, 200)
    kept = np.arange(8) < length[:, None]
    x = np.where(kept[..., None], random.normal(size=(200, 8, 3)), 0).astype("float32")
    y = (x.sum(-1, keepdims=True) > 0.8).astype("float32")
    y[~kept] = 1.0  # labels of the padding must not matter

    def model():
        keras.utils.set_random_seed(1)
        layers = [keras.layers.Masking(), keras.layers.LSTM(8, return_sequences=True), keras.layers.Dense(1, "sigmoid")]
        return keras.Sequential([keras.Input((8, 3)), *layers])

    masked = model()
    history = train(masked, SoftF1(), x, y, epochs=4, shuffle=False)
    weighted = model()
    by_hand = train(weighted, SoftF1(), x, y, epochs=4, shuffle=False, sample_weight=kept.astype("float32"))
    np.testing.assert_allclose(history["loss"], by_hand["loss"], rtol=1e-5)
    assert history["loss"][-1] < history["loss"][0]
    p = masked.predict(x, verbose=0)
    result = masked.evaluate(x, y, batch_size=200, verbose=0, return_dict=True)
    assert result["loss"] == pytest.approx(float(SoftF1()(y[kept], p[kept])), rel=1e-4)
    assert result["f1"] == pytest.approx(float(metrics.F1()(y[kept], p[kept])), rel=1e-5)


def test_multi_label_one_hot_and_segmentation():
    random = np.random.default_rng(0)
    x = random.normal(size=(256, 4)).astype("float32")
    labels = (x[:, :3] + 0.3 * random.normal(size=(256, 3)) > 0.5).astype("float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "sigmoid")])
    history = train(model, SoftFBeta(2, average="macro", threshold=[0.3, 0.5, 0.7]), x, labels)
    assert history["loss"][-1] < history["loss"][0]

    one_hot = keras.utils.to_categorical(x[:, :3].argmax(1), 3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "softmax")])
    history = train(model, SoftF1(average="weighted"), x, one_hot, epochs=10)
    assert history["f1"][-1] > 0.7

    images = random.random((32, 8, 8, 1)).astype("float32")
    pixels = (images > 0.7).astype("float32")
    model = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Conv2D(1, 1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.5), SoftSetLoss("jaccard"), metrics=[metrics.Jaccard()])
    history = model.fit(images, pixels, batch_size=8, epochs=12, verbose=0).history
    assert history["jaccard"][-1] > 0.9


def test_logit_heads_train():
    x, y = blobs()
    history = train(mlp(activation=None), SoftF1(from_logits=True), x, y)
    assert history["loss"][-1] < history["loss"][0]
    assert history["f1"][-1] > 0.4


def test_several_outputs_with_loss_weights():
    x, y = blobs(200)
    inputs = keras.Input((3,))
    outputs = {name: keras.layers.Dense(1, "sigmoid", name=name)(inputs) for name in ("a", "b")}
    model = keras.Model(inputs, outputs)
    model.compile(loss={"a": SoftF1(), "b": "binary_crossentropy"}, loss_weights={"a": 2.0, "b": 0.5})
    result = model.evaluate(x, {"a": y, "b": y}, batch_size=200, verbose=0, return_dict=True)
    assert result["loss"] == pytest.approx(2 * result["a_loss"] + 0.5 * result["b_loss"], rel=1e-5)
    assert result["a_loss"] == pytest.approx(float(SoftF1()(y, model.predict(x, verbose=0)["a"])), rel=1e-5)


def test_a_plain_function_trains():
    x, y = blobs()
    history = train(mlp(), SoftSetLoss(lambda cells: cells.tp / (cells.tp + cells.fp + cells.fn)), x, y)
    assert history["loss"][-1] < history["loss"][0]


def test_batches_without_positives_do_no_harm():
    x, y = blobs()
    order = np.argsort(-y, kind="stable")  # all positives first: most batches have none
    weights = []
    for samples in (len(y), 100 * -(-int(y.sum()) // 100)):  # all batches, and those with positives
        keras.utils.set_random_seed(0)
        model = mlp()
        model.compile(keras.optimizers.SGD(0.3), SoftF1())
        rows = order[:samples]
        model.fit(x[rows], y[rows], batch_size=100, epochs=3, shuffle=False, verbose=0)
        weights.append(model.get_weights())
    assert samples < len(y)
    for found, expected in zip(*weights, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_data_set_with_unknown_shapes():
    x, y = blobs(64)
    data = tf.data.Dataset.from_generator(
        lambda: iter([(x[:40], y[:40]), (x[40:], y[40:])]), output_types=(tf.float32, tf.float32)
    ).map(lambda x, y: (tf.ensure_shape(x, [None, 3]), y))
    found = []
    for given in ({"x": data}, {"x": x, "y": y, "batch_size": 40, "shuffle": False}):
        keras.utils.set_random_seed(0)
        model = mlp()
        model.compile(loss=SoftF1(), metrics=[metrics.F1()])
        history = model.fit(**given, epochs=2, verbose=0).history
        found.append(history["loss"] + history["f1"])
    np.testing.assert_allclose(*found, rtol=1e-5)


@pytest.mark.parametrize("threshold", [0.5, (0.2, 0.5, 0.8)])
def test_one_nan_in_the_data_ends_training_with_terminate_on_nan(threshold):
    x, y = np.random.default_rng(0).normal(size=(64, 3)).astype("float32"), np.arange(64) % 3 == 0
    x[17, 1] = np.nan
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", SoftF1(threshold=threshold))
    history = model.fit(x, y, epochs=3, verbose=0, callbacks=[keras.callbacks.TerminateOnNaN()])
    assert len(history.epoch) == 1
    assert np.isnan(history.history["loss"]).all()


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
    found, start = [], model.get_weights()
    for weights in ({"class_weight": {0: 1, 1: 0, 2: 2}}, {"sample_weight": np.array([1.0, 0.0, 2.0])[ids]}):
        model.set_weights(start)
        logs = model.fit(x, ids, 20, **weights, shuffle=False, verbose=0).history
        found.append([logs["loss"][0], logs["kappa"][0]])
    np.testing.assert_allclose(*found, rtol=1e-5)

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
