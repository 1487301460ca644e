"""The reproduction of the paper: the stacked engine trains like `fit`, and the report says what the results say."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_softsets as kss
from benchmarks.paper import data, engine, network, objectives
from benchmarks.paper.configurations import TABLES, Configuration, configurations
from keras_softsets import models

FEATURES, SAMPLES, BATCH = 4, 150, 64  # the last batch is short


def made_up(seed, samples=SAMPLES):
    random = np.random.default_rng(seed)
    y = (np.arange(samples) % 4 == 0).astype("float32")
    x = random.normal(size=(samples, FEATURES)).astype("float32") + y[:, None]
    return x, y


@pytest.fixture(scope="module")
def trials():
    splits = [kss.datasets.Splits(made_up(seed), made_up(seed + 10, 80), made_up(seed + 20, 80)) for seed in (3, 5)]
    return data.stack(splits, [3, 5])


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


def test_weights_and_oversampling_are_the_supplements(trials):
    weighted = data.balanced(trials, "weighted").train
    for y, weight in zip(weighted.y, weighted.weight, strict=True):
        np.testing.assert_allclose([weight[y == 1].sum(), weight[y == 0].sum()], SAMPLES / 2, rtol=1e-5)
    more = data.balanced(trials, "oversampled").train
    np.testing.assert_array_equal(more.y.mean(axis=1), 0.5)
    np.testing.assert_array_equal(more.x[:, :SAMPLES], trials.train.x)
    with pytest.raises(ValueError, match="balance"):
        data.balanced(trials, "smote")


def batch():
    random = np.random.default_rng(1)
    logits = random.normal(size=(40, 2)).astype("float32")
    labels = (random.random((40, 2)) < 0.3).astype("float32")
    return labels, logits, np.ones_like(labels)


@pytest.mark.parametrize("loss", objectives.OBJECTIVES)
def test_objectives_count_weight_zero_as_absence(loss):
    labels, logits, weights = batch()
    objective = objectives.OBJECTIVES[loss]
    padded = [np.concatenate([array, np.full((3, 2), fill, "float32")]) for array, fill in ((labels, 1), (logits, 9))]
    whole = objective(*padded, np.concatenate([weights, np.zeros((3, 2), "float32")]))
    np.testing.assert_allclose(whole, objective(labels, logits, weights), rtol=1e-5)
    assert whole.shape == (2,)


@pytest.mark.parametrize("published", [False, True])
def test_wmw_is_the_mean_over_pairs(published):
    labels, logits, weights = batch()
    with tf.GradientTape() as tape:
        variable = tf.Variable(logits)
        losses = objectives.OBJECTIVES["wmw_published" if published else "wmw"](labels, variable, weights)
    expected = []
    with tf.GradientTape() as pairs_tape:
        twin = tf.Variable(logits)
        for k in range(2):
            value = twin[:, k] if published else tf.sigmoid(twin[:, k])
            upper, lower = value[labels[:, k] == 1], value[labels[:, k] == (1 if published else 0)]
            pairs = tf.nn.relu(objectives.WMW_MARGIN - (upper[:, None] - lower[None]))
            expected.append(tf.reduce_mean(tf.square(pairs)))
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(tape.gradient(losses, variable), pairs_tape.gradient(expected, twin), atol=1e-6)


def test_bce_and_dice_are_the_usual_ones():
    labels, logits, weights = batch()
    for k in range(2):
        expected = keras.losses.BinaryCrossentropy(from_logits=True)(labels[:, k : k + 1], logits[:, k : k + 1])
        np.testing.assert_allclose(objectives.binary_crossentropy(labels, logits, weights)[k], expected, rtol=1e-5)
        p = 1 / (1 + np.exp(-logits[:, k]))
        expected = 1 - (2 * (labels[:, k] * p).sum() + 1) / (labels[:, k].sum() + p.sum() + 1)
        np.testing.assert_allclose(objectives.dice(labels, logits, weights)[k], expected, rtol=1e-5)


def test_configurations_have_distinct_files():
    everything = configurations(list(TABLES))
    assert len({c.path for c in everything}) == len(everything)
    assert Configuration("adult", "bce") in everything
