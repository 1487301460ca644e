"""Training trials side by side is training each of them with `fit`, for all kinds of trials."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from paper_trials import FEATURES, SAMPLES

import keras_softsets as kss
from benchmarks.paper.methods import objectives
from benchmarks.paper.methods.data import Part
from benchmarks.paper.methods.side_by_side import adam, engine, network
from benchmarks.paper.methods.side_by_side.program import Program, compiled_epochs
from benchmarks.paper.methods.side_by_side.settings import Settings
from benchmarks.paper.methods.side_by_side.state import first_state, keep_best
from keras_softsets import models

BATCH = 64  # the last batch is short


@pytest.fixture
def _eager():
    """Compiling takes seconds; one test shows that compiled training is right, the others need not wait."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def histories(trials, loss, settings, epochs=3):
    run = compiled_epochs(trials, objectives.OBJECTIVES[loss], settings)
    return run(first_state(trials), engine.batch_orders(trials, settings, 0, epochs), tf.constant(0))


KERAS_LOSSES = {
    "f1_linear": kss.SoftF1(from_logits=True),
    "bce": keras.losses.BinaryCrossentropy(from_logits=True),
}


@pytest.mark.parametrize("loss", KERAS_LOSSES)
def test_engine_trains_like_fit(trials, loss):
    settings = Settings(batch_size=BATCH, dropout=False)
    state, losses = histories(trials, loss, settings)
    orders = engine.batch_orders(trials, settings, 0, len(losses))
    for trial in range(2):
        model = models.mlp(FEATURES, dropout=0.0, logits=True)
        model.set_weights([w[trial].numpy() for w in first_state(trials).weights])
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
    state = first_state(trials)
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


def test_settings_say_whose_initial_weights_are_trained(trials):
    settings = Settings(batch_size=BATCH, most_epochs=0, start="pytorch")
    trained = engine.train(trials, objectives.OBJECTIVES["f1_linear"], settings)
    for stacked, own in zip(trained.weights, network.initial_weights(FEATURES, trials.seeds, "pytorch"), strict=True):
        np.testing.assert_array_equal(stacked, own)


def test_dropout_has_the_distribution_of_keras(trials):
    weights, draws = first_state(trials).weights, 4000
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
    settings = Settings(batch_size=BATCH)
    _, both = histories(trials, "f1_linear", settings)
    _, alone = histories(trials.of(np.array([1])), "f1_linear", settings)
    np.testing.assert_allclose(both[:, 1], alone[:, 0], atol=1e-5)


@pytest.mark.usefixtures("_eager")
def test_early_stopping_restores_the_best_epoch_of_each_trial(trials, monkeypatch):
    settings = Settings(batch_size=BATCH, patience=6, most_epochs=30)
    monkeypatch.setattr(engine, "_EPOCHS_AT_ONCE", 10)
    monkeypatch.setattr(engine, "_ROWS_WORTH_COMPILING_FOR", 0)
    # A high learning rate, so that losses rise again soon.
    monkeypatch.setattr(adam, "LEARNING_RATE", 0.1)
    trained = engine.train(trials, objectives.OBJECTIVES["bce"], settings)
    _, losses = histories(trials, "bce", settings, epochs=30)
    for trial, history in enumerate(losses.numpy().T):
        best = next(
            k
            for k in range(30)
            if k + settings.patience >= 29 or history[k + 1 : k + 7].min() >= history[: k + 1].min()
        )
        best = int(np.argmin(history[: best + 1]))
        assert trained.best_epoch[trial] == best + 1
        np.testing.assert_allclose(trained.best_loss[trial], history[best], atol=1e-5)
        outputs = network.logits(trained.weights, trials.validation.x)
        restored = objectives.OBJECTIVES["bce"](trials.validation.y.T, outputs, trials.validation.weight.T)
        np.testing.assert_allclose(restored[trial], history[best], atol=1e-4)


def test_nothing_is_accepted_from_a_trial_that_has_stopped(trials):
    before = first_state(trials)._replace(best_loss=tf.constant([0.5, 0.5]), best_epoch=tf.constant([1, 2]))
    moved = before._replace(weights=[w + 1 for w in before.weights])
    after = keep_best(moved, tf.constant([0.4, 0.4]), tf.constant(4), patience=2)
    np.testing.assert_array_equal(after.best_epoch, [1, 4])  # the first had its last chance in epoch 3
    np.testing.assert_allclose(after.best_loss, [0.5, 0.4])
    for old, new in zip(before.weights, after.best_weights, strict=True):
        np.testing.assert_array_equal(new, np.stack([old[0], old[1] + 1]))


def test_trials_that_have_stopped_leave_the_stack(trials, monkeypatch):
    last, stacks = {3: 2, 5: 14}, []  # the epochs after which the trials get no better

    def compiled(trials, objective, settings):
        stacks.append(trials.seeds.tolist())

        def run(state, orders, before):
            best = [min(last[seed], int(before) + len(orders)) for seed in trials.seeds.tolist()]
            weights = [w + 1 for w in state.best_weights]
            best = tf.constant(best)
            return state._replace(best_epoch=best, best_weights=weights), tf.ones((len(orders), len(trials.seeds)))

        return run

    monkeypatch.setattr(engine, "compiled_epochs", compiled)
    monkeypatch.setattr(engine, "_EPOCHS_AT_ONCE", 5)
    monkeypatch.setattr(engine, "_ROWS_WORTH_COMPILING_FOR", 0)
    trained = engine.train(trials, None, Settings(batch_size=BATCH, patience=6))
    assert stacks == [[3, 5], [5]]
    np.testing.assert_array_equal(trained.best_epoch, [2, 14])
    np.testing.assert_array_equal(trained.epochs, [8, 20])
    calls = trained.weights[0] - first_state(trials).weights[0]
    np.testing.assert_allclose(calls[:, 0, 0], [2, 4], atol=1e-5)  # five epochs a call


def test_batch_orders_are_those_of_the_epoch(trials):
    settings = Settings(batch_size=BATCH)
    first, second = engine.batch_orders(trials, settings, 0, 2)
    np.testing.assert_array_equal(engine.batch_orders(trials, settings, 1, 1)[0], second)
    assert (first != second).any()
    assert (first[:, 0] != first[:, 1]).any()  # trials have orders of their own


def test_every_step_drops_other_units(trials):
    data = Part(*map(tf.constant, trials.train))
    settings = Settings(batch_size=SAMPLES)
    program = Program(data, data, tf.constant(trials.seeds, tf.int32), objectives.OBJECTIVES["bce"], settings)
    weights, rows = first_state(trials).weights, tf.stack([tf.range(SAMPLES)] * 2)
    losses = [float(program.batch_loss(weights, rows, tf.constant(step))) for step in (0, 0, 1)]
    assert losses[0] == losses[1]
    assert abs(losses[0] - losses[2]) > 1e-4


def test_a_loss_that_is_not_finite_is_an_error():
    with pytest.raises(FloatingPointError, match=r"\[5\]"):
        engine._check_finite(np.array([[0.1, 0.2], [0.1, np.nan]]), np.array([3, 5]))
