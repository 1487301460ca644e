"""The engine: trials side by side are those of `fit`, data are balanced as said, reports are those of scikit-learn."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from paper_trials import FEATURES, SAMPLES
from sklearn import metrics

import keras_softsets as kss
from keras_softsets import models
from studies.engine import data, evaluation, network, program
from studies.engine import side_by_side as engine
from studies.engine.data import Part
from studies.engine.objectives import Plain
from studies.engine.program import Program, Settings, compiled_epochs, keep_best
from studies.engine.side_by_side import shuffled
from studies.engine.tabular import Method
from studies.paper.methods import objectives
from studies.paper.methods.side_by_side import load_trials

BATCH = 64  # the last batch is short


def first_state(trials):
    return program.first_state(trials, tf.zeros([0, len(trials.seeds)]))


def method(loss):
    return Method(loss, Plain(objectives.OBJECTIVES[loss]))


def histories(trials, loss, settings, epochs=3):
    run = compiled_epochs(trials, method(loss), settings)
    return run(first_state(trials), shuffled(trials, settings.batch_size, 0, epochs), tf.constant(0))


KERAS_LOSSES = {
    "f1_linear": kss.SoftF1(from_logits=True),
    "bce": keras.losses.BinaryCrossentropy(from_logits=True),
}


@pytest.mark.parametrize("loss", KERAS_LOSSES)
def test_engine_trains_like_fit(trials, loss):
    settings = Settings(batch_size=BATCH, dropout=False)
    trained, losses = histories(trials, loss, settings)
    orders = shuffled(trials, BATCH, 0, len(losses))
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
        for stacked, weights in zip(trained.weights, model.get_weights(), strict=True):
            np.testing.assert_allclose(stacked[trial], weights, atol=1e-5)


def test_initial_weights_are_those_of_the_network(trials):
    first = first_state(trials)
    keras.utils.set_random_seed(5)
    for stacked, own in zip(first.weights, models.mlp(FEATURES).get_weights(), strict=True):
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
    trained = engine.train(trials, method("f1_linear"), settings)
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


@pytest.mark.usefixtures("eagerly")
def test_a_trial_does_not_depend_on_its_neighbours(trials):
    settings = Settings(batch_size=BATCH)
    _, both = histories(trials, "f1_linear", settings)
    _, alone = histories(trials.of(np.array([1])), "f1_linear", settings)
    np.testing.assert_allclose(both[:, 1], alone[:, 0], atol=1e-5)


@pytest.mark.usefixtures("eagerly")
def test_early_stopping_restores_the_best_epoch_of_each_trial(trials, monkeypatch):
    settings = Settings(batch_size=BATCH, patience=6, most_epochs=30)
    monkeypatch.setattr(engine, "_EPOCHS_AT_ONCE", 10)
    monkeypatch.setattr(engine, "_ROWS_WORTH_COMPILING_FOR", 0)
    # A high learning rate, so that losses rise again soon.
    monkeypatch.setattr(program, "LEARNING_RATE", 0.1)
    trained = engine.train(trials, method("bce"), settings)
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

    def compiled(trials, method, settings):
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
    trained = engine.train(trials, method("bce"), Settings(batch_size=BATCH, patience=6))
    assert stacks == [[3, 5], [5]]
    np.testing.assert_array_equal(trained.best_epoch, [2, 14])
    np.testing.assert_array_equal(trained.epochs, [8, 20])
    calls = trained.weights[0] - first_state(trials).weights[0]
    np.testing.assert_allclose(calls[:, 0, 0], [2, 4], atol=1e-5)  # five epochs a call


def test_batch_orders_are_those_of_the_epoch(trials):
    first, second = shuffled(trials, BATCH, 0, 2)
    np.testing.assert_array_equal(shuffled(trials, BATCH, 1, 1)[0], second)
    assert (first != second).any()
    assert (first[:, 0] != first[:, 1]).any()  # trials have orders of their own


def test_every_step_drops_other_units(trials):
    data = Part(*map(tf.constant, trials.train))
    settings = Settings(batch_size=SAMPLES)
    program = Program(data, data, tf.constant(trials.seeds, tf.int32), method("bce"), settings)
    start, rows = first_state(trials), tf.stack([tf.range(SAMPLES)] * 2)
    at = [start._replace(step=tf.constant(step)) for step in (0, 0, 1)]
    logits = [program.batch(each, rows, tf.constant(1)).logits.numpy() for each in at]
    np.testing.assert_array_equal(logits[0], logits[1])
    assert np.abs(logits[0] - logits[2]).max() > 1e-4


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
    data.load_trials.cache_clear()
    ours, theirs = (load_trials(name, (0, 1), "made up") for name in ("adult", "adult_authors"))
    np.testing.assert_array_equal(ours.train.x, theirs.train.x)
    np.testing.assert_array_equal(ours.validation.x, theirs.validation.x)
    np.testing.assert_allclose(theirs.test.x - ours.test.x, np.broadcast_to([73 / 13.5, 0], (2, 500, 2)), rtol=1e-3)
    data.load_trials.cache_clear()


def test_one_letter_is_told_from_the_others(monkeypatch):
    x = np.zeros((26, 2), "float32")
    monkeypatch.setattr(data.datasets, "load", lambda *_, **__: kss.datasets.Splits(*[(x, np.arange(26))] * 3))
    found = data.load_trials("letter", (0,), "made up, too")
    data.load_trials.cache_clear()
    np.testing.assert_array_equal(np.flatnonzero(found.test.y[0]), [ord("U") - ord("A")])


def test_metrics_are_those_of_scikit_learn(rng):
    labels, outputs = (rng.random(200) < 0.2).astype("float32"), rng.random(200)
    ours = evaluation.evaluate(labels, outputs, tuned=0.3)
    at = [outputs >= threshold for threshold in evaluation.THRESHOLDS]
    pairs = {
        "mean_f1": np.mean([metrics.f1_score(labels, p) for p in at]),
        "mean_f3": np.mean([metrics.fbeta_score(labels, p, beta=3) for p in at]),
        "mean_accuracy": np.mean([metrics.accuracy_score(labels, p) for p in at]),
        "mean_balanced_accuracy": np.mean([metrics.roc_auc_score(labels, p) for p in at]),  # the paper's "AUROC"
        "mean_precision": np.mean([metrics.precision_score(labels, p) for p in at]),
        "f1_tuned": metrics.f1_score(labels, outputs >= 0.3),
        "f1_at_half": metrics.f1_score(labels, outputs >= 0.5),
    }
    for name, expected in pairs.items():
        np.testing.assert_allclose(ours[name], expected, err_msg=name)


def test_a_threshold_is_tuned_on_validation_data(rng):
    labels = [(rng.random(300) < 0.3).astype("float32") for _ in range(2)]
    logits = [rng.normal(size=300) + y - 2 for y in labels]
    validation, test = zip(labels, logits, strict=True)
    values = evaluation.read("probabilities", validation, test)
    probabilities = [1 / (1 + np.exp(-z)) for z in logits]
    scores = [metrics.f1_score(labels[0], probabilities[0] >= threshold) for threshold in probabilities[0]]
    assert values["threshold"] < 0.4
    found = metrics.f1_score(labels[0], probabilities[0] >= values["threshold"])
    np.testing.assert_allclose(found, max(scores))
    np.testing.assert_allclose(values["f1_tuned"], metrics.f1_score(labels[1], probabilities[1] >= values["threshold"]))


def test_logits_are_thresholded_as_they_are(rng):
    labels, logits = (rng.random(200) < 0.5).astype("float32"), rng.normal(size=200)
    values = evaluation.read("logits", (labels, logits), (labels, logits))
    np.testing.assert_allclose(values["f1_at_half"], metrics.f1_score(labels, logits >= 0.5))
    assert np.isnan(values["threshold"])
    assert np.isnan(values["f1_tuned"])
