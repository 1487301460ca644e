"""Training trials side by side is training each of them with `fit`, for all kinds of trials."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from paper_trials import FEATURES, SAMPLES

import keras_softsets as kss
from benchmarks.paper import data, engine, network, objectives
from keras_softsets import models

BATCH = 64  # the last batch is short


@pytest.fixture
def _eager():
    """Compiling takes seconds; one test shows that compiled training is right, the others need not wait."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def histories(trials, loss, plan, epochs=3):
    run = engine.compiled_epochs(trials, objectives.OBJECTIVES[loss], plan)
    return run(engine.first_state(trials), engine.batch_orders(trials, plan, 0, epochs), tf.constant(0))


KERAS_LOSSES = {
    "f1_linear": kss.SoftF1(from_logits=True),
    "bce": keras.losses.BinaryCrossentropy(from_logits=True),
}


@pytest.mark.parametrize("loss", KERAS_LOSSES)
def test_engine_trains_like_fit(trials, loss):
    plan = engine.Plan(batch_size=BATCH, dropout=False)
    state, losses = histories(trials, loss, plan)
    orders = engine.batch_orders(trials, plan, 0, len(losses))
    for trial in range(2):
        model = models.mlp(FEATURES, dropout=0.0, logits=True)
        model.set_weights([w[trial].numpy() for w in engine.first_state(trials).weights])
        model.compile(keras.optimizers.Adam(1e-3), KERAS_LOSSES[loss])
        x, y = trials.train.x[trial], trials.train.y[trial]
        validation = (trials.validation.x[trial], trials.validation.y[trial])
        for epoch in range(len(losses)):
            rows = orders[epoch, :, trial].ravel()
            rows = rows[rows >= 0]
            assert sorted(rows) == list(range(SAMPLES))
            history = model.fit(
                x[rows], y[rows], BATCH, shuffle=False, verbose=0, validation_data=validation, validation_batch_size=80
            ).history
            np.testing.assert_allclose(losses[epoch, trial], history["val_loss"][0], atol=1e-5)
        for stacked, weights in zip(state.weights, model.get_weights(), strict=True):
            np.testing.assert_allclose(stacked[trial], weights, atol=1e-5)


def test_initial_weights_are_those_of_the_network(trials):
    state = engine.first_state(trials)
    keras.utils.set_random_seed(5)
    for stacked, own in zip(state.weights, models.mlp(FEATURES).get_weights(), strict=True):
        np.testing.assert_array_equal(stacked[1], own)


def test_initial_weights_of_pytorch_are_uniform_by_fan_in(trials):
    seeds = np.arange(50)
    inputs = (FEATURES, FEATURES, *(n for n in network.UNITS for _ in range(2)))  # of each kernel and bias
    for array, fan_in in zip(network.initial_weights(FEATURES, seeds, "pytorch"), inputs, strict=True):
        bound = 1 / np.sqrt(fan_in)
        values = array.numpy().ravel() / bound
        assert 0.9 < np.abs(values).max() <= 1
        np.testing.assert_allclose([values.mean(), values.var()], [0, 1 / 3], atol=5 / np.sqrt(values.size))


def test_a_plan_says_whose_initial_weights_are_trained(trials):
    plan = engine.Plan(batch_size=BATCH, most_epochs=0, start="pytorch")
    trained = engine.train(trials, objectives.OBJECTIVES["f1_linear"], plan)
    for stacked, own in zip(trained.weights, network.initial_weights(FEATURES, trials.seeds, "pytorch"), strict=True):
        np.testing.assert_array_equal(stacked, own)


def test_dropout_has_the_distribution_of_keras(trials):
    weights, draws = engine.first_state(trials).weights, 4000
    x = np.tile(trials.train.x[:, :1], (1, draws, 1))
    ours = network.logits(weights, x, network.dropout_masks(tf.constant([3, 5]), tf.constant(7), draws)).numpy()
    model = models.mlp(FEATURES, logits=True)
    for trial in range(2):
        model.set_weights([w[trial].numpy() for w in weights])
        keras_draws = model(x[trial], training=True).numpy().ravel()
        for statistic in (np.mean, np.std):
            np.testing.assert_allclose(statistic(ours[:, trial]), statistic(keras_draws), atol=0.1 * keras_draws.std())


def test_dropout_differs_between_trials_steps_and_units():
    masks = [network.dropout_masks(tf.constant([0, 1]), tf.constant(step), 2000)[0].numpy() for step in (0, 1)]
    columns = np.concatenate([mask[trial] for mask in masks for trial in (0, 1)], axis=1)
    assert set(np.unique(columns)) == {0, 2}
    correlation = np.corrcoef(columns.T) - np.eye(columns.shape[1])
    assert np.abs(correlation).max() < 6 / np.sqrt(2000)


@pytest.mark.usefixtures("_eager")
def test_a_trial_does_not_depend_on_its_neighbours(trials):
    plan = engine.Plan(batch_size=BATCH)
    _, both = histories(trials, "f1_linear", plan)
    _, alone = histories(trials.of(np.array([1])), "f1_linear", plan)
    np.testing.assert_allclose(both[:, 1], alone[:, 0], atol=1e-5)


@pytest.mark.usefixtures("_eager")
def test_early_stopping_restores_the_best_epoch_of_each_trial(trials, monkeypatch):
    plan = engine.Plan(batch_size=BATCH, patience=6, most_epochs=30)
    monkeypatch.setattr(engine, "_EPOCHS_AT_ONCE", 10)
    monkeypatch.setattr(engine, "_ROWS_WORTH_COMPILING_FOR", 0)
    # A high learning rate, so that losses rise again soon.
    monkeypatch.setattr(engine.adam, "LEARNING_RATE", 0.1)
    trained = engine.train(trials, objectives.OBJECTIVES["bce"], plan)
    _, losses = histories(trials, "bce", plan, epochs=30)
    for trial, history in enumerate(losses.numpy().T):
        best = next(
            k for k in range(30) if k + plan.patience >= 29 or history[k + 1 : k + 7].min() >= history[: k + 1].min()
        )
        best = int(np.argmin(history[: best + 1]))
        assert trained.best_epoch[trial] == best + 1
        np.testing.assert_allclose(trained.best_loss[trial], history[best], atol=1e-5)
        outputs = network.logits(trained.weights, trials.validation.x)
        restored = objectives.OBJECTIVES["bce"](trials.validation.y.T, outputs, trials.validation.weight.T)
        np.testing.assert_allclose(restored[trial], history[best], atol=1e-4)


def test_a_loss_that_is_not_finite_is_an_error():
    with pytest.raises(FloatingPointError, match=r"\[5\]"):
        engine._check_finite(np.array([[0.1, 0.2], [0.1, np.nan]]), np.array([3, 5]))


def test_weights_and_oversampling_are_the_supplements(trials):
    weighted = data.balanced(trials, "weighted").train
    for y, weight in zip(weighted.y, weighted.weight, strict=True):
        np.testing.assert_allclose([weight[y == 1].sum(), weight[y == 0].sum()], SAMPLES / 2, rtol=1e-5)
    more = data.balanced(trials, "oversampled").train
    np.testing.assert_array_equal(more.y.mean(axis=1), 0.5)
    np.testing.assert_array_equal(more.x[:, :SAMPLES], trials.train.x)
    with pytest.raises(ValueError, match="balance"):
        data.balanced(trials, "smote")


def test_the_authors_adult_has_older_people_in_its_test_part(monkeypatch):
    def load(name, seed, raw_dir):
        ages = np.random.default_rng(seed).integers(17, 91, 500)
        x = np.stack([(ages - 38.0) / 13.5, np.arange(500)], axis=1).astype("float32")
        return kss.datasets.Splits(*[(x, (ages > 50).astype("float32"))] * 3)

    monkeypatch.setattr(data.datasets, "load", load)
    ours, theirs = (data.load_trials(name, [0, 1]) for name in ("adult", "adult_published"))
    np.testing.assert_array_equal(ours.train.x, theirs.train.x)
    np.testing.assert_array_equal(ours.validation.x, theirs.validation.x)
    np.testing.assert_allclose(theirs.test.x - ours.test.x, np.broadcast_to([73 / 13.5, 0], (2, 500, 2)), rtol=1e-3)


def test_the_adversarial_f1_trains_the_same_network(trials):
    pytest.importorskip("ap_perf")
    from benchmarks.paper import adversarial

    weights = network.initial_weights(FEATURES, trials.seeds)
    model = adversarial.build(weights)
    ours = network.logits(weights, trials.test.x).numpy()[:, 0]
    np.testing.assert_allclose(adversarial._logits(model, trials.test.x[0]), ours, atol=1e-5)
    assert {row["reading"] for row in adversarial.run_trial(trials, minutes=0.001)} == {"probabilities", "logits"}
