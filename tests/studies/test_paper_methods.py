"""The methods of the paper: objectives against losses that users write, structural SVMs against trying everything."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from paper_trials import FEATURES

import keras_softsets as kss
from studies.engine import baselines, evaluation, network
from studies.engine import side_by_side as engine
from studies.harness.study import Job
from studies.paper import TABLES
from studies.paper.methods import objectives, side_by_side, svm
from studies.paper.methods.svm import VIOLATIONS
from studies.paper.plan import Configuration


@pytest.mark.parametrize(
    ("dataset", "loss", "module"),
    [
        ("adult_authors", "wmw_authors", "side_by_side"),
        ("adult", "svm_roc", "svm"),
        ("cifar10_frog", "bce", "cifar10"),
    ],
)
def test_a_configuration_has_its_method(dataset, loss, module):
    lines = TABLES.train(Job(Configuration(dataset, loss)._asdict(), ()))  # a generator that has not begun
    assert lines.gi_code.co_filename.endswith(f"studies/paper/methods/{module}.py")


def test_networks_side_by_side_are_read_both_ways(trials, monkeypatch):
    weights = network.initial_weights(FEATURES, trials.seeds)
    asked = []

    def train(data, method, settings, say):
        say("epoch 25")
        asked.append((data.train.weight, settings))
        found = np.array([7, 9]), np.array([0.5, 0.25]), np.array([17, 19])
        return engine.Trained(weights, *found, all_epochs=19, updates=57, seconds=3.0)

    monkeypatch.setattr(engine, "train", train)
    monkeypatch.setattr(side_by_side, "load_trials", lambda name, seeds, raw_dir: trials)
    said = []
    key = Configuration("adult", "bce", "weighted", 64, "pytorch")._asdict()
    lines = list(side_by_side.train(Job(key, (3, 5), say=said.append)))
    assert said == ["epoch 25"]
    assert asked[0][1][0] == 64
    assert asked[0][1].start == "pytorch"
    assert len(np.unique(asked[0][0])) == 2  # weighted
    assert [(line["trial"], line["reading"]) for line in lines] == [
        (trial, reading) for trial in (3, 5) for reading in ("probabilities", "logits")
    ]
    outputs = [(part.y[1], network.logits(weights, part.x).numpy()[:, 1]) for part in (trials.validation, trials.test)]
    for line in lines[2:]:
        values = evaluation.read(line["reading"], *outputs)
        np.testing.assert_equal({name: line[name] for name in values}, values)
        assert [line[name] for name in ("best_epoch", "epochs", "validation_loss", "seconds")] == [9, 19, 0.25, 1.5]


def test_the_adversarial_f1_trains_the_same_network(trials):
    pytest.importorskip("ap_perf")
    from studies.paper.methods import adversarial

    weights = network.initial_weights(FEATURES, trials.seeds)
    model = adversarial.build(weights)
    ours = network.logits(weights, trials.test.x).numpy()[:, 0]
    np.testing.assert_allclose(adversarial._logits(model, trials.test.x[0]), ours, atol=1e-5)
    assert {line["reading"] for line in adversarial.trial_lines(trials, minutes=0.001)} == {"probabilities", "logits"}


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


@pytest.mark.parametrize("name", VIOLATIONS)
def test_the_most_violated_constraint_is_found(name):
    for seed in range(20):
        random = np.random.default_rng(seed)
        x, y, w = random.normal(size=(9, 3)), (np.arange(9) < 1 + seed % 5).astype("float64"), random.normal(size=3)
        gap, loss = VIOLATIONS[name](x, y, x @ w)
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


@pytest.mark.parametrize("name", VIOLATIONS)
def test_svms_separate_what_is_separable(name, trials):
    shifted = trials._replace(
        **{
            part: getattr(trials, part)._replace(x=getattr(trials, part).x + 4 * getattr(trials, part).y[:, :, None])
            for part in ("train", "validation", "test")
        }
    )
    line = svm.trial_line(name, shifted, 1)
    assert line["trial"] == 5
    assert line["auroc"] == 1
    if name != "svm_roc":  # a ranking has no threshold
        assert line["mean_f1"] > 0.95


def test_the_cost_is_the_one_that_validation_data_choose(trials, monkeypatch):
    """One of the costs says the opposite of what training and test data say, as the validation data do."""
    separating = np.ones(trials.train.x.shape[-1] + 1)
    monkeypatch.setattr(svm, "fit", lambda x, y, find, cost: -separating if cost == 100.0 else separating)
    contrary = trials._replace(validation=trials.validation._replace(y=1 - trials.validation.y))
    line = svm.trial_line("svm_roc", contrary, 0)
    assert line["cost"] == 100.0
    assert line["auroc"] < 0.5
    assert "validation_loss" not in line


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


@pytest.mark.parametrize("authors", [False, True])
def test_wmw_is_the_mean_over_pairs(authors):
    labels, logits, weights = batch()
    with tf.GradientTape() as tape:
        variable = tf.Variable(logits)
        losses = objectives.OBJECTIVES["wmw_authors" if authors else "wmw"](labels, variable, weights)
    expected = []
    with tf.GradientTape() as pairs_tape:
        twin = tf.Variable(logits)
        for k in range(2):
            value = twin[:, k] if authors else tf.sigmoid(twin[:, k])
            upper, lower = value[labels[:, k] == 1], value[labels[:, k] == (1 if authors else 0)]
            pairs = tf.nn.relu(baselines.WMW_MARGIN - (upper[:, None] - lower[None]))
            expected.append(tf.reduce_mean(tf.square(pairs)))
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(tape.gradient(losses, variable), pairs_tape.gradient(expected, twin), atol=1e-6)


def test_the_authors_cells_do_not_add_up():
    """Phantom true positives: to their sigmoid loss, calling nothing positive is far from an F1 of 0."""
    labels, logits = np.r_[np.ones(10), np.zeros(990)].astype("float32")[:, None], np.full((1000, 1), -30.0, "float32")
    sigmoid, linear = (objectives.OBJECTIVES[f"f1_{h}_authors"] for h in ("sigmoid", "linear"))
    weights = np.ones_like(labels)
    assert 1 - sigmoid(labels, logits, weights)[0] > 0.3  # nothing is predicted positive, F1 is 0
    assert 1 - linear(labels, logits, weights)[0] < 1e-3
    perfect = np.where(labels == 1, 30.0, -30.0).astype("float32")
    assert linear(labels, perfect, weights)[0] < 1e-3


def test_bce_and_dice_are_the_usual_ones():
    labels, logits, weights = batch()
    for k in range(2):
        expected = keras.losses.BinaryCrossentropy(from_logits=True)(labels[:, k : k + 1], logits[:, k : k + 1])
        np.testing.assert_allclose(baselines.binary_crossentropy(labels, logits, weights)[k], expected, rtol=1e-5)
        p = 1 / (1 + np.exp(-logits[:, k]))
        expected = 1 - (2 * (labels[:, k] * p).sum() + 1) / (labels[:, k].sum() + p.sum() + 1)
        np.testing.assert_allclose(baselines.dice(labels, logits, weights)[k], expected, rtol=1e-5)


@pytest.mark.parametrize("loss", ["dice_logits_authors", "dice_authors"])
def test_the_authors_dice_does_not_see_negatives(loss):
    labels, logits, weights = batch()
    with tf.GradientTape() as tape:
        variable = tf.Variable(logits)
        losses = objectives.OBJECTIVES[loss](labels, variable, weights)
    gradients = tape.gradient(losses, variable).numpy()
    assert not gradients[labels == 0].any()
    assert gradients[labels == 1].all()


@pytest.mark.parametrize(
    ("heaviside", "losses"), [("linear", [0.47332734, 0.49004930]), ("sigmoid", [0.44354028, 0.46069455])]
)
def test_the_authors_soft_f1_is_that_of_their_package(heaviside, losses):
    """What torch-btg 0.0.1 gives on this batch, with `linear_approx()` and with `sig(k=10)`."""
    np.testing.assert_allclose(objectives.OBJECTIVES[f"f1_{heaviside}_authors"](*batch()), losses, rtol=1e-5)


WIDE = kss.LinearHeaviside(delta=0.2)


@pytest.mark.parametrize(
    ("name", "losses"),
    [
        ("f1_sigmoid", [kss.SoftF1(heaviside=kss.SigmoidHeaviside(k=10), from_logits=True)]),
        ("f2_linear", [kss.SoftFBeta(beta=2, from_logits=True)]),
        ("f3_linear", [kss.SoftFBeta(beta=3, from_logits=True)]),
        ("f1_linear_mean", [kss.SoftF1(threshold=k / 10, heaviside=WIDE, from_logits=True) for k in range(1, 10)]),
    ],
)
def test_a_trial_has_the_loss_that_its_name_says(name, losses):
    labels, logits, weights = batch()
    ours = objectives.OBJECTIVES[name](labels, logits, weights)
    for k in range(2):
        expected = np.mean([loss(labels[:, k], logits[:, k]) for loss in losses])
        np.testing.assert_allclose(ours[k], expected, rtol=1e-5)
