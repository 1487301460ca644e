"""The running matrix of guided cross-entropy: in training and validation, over replicas, saved, and resumed."""

import copy
import functools
import json
import pathlib
import pickle
import subprocess
import sys

import keras
import numpy as np
import processes
import pytest
import tensorflow as tf

from keras_softsets import BlendedLoss, BlendSchedule, GuidedCrossentropy, SoftF1, confusion_matrix, loss_for

SCRIPTS = pathlib.Path(__file__).parents[1] / "scripts"


def data(n=96, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 4)).astype("float32")
    return x, (x[:, :1] + random.normal(size=(n, 1)) > 1.0).astype("float32")


def network(loss, **options):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6, "tanh"), keras.layers.Dense(1, "sigmoid")])
    model.compile(keras.optimizers.Adam(0.02), loss, **options)
    return model


def trained_on(loss, y, p):
    """A training step's call, in eager mode."""
    with tf.GradientTape() as tape:
        p = tf.constant(p)
        tape.watch(p)
        return float(loss(y, tf.identity(p)))


def soft_cells(y, p):
    return np.array(confusion_matrix(y, p).stacked())[:, 0].astype("float64")


def test_the_matrix_fades_with_the_number_of_samples():
    random = np.random.default_rng(0)
    loss, want = GuidedCrossentropy(window=50), 0.0
    for n in (20, 30, 7, 40):
        y, p = (random.random((n, 1)) < 0.3).astype("float32"), random.random((n, 1)).astype("float32")
        trained_on(loss, y, p)
        want = want * np.exp(-n / 50) + soft_cells(y, p)
    np.testing.assert_allclose(loss._running.value, want, rtol=1e-6)
    positive, negative = loss.weights()
    tp, fp, fn, _ = want[:, 0]
    f1 = 2 * tp / (2 * tp + fp + fn)
    assert positive / negative == pytest.approx((2 - f1) / f1, rel=1e-6)
    assert loss.shift() == pytest.approx(np.log((2 - f1) / f1), rel=1e-6)


def test_the_loss_of_a_batch_is_weighted_by_the_running_matrix():
    (_, y), p = data(60), np.random.default_rng(1).random((60, 1)).astype("float32")
    loss = GuidedCrossentropy(window=50)
    trained_on(loss, y[:30], p[:30])
    value = trained_on(loss, y[30:], p[30:])
    tp, fp, fn, tn = (soft_cells(y[:30], p[:30]) * np.exp(-30 / 50) + soft_cells(y[30:], p[30:]))[:, 0]
    f1 = 2 * tp / (2 * tp + fp + fn)
    weights = np.where(y[30:] == 1, 2 - f1, f1)
    mean = ((2 - f1) * (tp + fn) + f1 * (fp + tn)) / (tp + fp + fn + tn)
    entropy = -np.log(np.where(y[30:] == 1, p[30:], 1 - p[30:]))
    assert value == pytest.approx(np.mean(weights * entropy) / mean, rel=1e-5)


def test_validation_reads_the_matrix_and_leaves_it_alone():
    (x, y), loss = data(), GuidedCrossentropy(window=200)
    model = network(loss)
    model.evaluate(x, y, verbose=0)  # before any training: by each batch's own matrix
    assert loss._running.value is None
    model.fit(x, y, 32, 2, verbose=0)
    before = loss._running.value.copy()
    values = [model.evaluate(x, y, batch_size, verbose=0) for batch_size in (8, 32, 96)]
    np.testing.assert_array_equal(loss._running.value, before)
    assert values == pytest.approx([values[0]] * 3, rel=1e-5)  # whatever the batches


def test_val_loss_is_that_of_the_matrix_after_the_epoch():
    (x, y), loss = data(), GuidedCrossentropy(window=200)
    model = network(loss)
    history = model.fit(x, y, 32, 2, verbose=0, validation_data=(x, y)).history
    assert history["val_loss"][-1] == pytest.approx(model.evaluate(x, y, verbose=0), rel=1e-6)


@pytest.mark.parametrize("how", ["eager", "jit", "steps"])
def test_every_way_of_fitting_gives_the_same_numbers(how):
    options = {"eager": {"run_eagerly": True}, "jit": {"jit_compile": True}, "steps": {"steps_per_execution": 3}}[how]
    x, y = data()
    found = []
    for more in ({}, options):
        loss = GuidedCrossentropy(window=60)
        history = network(loss, **more).fit(x, y, 32, 3, verbose=0, shuffle=False).history["loss"]
        found.append([*history, *loss._running.value.ravel()])
    np.testing.assert_allclose(*found, rtol=2e-5)


def test_batches_of_more_sizes_are_not_traced_again():
    loss, traced = GuidedCrossentropy(), []
    model = network(loss)

    @tf.function(reduce_retracing=True)
    def step(x, y):
        traced.append(1)
        with tf.GradientTape() as tape:
            value = loss(y, model(x))
        return tape.gradient(value, model.trainable_variables)

    x, y = data()
    step(x[:8], y[:8])
    step(x[:9], y[:9])
    before = len(traced)
    for n in (10, 17, 60):
        step(x[:n], y[:n])
    assert len(traced) == before


@pytest.fixture(scope="module")
def replicas(tmp_path_factory):
    @functools.cache
    def numbers(*more):
        folder = tmp_path_factory.mktemp("replicas")
        # Not by `processes`, whose shortcut for the origins of operations crashes TensorFlow (2.21) in this script.
        script = SCRIPTS / "replicas_guided.py"
        subprocess.run([sys.executable, script, "numbers.npz", *more], cwd=folder, check=True)
        with np.load(folder / "numbers.npz") as found:
            return dict(found)

    return numbers


@pytest.mark.parametrize(
    ("run", "more"), [("fit blend", ()), ("loop", ()), pytest.param("fit kappa", ["kappa"], marks=pytest.mark.slow)]
)
def test_two_replicas_are_one(replicas, run, more):
    replicas = replicas(*more)
    keys = [key.removeprefix("one/") for key in replicas if key.startswith(f"one/{run}/")]
    assert len(keys) >= 3
    for key in keys:
        np.testing.assert_allclose(replicas[f"two/{key}"], replicas[f"one/{key}"], rtol=1e-6, atol=1e-6)


def test_without_the_sum_over_replicas_they_differ(replicas):
    replicas = replicas()
    for key, least in (("log/loss", 1e-3), ("matrix", 1.0), ("weights", 1e-2)):
        difference = np.abs(replicas[f"without/fit blend/{key}"] - replicas[f"one/fit blend/{key}"]).max()
        assert difference > least


# ---------------------------------------------------------------------------------------------------- saved and resumed


@pytest.mark.parametrize("make", [lambda: GuidedCrossentropy(window=200), loss_for])
def test_a_saved_model_keeps_the_matrix(make, tmp_path):
    x, y = data()
    model = network(make())
    model.fit(x, y, 32, 2, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.evaluate(x, y, 16, verbose=0) == model.evaluate(x, y, 16, verbose=0)
    model.save_weights(tmp_path / "some.weights.h5")
    fresh = network(make())
    fresh.load_weights(tmp_path / "some.weights.h5")
    assert fresh.evaluate(x, y, 16, verbose=0) == model.evaluate(x, y, 16, verbose=0)
    first, second = (guided(m.loss)._running.value for m in (model, fresh))
    np.testing.assert_array_equal(first, second)


def guided(loss):
    return loss.parts["guided"] if isinstance(loss, BlendedLoss) else loss


def test_weights_load_into_a_model_with_another_loss_and_back(tmp_path):
    x, y = data()
    model, other = network(GuidedCrossentropy()), network("binary_crossentropy")
    model.fit(x, y, 32, 1, verbose=0)
    model.save_weights(tmp_path / "guided.weights.h5")
    other.load_weights(tmp_path / "guided.weights.h5")
    np.testing.assert_array_equal(other(x), model(x))
    other.save_weights(tmp_path / "other.weights.h5")
    fresh = network(GuidedCrossentropy())
    fresh.load_weights(tmp_path / "other.weights.h5")
    assert fresh.loss._running.value is None


@pytest.mark.slow
@pytest.mark.processes
def test_a_killed_run_resumes_with_its_matrix(tmp_path):
    out = processes.run_well(SCRIPTS / "losses_killed.py", "guided", tmp_path, 2, 5)
    whole, killed = json.loads(out)
    assert whole == killed
    assert np.any(np.array(whole["loss"]) > 0)


def test_copies_and_pickles_have_a_matrix_of_their_own():
    (_, y), p = data(40), np.random.default_rng(1).random((40, 1)).astype("float32")
    loss = GuidedCrossentropy()
    trained_on(loss, y, p)
    for other in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        np.testing.assert_array_equal(other._running.value, loss._running.value)
        trained_on(other, y, p)
        assert other._running.value.sum() > loss._running.value.sum()


def test_a_loss_that_two_outputs_share_is_refused_if_they_differ():
    loss = GuidedCrossentropy()
    trained_on(loss, np.ones((4, 1)), np.full((4, 1), 0.5, "float32"))
    with pytest.raises(
        ValueError, match=r"each output of a model needs a loss of its own. Received: 3 classes after 1"
    ):
        trained_on(loss, np.ones((4, 3)), np.full((4, 3), 0.5, "float32"))


def test_weights_are_unknown_before_training():
    for loss in (GuidedCrossentropy(), GuidedCrossentropy(window=None)):
        with pytest.raises(ValueError, match="`y_true` and `y_pred` must be given before the first training batch"):
            loss.weights()


# --------------------------------------------------------------------------------------------------------------- blends


def test_a_blend_logs_the_value_of_the_epoch():
    x, y = data()
    blend = BlendedLoss({"f1": SoftF1(), "guided": GuidedCrossentropy()}, {"f1": 1.0, "guided": 0.5})
    model = network(blend, weighted_metrics=blend.metrics())
    schedule = BlendSchedule(blend, {"f1": 0, "guided": 1}, {"f1": 1, "guided": 1}, epochs=2)
    w = np.random.default_rng(0).uniform(0.2, 2, len(x)).astype("float32")
    logs = model.fit(x, y, 32, 3, verbose=0, sample_weight=w, validation_data=(x, y, w), callbacks=[schedule]).history
    own = GuidedCrossentropy(window=None)(y, model.predict(x, verbose=0), w)
    assert logs["val_guided_loss"][-1] == pytest.approx(float(own), rel=1e-5)
    assert logs["f1_weight"] == [0.0, 0.5, 1.0]
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(blend))
    assert repr(again) == repr(blend)


def test_loss_for_scores():
    f1 = loss_for("f1", threshold=0.3, average="micro", from_logits=True)
    assert (f1.weights, f1.name) == ({"f1": 1.0, "guided": 1.0}, "soft_f1_and_guided")
    for part in f1.parts.values():
        assert (part.evaluation.decision.thresholds, part.evaluation.average, part.from_logits) == (
            (0.3,),
            "micro",
            True,
        )
    assert loss_for("kappa", weights="quadratic").weights == {"kappa": 1.0, "guided": 0.3}
    masks = loss_for("jaccard", threshold="argmax", ignore_class=255)
    assert {part.evaluation.ignore_class for part in masks.parts.values()} == {255}
    assert loss_for("f_beta", beta=2).parts["guided"].evaluation.scores[0].parameters == {"beta": 2}
    for sweep in (loss_for("f1", threshold=[0.2, 0.4]), loss_for("roc_auc")):  # no single decision to guide
        assert list(sweep.parts)[1] == "crossentropy"
    plain = sweep.parts["crossentropy"]
    y, p = data()[1], np.random.default_rng(1).random((96, 1)).astype("float32")
    assert float(plain(y, p)) == pytest.approx(float(keras.losses.BinaryCrossentropy()(y, p)), rel=1e-6)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(masks))
    assert repr(again) == repr(masks)
