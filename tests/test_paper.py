"""The reproduction of the paper: the stacked engine trains like `fit`, and the report says what the results say."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from sklearn import metrics

import keras_softsets as kss
from benchmarks.paper import (
    cifar10,
    claims,
    data,
    engine,
    epochs,
    evaluation,
    network,
    objectives,
    report,
    runner,
    store,
    summary,
    svm,
    timing,
)
from benchmarks.paper.configurations import TABLES, Configuration, configurations
from benchmarks.paper.layout import LAYOUT
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


@pytest.mark.parametrize("loss", objectives.OBJECTIVES)
@pytest.mark.parametrize("case", ["equal", "no positives", "only positives"])
def test_gradients_are_finite(loss, case):
    labels, logits, weights = batch()
    logits = np.zeros_like(logits) if case == "equal" else logits
    labels = labels if case == "equal" else np.full_like(labels, case == "only positives")
    with tf.GradientTape() as tape:
        variable = tf.Variable(logits)
        losses = objectives.OBJECTIVES[loss](labels, variable, weights)
    assert np.isfinite(losses).all()
    assert np.isfinite(tape.gradient(losses, variable)).all()


def test_a_loss_that_is_not_finite_is_an_error():
    with pytest.raises(FloatingPointError, match=r"\[5\]"):
        engine._check_finite(np.array([[0.1, 0.2], [0.1, np.nan]]), np.array([3, 5]))


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


def test_the_authors_cells_do_not_add_up():
    """Phantom true positives: to their sigmoid loss, calling nothing positive is far from an F1 of 0."""
    labels, logits = np.r_[np.ones(10), np.zeros(990)].astype("float32")[:, None], np.full((1000, 1), -30.0, "float32")
    sigmoid, linear = (objectives.OBJECTIVES[f"f1_{h}_published"] for h in ("sigmoid", "linear"))
    weights = np.ones_like(labels)
    assert 1 - sigmoid(labels, logits, weights)[0] > 0.3  # nothing is called positive, F1 is 0
    assert 1 - linear(labels, logits, weights)[0] < 1e-3
    perfect = np.where(labels == 1, 30.0, -30.0).astype("float32")
    assert linear(labels, perfect, weights)[0] < 1e-3


def test_bce_and_dice_are_the_usual_ones():
    labels, logits, weights = batch()
    for k in range(2):
        expected = keras.losses.BinaryCrossentropy(from_logits=True)(labels[:, k : k + 1], logits[:, k : k + 1])
        np.testing.assert_allclose(objectives.binary_crossentropy(labels, logits, weights)[k], expected, rtol=1e-5)
        p = 1 / (1 + np.exp(-logits[:, k]))
        expected = 1 - (2 * (labels[:, k] * p).sum() + 1) / (labels[:, k].sum() + p.sum() + 1)
        np.testing.assert_allclose(objectives.dice(labels, logits, weights)[k], expected, rtol=1e-5)


@pytest.mark.parametrize("loss", ["dice_logits_published", "dice_published"])
def test_the_authors_dice_does_not_see_negatives(loss):
    labels, logits, weights = batch()
    with tf.GradientTape() as tape:
        variable = tf.Variable(logits)
        losses = objectives.OBJECTIVES[loss](labels, variable, weights)
    gradients = tape.gradient(losses, variable).numpy()
    assert not gradients[labels == 0].any()
    assert gradients[labels == 1].all()


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


def test_configurations_have_distinct_files():
    everything = configurations(list(TABLES))
    assert len({c.path for c in everything}) == len(everything)
    assert Configuration("adult", "bce") in everything


# ------------------------------------------------------------------------------------------------------------- SVMs


def labellings(n):
    return np.array(list(itertools.product([0, 1], repeat=n)), dtype="float64")


def violation_by_trying_everything(name, y, scores):
    """The largest Delta - w . (Psi(y) - Psi(y')) over all labellings, or over all subsets of swapped pairs."""
    positives = y.sum()
    if name == "svm_roc":
        gaps = scores[y == 1][:, None] - scores[y == 0][None]
        return np.maximum(0, 1 - gaps).mean()
    if name == "svm_error":
        return max((wrong := other != y).mean() - (wrong * (2 * y - 1) * scores).mean() for other in labellings(len(y)))
    f1 = [2 * (y * other).sum() / (positives + other.sum()) for other in labellings(len(y))]
    psi = [(other - y) @ scores / positives for other in labellings(len(y))]
    return max(1 - f + p for f, p in zip(f1, psi, strict=True))


@pytest.mark.parametrize("name", svm.VIOLATIONS)
def test_the_most_violated_constraint_is_found(name):
    for seed in range(20):
        random = np.random.default_rng(seed)
        x, y, w = random.normal(size=(9, 3)), (np.arange(9) < 1 + seed % 5).astype("float64"), random.normal(size=3)
        gap, loss = svm.VIOLATIONS[name](x, y, x @ w)
        np.testing.assert_allclose(loss - gap @ w, violation_by_trying_everything(name, y, x @ w), atol=1e-9)


def test_the_error_svm_is_the_usual_svm(rng):
    from sklearn.svm import SVC

    y = (np.arange(60) % 3 == 0).astype("float64")
    x = np.c_[rng.normal(size=(60, 2)) + y[:, None], np.ones(60)]
    weights = svm.fit(x, y, svm.error_constraint, cost=30.0)

    def objective(w):
        return w @ w / 2 + 30 * np.maximum(0, 1 - (2 * y - 1) * (x @ w)).mean()

    machine = SVC(C=0.5, kernel="precomputed", tol=1e-6).fit(x @ x.T, y)  # C / n, bias in the features
    dual = machine.dual_coef_[0] @ x[machine.support_]
    assert objective(weights) <= objective(dual) + 30 * svm.TOLERANCE + 0.05


@pytest.mark.parametrize("name", svm.VIOLATIONS)
def test_svms_separate_what_is_separable(name, trials):
    shifted = trials._replace(
        **{
            part: getattr(trials, part)._replace(x=getattr(trials, part).x + 4 * getattr(trials, part).y[:, :, None])
            for part in ("train", "validation", "test")
        }
    )
    (row,) = svm.run_trial(name, shifted, 1)
    assert row["trial"] == 5
    assert row["auroc"] == 1
    if name != "svm_roc":  # a ranking has no threshold
        assert row["mean_f1"] > 0.95


# ----------------------------------------------------------------------------------------------- results and report


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


def test_an_interrupted_run_is_resumed(tmp_path, monkeypatch, trials):
    wanted = [Configuration("synthetic_05", loss) for loss in ("f1_linear", "bce")]
    calls = []

    def stacked(configuration, trials, bar=None):
        calls.append((configuration.loss, list(trials.seeds)))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return [{"trial": int(seed), "reading": "probabilities", "mean_f1": 0.5} for seed in trials.seeds]

    monkeypatch.setattr(runner, "stacked", stacked)
    monkeypatch.setattr(runner, "load_trials", lambda name, seeds, raw_dir: trials._replace(seeds=np.array(seeds)))
    with pytest.raises(KeyboardInterrupt):
        runner.run(wanted, 2, None, tmp_path)
    runner.run(wanted, 2, None, tmp_path)
    runner.run(wanted, 3, None, tmp_path)
    assert calls == [("f1_linear", [0, 1]), ("bce", [0, 1]), ("bce", [0, 1]), ("f1_linear", [2]), ("bce", [2])]
    assert [row["trial"] for row in store.read(wanted[0], tmp_path)] == [0, 1, 2]
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_page_is_what_the_results_say():
    assert report.PAGE.read_text() == report.render()


def test_every_row_of_the_paper_has_its_row():
    ours = {
        (table.name, dataset, row.paper, column)
        for table in LAYOUT
        for dataset in table.datasets
        for row in table.rows
        for column in table.columns
    }
    assert not set(summary._figures()) - ours


def test_differences_are_paired(tmp_path):
    for loss, scores in (("f1_linear", (0.5, 0.9)), ("bce", (0.4, 0.7))):
        rows = [{"trial": k, "reading": "probabilities", "mean_f1": score} for k, score in enumerate(scores)]
        store.add(Configuration("adult", loss), rows, tmp_path)
    left, right = (Configuration("adult", loss) for loss in ("f1_linear", "bce"))
    gap = summary.difference(left, right, ("mean_f1", "mean_f1"), tmp_path)
    np.testing.assert_allclose([gap.mean, gap.deviation, gap.count], [0.15, np.std([0.1, 0.2], ddof=1), 2])
    assert str(summary.measured(left, "probabilities", "mean_f1", tmp_path)) == "0.700 ± 0.283 (n = 2)"


def test_one_trial_decides_nothing_and_half_an_epoch_is_not_rounded_away(tmp_path):
    row = {"trial": 0, "reading": "probabilities"}
    row |= dict.fromkeys(("f1_at_half", "f1_tuned", "auroc", "mean_precision", "mean_recall"), 0.5)
    for loss, score in (("f1_linear", 0.9), ("bce", 0.1)):
        store.add(Configuration("cifar10_frog", loss), [row | {"mean_f1": score}], tmp_path)
    verdicts = {verdict for name, _, _, verdict in claims.claims(tmp_path) if "BCE" in name}
    assert verdicts == {"undecided (one trial)"}
    adversarial = [{"trial": 0, "reading": "probabilities", "seconds": 300, "epochs": 0.4}]
    store.add(Configuration("adult", "adversarial_f1"), adversarial, tmp_path)
    assert "| Adult | not run | not run | not run | 300 | 0.4 | 750 |" in timing.timing_section(tmp_path)


@pytest.mark.parametrize(("network_name", "parameters"), [("tiny_darknet_keras", 917_617), ("yolov3_tiny", 6_299_505)])
def test_other_networks_are_what_their_names_say(network_name, parameters):
    model = cifar10.untrained("bce", 0, network_name)
    assert model.count_params() == parameters
    kernel = next(layer.kernel for layer in model.layers if getattr(layer, "filters", 0) == 128).numpy()
    fan_in, fan_out = np.prod(kernel.shape[:-1]), np.prod(kernel.shape[:2]) * kernel.shape[-1]
    scale = 2 / (fan_in + fan_out) if network_name == "tiny_darknet_keras" else 1 / (3 * fan_in)
    np.testing.assert_allclose(kernel.std(), scale**0.5, rtol=0.05)


@pytest.fixture
def _small_pictures(monkeypatch):
    random = np.random.default_rng(0)
    part = random.normal(size=(24, 32, 32, 3)).astype("float32"), (np.arange(24) % 3 == 0).astype("float32")
    monkeypatch.setattr(cifar10, "load", lambda *_: kss.datasets.Splits(part, part, part))
    monkeypatch.setattr(cifar10, "BATCH_SIZE", 12)
    monkeypatch.setattr(cifar10.models, "tiny_darknet", small_network)


def small_network(logits):
    layers = [keras.Input((32, 32, 3)), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)]
    return keras.Sequential(layers)


@pytest.mark.usefixtures("_small_pictures")
@pytest.mark.parametrize("loss", ["f1_linear", "dice_logits"])
def test_pictures_are_trained_until_the_clock_says_stop(loss, monkeypatch):
    monkeypatch.setattr(cifar10, "MINUTES_ON_CPU", 0.0)
    (row,) = cifar10.run_trial(Configuration("cifar10_frog", loss), 0, None)
    assert row["best_epoch"] == 1
    assert 0 < row["epochs"] <= 1
    assert row["reading"] == ("logits" if loss == "dice_logits" else "probabilities")
    assert 0 <= row["mean_f1"] <= 1


@pytest.mark.usefixtures("_small_pictures")
def test_a_network_that_is_tested_every_epoch_goes_on_where_it_was_killed(tmp_path, monkeypatch):
    configuration, clock = Configuration("cifar10_frog", "f1_linear"), itertools.count(step=60)
    monkeypatch.setattr(epochs.time, "process_time", lambda: next(clock))  # an epoch takes one minute
    monkeypatch.setattr(cifar10, "LEARNING_RATE", 0.1)  # so that the order of the batches shows
    epochs.run(configuration, 3, None, tmp_path / "whole")
    whole = summary.epochs(configuration, tmp_path / "whole")
    assert [row["epoch"] for row in whole] == [1, 2, 3]

    epochs.run(configuration, 1, None, tmp_path / "killed")
    with monkeypatch.context() as patch:  # after the line of the second epoch, before its weights
        patch.setattr(keras.Model, "save_weights", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            epochs.run(configuration, 3, None, tmp_path / "killed")
    assert len(summary.epochs(configuration, tmp_path / "killed")) == 2
    epochs.run(configuration, 3, None, tmp_path / "killed")
    resumed = summary.epochs(configuration, tmp_path / "killed")
    np.testing.assert_allclose(*([list(row.values()) for row in rows] for rows in (whole, resumed)), rtol=1e-4)
    assert summary.best_epoch(whole)["validation_loss"] == min(row["validation_loss"] for row in whole)


def test_the_adversarial_f1_trains_the_same_network(trials):
    pytest.importorskip("ap_perf")
    from benchmarks.paper import adversarial

    weights = network.initial_weights(FEATURES, trials.seeds)
    model = adversarial.build(weights)
    ours = network.logits(weights, trials.test.x).numpy()[:, 0]
    np.testing.assert_allclose(adversarial._logits(model, trials.test.x[0]), ours, atol=1e-5)
    assert {row["reading"] for row in adversarial.run_trial(trials, minutes=0.001)} == {"probabilities", "logits"}
