"""Blends: each part as if it were alone, in value, gradient and logs; on one device, on two, and after saving."""

import copy
import pathlib
import pickle

import keras
import numpy as np
import processes
import pytest
import tensorflow as tf
from cases import batch, with_gradient

from keras_softsets import BlendedLoss, SoftAUROC, SoftF1, SoftKappa, metrics
from keras_softsets.blends._metrics import sums

SCRIPT = pathlib.Path(__file__).parents[1] / "scripts" / "replicas_blend.py"
WEIGHTS = {"f1": 0.7, "bce": 1.3}


def parts(**options):
    return {"f1": SoftF1(**options), "bce": keras.losses.BinaryCrossentropy(**options)}


def data(n=48, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 4)).astype("float32")
    y = (x[:, 0] + random.normal(size=n) > 0.8).astype("float32")
    return x, y, random.uniform(0.2, 3, n).astype("float32")


def value_and_gradient(loss, y, logits, weight=None, activation=tf.sigmoid, mask=None):
    def of_logits(z):
        p = activation(z)
        if mask is not None:
            p._keras_mask = tf.constant(mask)
        return loss(y, p, weight)

    value, gradient = with_gradient(of_logits, tf.constant(logits))
    return float(value), gradient.numpy()


def assert_sum_of_parts(made, weights, *arguments, **options):
    """The blend against the weighted sum of its parts, each computed alone."""
    alone = {key: value_and_gradient(part, *arguments, **options) for key, part in made.items()}
    found = value_and_gradient(BlendedLoss(made, weights), *arguments, **options)
    for got, want in zip(
        found, zip(*[(weights[k] * value, weights[k] * slope) for k, (value, slope) in alone.items()])
    ):
        np.testing.assert_allclose(got, sum(want), rtol=1e-6, atol=1e-6)
    assert np.abs(found[1]).max() > 1e-3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("logits", [False, True])
def test_gradient_is_the_weighted_sum_of_the_parts(weighted, logits):
    y, p, w = batch(60, classes=1)
    activation = tf.identity if logits else tf.sigmoid
    made = parts(from_logits=logits) | {"auroc": SoftAUROC(from_logits=logits)}
    assert_sum_of_parts(made, {**WEIGHTS, "auroc": 0.2}, y, 4 * p - 2, w if weighted else None, activation=activation)


@pytest.mark.parametrize("reduction", ["sum_over_batch_size", "mean", "mean_with_sample_weight", "sum"])
def test_masks_reach_each_part(reduction):
    y, p, _ = batch(40, classes=1)
    y, z = y.reshape(10, 4, 1).astype("float32"), (4 * p - 2).reshape(10, 4, 1)
    mask = np.random.default_rng(1).random((10, 4)) < 0.6
    w = np.random.default_rng(2).uniform(0.1, 2, (10, 4)).astype("float32")
    made = {"f1": SoftF1(), "bce": keras.losses.BinaryCrossentropy(reduction=reduction)}
    assert_sum_of_parts(made, WEIGHTS, y, z, w, mask=mask)
    _, slope = value_and_gradient(BlendedLoss(made, WEIGHTS), y, z, w, mask=mask)
    assert not slope[~mask].any()


def test_masks_survive_half_precision():
    y, p, _ = batch(40, classes=1)
    y, half = y.reshape(10, 4, 1).astype("float32"), tf.cast(p.reshape(10, 4, 1), tf.float16)
    half._keras_mask = tf.constant(np.random.default_rng(1).random((10, 4)) < 0.6)
    want = sum(float(part(y, half)) for part in parts().values())
    assert float(BlendedLoss(parts())(y, half)) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("shape", [(12,), (12, 1)])
def test_class_ids_beside_sparse_crossentropy(shape):
    random = np.random.default_rng(0)
    ids, z = random.integers(0, 3, 12), random.normal(size=(12, 3)).astype("float32")
    made = {"f1": SoftF1(threshold="argmax"), "kappa": SoftKappa(), "ce": keras.losses.SparseCategoricalCrossentropy()}
    weights = {"f1": 1.0, "kappa": 0.5, "ce": 0.3}
    assert_sum_of_parts(made, weights, ids.reshape(shape), z, activation=tf.nn.softmax)
    one_hot = dict(made, ce=keras.losses.CategoricalCrossentropy())
    want, _ = value_and_gradient(BlendedLoss(one_hot, weights), np.eye(3)[ids], z, activation=tf.nn.softmax)
    got, _ = value_and_gradient(BlendedLoss(made, weights), ids.reshape(shape), z, activation=tf.nn.softmax)
    assert got == pytest.approx(want, rel=1e-6)


class PlainSquares(keras.losses.Loss):
    """What users write; called directly, it broadcasts (n,) against (n, 1) to (n, n)."""

    def call(self, y_true, y_pred):
        return keras.ops.mean(keras.ops.square(y_true - y_pred), axis=-1)


@pytest.mark.parametrize("y_shape", [(9,), (9, 1)])
@pytest.mark.parametrize("p_shape", [(9,), (9, 1)])
def test_labels_and_predictions_never_broadcast(y_shape, p_shape):
    y, p, w = batch(9, classes=1)
    blend = BlendedLoss({"f1": SoftF1(), "squares": PlainSquares(), "bce": keras.losses.BinaryCrossentropy()})
    want = float(SoftF1()(y, p, w)) + np.mean(w * (y - p)[:, 0] ** 2)
    want += np.mean(-w * np.log(np.where(y, p, 1 - p))[:, 0])
    assert float(blend(y.reshape(y_shape), p.reshape(p_shape), w)) == pytest.approx(want, rel=1e-5)


def fitted(blend, x, y, w=None, outputs=1, **options):
    keras.utils.set_random_seed(4)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(outputs), keras.layers.Activation("sigmoid")])
    model.compile(keras.optimizers.SGD(0.5), blend, weighted_metrics=blend.metrics(), **options)
    history = model.fit(x, y, 16, epochs=2, sample_weight=w, shuffle=False, verbose=0).history
    return model, history


def test_fit_equals_a_loop_by_hand():
    x, y, w = data()
    model, _ = fitted(BlendedLoss(parts(), WEIGHTS), x, y, w)
    keras.utils.set_random_seed(4)
    alone = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1), keras.layers.Activation("sigmoid")])
    for start in (*range(0, 48, 16), *range(0, 48, 16)):
        rows = slice(start, start + 16)
        with tf.GradientTape() as tape:
            p = alone(x[rows])
            total = sum(WEIGHTS[key] * part(y[rows, None], p, w[rows]) for key, part in parts().items())
        variables = [v.value for v in alone.trainable_variables]
        for variable, slope in zip(variables, tape.gradient(total, variables)):
            variable.assign_sub(0.5 * slope)
    for got, want in zip(model.get_weights(), alone.get_weights()):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{"jit_compile": True}, {"run_eagerly": True}, {"steps_per_execution": 3}])
def test_ways_of_running_agree(options):
    x, y, w = data()
    (plain, first), (other, second) = (
        fitted(BlendedLoss(parts(), WEIGHTS), x, y, w, **more) for more in ({"jit_compile": False}, options)
    )
    for name in first:
        np.testing.assert_allclose(second[name], first[name], rtol=1e-5)
    for got, want in zip(other.get_weights(), plain.get_weights()):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_class_weight_is_sample_weight():
    x, y, _ = data()
    blend = BlendedLoss(parts(), WEIGHTS)
    model, _ = fitted(blend, x, y, np.where(y == 1, 3.0, 1.0))
    keras.utils.set_random_seed(4)
    other = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1), keras.layers.Activation("sigmoid")])
    other.compile(keras.optimizers.SGD(0.5), blend)
    other.fit(x, y, 16, epochs=2, class_weight={0: 1.0, 1: 3.0}, shuffle=False, verbose=0)
    for got, want in zip(other.get_weights(), model.get_weights()):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_sums_in_float32(policy):
    y, p, w = batch(300, classes=1)
    half = keras.ops.cast(p, policy.removeprefix("mixed_"))
    blend = BlendedLoss(parts(), WEIGHTS)
    assert float(blend(y, half, w)) == pytest.approx(float(blend(y, np.array(half, "float32"), w)), abs=1e-6)
    x, y, w = data()
    keras.config.set_dtype_policy(policy)
    try:
        model, history = fitted(blend, x, y, w)
    finally:
        keras.config.set_dtype_policy("float32")
    _, whole = fitted(blend, x, y, w)
    np.testing.assert_allclose(history["loss"], whole["loss"], rtol=2e-2)
    assert blend(y, model.predict(x, verbose=0), w).dtype == "float32"


def test_parts_in_the_logs_are_what_the_parts_alone_give():
    x, y, w = data(41)  # the last batch has nine samples
    blend = BlendedLoss(parts() | {"sum": keras.losses.BinaryCrossentropy(reduction="sum")}, {**WEIGHTS, "sum": 0.1})
    model, _ = fitted(blend, x, y, w)
    logs = model.evaluate(x, y, 16, sample_weight=w, verbose=0, return_dict=True)
    p = model.predict(x, verbose=0)
    for key, part in blend.parts.items():
        assert logs[f"{key}_loss"] == pytest.approx(float(part(y[:, None], p, w)), rel=1e-6)
    soft = metrics.F1(heaviside="linear")
    assert logs["f1_loss"] == pytest.approx(1 - float(soft(y, p, w)), rel=1e-6)
    per_batch = [float(SoftF1()(y[k : k + 16], p[k : k + 16], w[k : k + 16])) for k in (0, 16, 32)]
    assert abs(np.average(per_batch, weights=[16, 16, 9]) - logs["f1_loss"]) > 1e-3  # which is why it is a metric


@pytest.mark.parametrize("reduction", ["sum_over_batch_size", "mean", "mean_with_sample_weight"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_mean_is_its_sum_by_its_divisor(reduction, weighted, masked):
    random = np.random.default_rng(0)
    ids = random.integers(-1, 3, (6, 5))  # -1 is ignored, by a mask of the loss's own
    p = tf.nn.softmax(random.normal(size=(6, 5, 3)).astype("float32"))
    if masked:
        p._keras_mask = tf.constant(random.random((6, 5)) < 0.7)
    part = keras.losses.SparseCategoricalCrossentropy(ignore_class=-1, reduction=reduction)
    w = random.uniform(0.5, 2, (6, 5)).astype("float32") if weighted else None
    found = sums(part, ids, p, w)
    assert float(found.ratio()) == pytest.approx(float(part(ids, p, w)), rel=1e-6)
    counts = (ids >= 0) & (p._keras_mask.numpy() if masked else True)
    by_weight = weighted and reduction == "mean_with_sample_weight"
    assert float(found.divisor) == pytest.approx(np.sum(counts * w) if by_weight else counts.sum(), rel=1e-6)


def test_a_part_that_is_one_number_counts_by_samples():
    y, p, _ = batch(20, classes=1)
    dice = keras.losses.Dice()
    (metric,) = BlendedLoss({"dice": dice}).metrics()
    metric.update_state(y[:15], p[:15])
    metric.update_state(y[15:], p[15:])
    want = np.average([dice(y[:15], p[:15]), dice(y[15:], p[15:])], weights=[15, 5])
    assert float(metric.result()) == pytest.approx(want, rel=1e-6)
    assert float(BlendedLoss({"dice": dice})(y, p)) == pytest.approx(float(dice(y, p)), rel=1e-6)


def test_several_outputs_have_a_blend_each():
    x, y, w = data()
    inputs = keras.Input((4,))
    named = {name: keras.layers.Dense(1, "sigmoid", name=name)(inputs) for name in ("a", "b")}
    model = keras.Model(inputs, named)
    blends = {"a": BlendedLoss(parts(), WEIGHTS), "b": BlendedLoss(parts(), {"f1": 0.1, "bce": 2.0})}
    seen = {name: blend.metrics() for name, blend in blends.items()}
    model.compile("sgd", blends, loss_weights={"a": 1.0, "b": 0.5}, weighted_metrics=seen)
    labels = {"a": y, "b": 1 - y}
    logs = model.evaluate(x, labels, 48, sample_weight={"a": w, "b": w}, verbose=0, return_dict=True)
    p = model.predict(x, verbose=0)
    for name, blend in blends.items():
        assert logs[f"{name}_loss"] == pytest.approx(float(blend(labels[name], p[name], w)), rel=1e-6)
        for key, part in blend.parts.items():
            assert logs[f"{name}_{key}_loss"] == pytest.approx(float(part(labels[name][:, None], p[name], w)), rel=1e-6)
    assert logs["loss"] == pytest.approx(logs["a_loss"] + 0.5 * logs["b_loss"], rel=1e-6)


def test_weights_change_without_tracing_again():
    y, p, _ = batch(20, classes=1)
    blend, traces = BlendedLoss(parts(), WEIGHTS), []

    @tf.function
    def loss():
        traces.append(1)
        return blend(y, p)

    first = float(loss())
    blend.set_weights({"f1": 0.0, "bce": 2.0})
    assert float(loss()) == pytest.approx(2 * float(parts()["bce"](y, p)), rel=1e-6)
    assert first == pytest.approx(sum(WEIGHTS[k] * float(part(y, p)) for k, part in parts().items()), rel=1e-6)
    assert len(traces) == 1


def test_saved_and_loaded_without_custom_objects(tmp_path):
    x, y, w = data()
    blend = BlendedLoss(parts(), WEIGHTS, name="mine")
    model, _ = fitted(blend, x, y, w)
    blend.set_weights({"f1": 0.3, "bce": 0.1})  # what a schedule has reached
    model.save(tmp_path / "m.keras")
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    assert (loaded.loss.name, loaded.loss.weights) == ("mine", {"f1": 0.3, "bce": 0.1})
    for other in (loaded, model):
        other.fit(x, y, 16, sample_weight=w, shuffle=False, verbose=0)
    want, got = (m.evaluate(x, y, 16, sample_weight=w, verbose=0, return_dict=True) for m in (model, loaded))
    assert set(want) == {"loss", "f1_loss", "bce_loss"}
    assert got == pytest.approx(want, rel=1e-6)


def test_weights_default_to_one_and_logits_are_known():
    assert BlendedLoss(parts()).weights == {"f1": 1.0, "bce": 1.0}
    assert BlendedLoss(parts(from_logits=True)).from_logits is True
    assert BlendedLoss({"hinge": keras.losses.Hinge()}).from_logits is None
    BlendedLoss({"hinge": keras.losses.Hinge(), "f1": SoftF1(from_logits=True)})  # a hinge does not say what it needs


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BlendedLoss({}), "`parts` must be a non-empty dict"),
        (lambda: BlendedLoss({"bce": keras.losses.binary_crossentropy}), "instances of keras.losses.Loss"),
        (lambda: BlendedLoss({"all": BlendedLoss(parts())}), "must not hold a blend"),
        (lambda: BlendedLoss(parts(), {"f1": 1.0}), r"`weights` must have a number for each .*\['f1', 'bce'\]"),
        (lambda: BlendedLoss(parts(), {"f1": 1.0, "bce": -1}), r"`weights\['bce'\]` must be a finite number"),
        (lambda: BlendedLoss(parts(), {"f1": 0, "bce": 0}), "must not all be 0"),
        (lambda: BlendedLoss(parts()).set_weights({"f1": np.nan, "bce": 1}), r"`weights\['f1'\]`"),
        (lambda: BlendedLoss({"f1": SoftF1(), "bce": parts(from_logits=True)["bce"]}), "f1: from_logits=False, bce: "),
        (lambda: BlendedLoss({"bce": keras.losses.BinaryCrossentropy(reduction=None)}), "`reduction` of a part"),
        (lambda: BlendedLoss({"f1": SoftF1(average=None, reduction=None)}), "`reduction` of a part"),
    ],
)
def test_errors_at_construction(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("part", "y", "p", "message"),
    [
        (PlainSquares(), np.zeros((4, 3)), np.zeros((4, 1)), "must have the same shape"),
        (keras.losses.MeanSquaredError(), np.zeros((3, 1)), np.zeros((3, 3)), "must be one-hot for MeanSquaredError"),
        (keras.losses.MeanSquaredError(), np.zeros(3), np.zeros((3, 3)), "must be one-hot for MeanSquaredError"),
    ],
)
def test_shapes_that_would_broadcast_are_refused(part, y, p, message):
    with pytest.raises(ValueError, match=message):
        BlendedLoss({"part": part})(y, p)


@pytest.fixture(scope="module")
def replicas(tmp_path_factory):
    path = tmp_path_factory.mktemp("replicas") / "blend.npz"
    processes.run_well(SCRIPT, path)
    with np.load(path) as found:
        return dict(found)


@pytest.mark.parametrize("size", [12, 5, 1])  # even, uneven, and nothing for the second replica
def test_two_replicas_have_the_loss_of_the_global_batch(replicas, size):
    weights = {"f1": 0.7, "bce": 1.3, "mean": 0.4, "sum": 0.01}
    for which in ("value", "gradient"):
        alone = {key: replicas[f"batch {size}/{key}/{which}/one"] for key in weights}
        want = sum(weights[key] * alone[key] for key in weights)
        np.testing.assert_allclose(replicas[f"batch {size}/blend/{which}/one"], want, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(replicas[f"batch {size}/blend/{which}/two"], want, rtol=1e-6, atol=1e-6)


def test_keras_alone_is_not_exact_on_uneven_replicas(replicas):
    """So a blend, which is, cannot equal it there; if this fails, Keras has changed."""
    assert np.abs(replicas["batch 5/bce/gradient/two"] - replicas["batch 5/bce/gradient/one"]).max() > 0.05


def test_two_replicas_train_and_log_as_one_device(replicas):
    names = [name for name in replicas if name.startswith("fit ") and name.endswith("/one")]
    assert len(names) == 12
    for name in names:
        tolerance = 3e-3 if "bfloat16" in name else 1e-5
        np.testing.assert_allclose(
            replicas[name.replace("/one", "/two")], replicas[name], rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("where", ["scope", "outside"])
def test_outside_of_replicas_nothing_is_divided(replicas, where):
    np.testing.assert_allclose(replicas[f"{where}/two"], replicas[f"{where}/one"], rtol=1e-6)


def test_lists_and_names_of_kerass_losses(tmp_path):
    y, p = [0, 1, 1], [0.3, 0.4, 0.9]
    expected = BlendedLoss({"f1": SoftF1(), "bce": keras.losses.BinaryCrossentropy()}, {"f1": 1.0, "bce": 0.3})
    for parts, weights in (
        ([SoftF1(), "binary_crossentropy"], [1.0, 0.3]),
        ((SoftF1(), keras.losses.BinaryCrossentropy()), {"soft_f1": 1.0, "binary_crossentropy": 0.3}),
        ({"f1": SoftF1(), "bce": "BinaryCrossentropy"}, (1.0, 0.3)),
    ):
        blend = BlendedLoss(parts, weights)
        assert float(blend(y, p)) == float(expected(y, p))
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(blend))
        assert float(again(y, p)) == float(expected(y, p))
        assert repr(again) == repr(blend)
        assert [metric.name for metric in blend.metrics()] == [f"{key}_loss" for key in blend.parts]
    assert type(BlendedLoss(["kl_divergence"]).parts["kl_divergence"]) is keras.losses.KLDivergence
    blend.set_weights([0.0, 1.0])
    assert float(blend(y, p)) == pytest.approx(float(keras.losses.BinaryCrossentropy()(y, p)))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["binary_crosentropy"], "names of Keras's own such as 'binary_crossentropy'. Received: 'binary_crosentropy'"),
        (["loss"], "names of Keras's own"),
        ([SoftF1(), SoftF1(threshold=0.3)], "must be a dict if losses have the same name"),
        ([], "must be a non-empty dict of names and losses, or a list"),
        ("mse", "must be a non-empty dict of names and losses, or a list"),
    ],
)
def test_parts_that_are_no_losses(parts, message):
    with pytest.raises(ValueError, match=message):
        BlendedLoss(parts)


def test_the_metrics_of_a_blend_can_be_pickled_and_copied():
    blend = BlendedLoss({"f1": SoftF1(), "bce": keras.losses.BinaryCrossentropy()})
    y, p = [0, 1, 1], [0.3, 0.4, 0.9]
    for metric in blend.metrics():
        for again in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric)):
            assert float(again(y, p)) == float(metric(y, p)) > 0
            assert again.name == metric.name
            metric.reset_state()
