"""The methods of the recipes: each trial has the loss of Keras or of the package, and what the engine adds to it."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from paper_trials import two_trials

import keras_softsets as kss
from keras_softsets import heaviside
from keras_softsets.losses import PAPER_THRESHOLDS
from studies.engine import network, objectives, side_by_side, tabular
from studies.engine.memory import Guided, Remembered, cells_of
from studies.engine.program import Settings, first_state
from studies.engine.side_by_side import stratified
from studies.guided import tables
from studies.recipes import images, plan


def batch(samples=60, trials=3, padded=7, seed=0, epoch=np.inf):
    random = np.random.default_rng(seed)
    labels = (random.random((samples, trials)) < 0.3).astype("float32")
    weights = np.ones_like(labels)
    weights[len(weights) - padded :] = 0  # the end of a short last batch
    logits = random.normal(size=labels.shape).astype("float32")
    return objectives.Batch(*map(tf.constant, (labels, logits, weights)), tf.constant(epoch, tf.float32))


def in_keras(name):
    """The loss with this name, on logits."""
    bce, f1 = keras.losses.BinaryCrossentropy(from_logits=True), kss.SoftF1(from_logits=True)
    nine = kss.SoftF1(from_logits=True, threshold=PAPER_THRESHOLDS)
    auroc = kss.SoftAUROC(from_logits=True)
    blend = lambda score, weight: kss.BlendedLoss({"a": score, "bce": bce}, {"a": 1.0, "bce": weight})
    return {
        "bce": bce,
        "focal": keras.losses.BinaryFocalCrossentropy(from_logits=True),
        "dice": lambda y, z: keras.losses.Dice()(y, tf.sigmoid(z)),
        "f1": f1,
        "f1_nine": nine,
        "f1_sigmoid": kss.SoftF1(from_logits=True, heaviside="sigmoid"),
        "f1_bce_0.3": blend(f1, 0.3),
        "f1_bce_1": blend(f1, 1.0),
        "f1_bce_3": blend(f1, 3.0),
        "f1_nine_bce_0.3": blend(nine, 0.3),
        "f1_bce_scheduled": blend(f1, 1.0),
        "auroc_bce_1": blend(auroc, 1.0),
    }[name]


@pytest.mark.parametrize("name", [n for n, method in images.METHODS.items() if method.balance == "none"])
def test_images_with_labels_of_one_axis_have_these_losses(name):
    labels, logits = np.float32([1, 0, 0, 1, 0]), np.float32([[2], [-1], [0.5], [-3], [0.1]])
    found = images.METHODS[name].loss()(labels, logits)
    np.testing.assert_allclose(found, in_keras(name)(labels[:, None], logits), rtol=1e-6)


@pytest.mark.parametrize("name", [n for n, method in plan.TABULAR.items() if method.balance == "none"])
def test_each_trial_has_the_loss_that_keras_gives(name):
    made, objective = batch(), plan.TABULAR[name].objective
    found, _ = objective(made, objective.start(3))
    for trial in range(3):
        y, z = (x[:53, trial : trial + 1] for x in made[:2])
        assert float(found[trial]) == pytest.approx(float(in_keras(name)(y, z)), rel=2e-5)


@pytest.mark.parametrize("epoch", [0, 7, 20, 50])
def test_a_schedule_is_that_of_the_callback(epoch):
    objective = plan.TABULAR["f1_bce_scheduled"].objective
    blend = in_keras("f1_bce_scheduled")
    schedule = kss.BlendSchedule(blend, {"a": 0, "bce": 1}, {"a": 1, "bce": 1}, epochs=objective.epochs)
    schedule.on_epoch_begin(epoch)
    made = batch(trials=1, padded=0, epoch=epoch)
    assert float(objective(made, objective.start(1))[0][0]) == pytest.approx(float(blend(*made[:2])), rel=1e-5)


def slopes(objective, made, memory):
    with tf.GradientTape() as tape:
        tape.watch(made.logits)
        losses, memory = objective(made, memory)
    return tape.gradient(losses, made.logits).numpy(), memory


def test_a_memory_of_one_batch_has_the_gradient_of_the_loss():
    f1 = objectives.soft(kss.SoftF1)
    made, remembered = batch(), Remembered(kss.scores.f1)
    found, _ = slopes(remembered, made, remembered.start(3))
    want, _ = slopes(objectives.Plain(f1), made, tf.zeros([0, 3]))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-7)
    assert np.abs(want).max() > 1e-3


def test_a_memory_is_a_moving_average_with_the_start_left_out():
    remembered = Remembered(kss.scores.f1, window=100)
    first, second = batch(40, 1, 0, seed=1), batch(20, 1, 5, seed=2)
    _, memory = remembered(first, remembered.start(1))
    _, memory = remembered(second, memory)
    cells = [cells_of(made)[:, 0].numpy() for made in (first, second)]
    kept = 0.99**15
    weights = np.array([(1 - 0.99**40) * kept, 1 - kept])
    want = weights @ np.stack([cells[0] / 40, cells[1] / 15]) / weights.sum()
    np.testing.assert_allclose((memory[:4, 0] / memory[4, 0]).numpy(), want, rtol=1e-4)


@pytest.mark.parametrize("name", tables.METHODS)
def test_each_trial_is_guided_by_a_matrix_of_its_own(name):
    """Against the losses of the package, which have one running matrix each, over several batches of training."""
    objective = tables.METHODS[name].objective
    losses = [kss.GuidedCrossentropy(from_logits=True, window=objective.window) for _ in range(3)]
    for guide in (guide for loss in losses for guide in loss._guides.values()):
        guide.evaluation.heaviside = heaviside.get(objective.heaviside)
    memory, f1 = objective.start(3), kss.SoftF1(from_logits=True)
    for seed in range(3):
        made = batch(seed=seed)
        found, memory = slopes(objective, made, memory)
        for trial, loss in enumerate(losses):
            y, z = (x[:53, trial : trial + 1] for x in made[:2])
            with tf.GradientTape() as tape:
                tape.watch(z)
                value = objective.weight * loss(y, z) + (f1(y, z) if objective.beside else 0)
            np.testing.assert_allclose(found[:53, trial], tape.gradient(value, z)[:, 0], rtol=1e-4, atol=1e-7)
    assert not np.allclose(memory[:, 0], memory[:, 1])


def test_the_guided_value_of_a_part_is_that_of_its_own_matrix():
    made, objective = batch(), Guided(kss.scores.f1)
    found, _ = objective(made, objective.start(3))
    want = [float(kss.GuidedCrossentropy(from_logits=True)(made[0][:53, k], made[1][:53, k])) for k in range(3)]
    np.testing.assert_allclose(found, want, rtol=1e-5)


def test_savings_is_that_of_the_example():
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.3, 0.8])
    assert kss.evaluate(y, p, plan.savings) == pytest.approx((plan.MISS * 1 - 2) / 4)


SHORT = tabular.Budget(6, 3)


@functools.cache  # compiling takes longer than all the rest
def trained(name, budget=SHORT, only=None):
    trials = two_trials() if only is None else two_trials().of(np.array([only]))
    settings = Settings(32, patience=budget.patience, most_epochs=budget.epochs)
    return side_by_side.train(trials, plan.ALL[name], settings)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("f1_stratified", "accuracy_bias", "savings_delta_0.2")]


@pytest.mark.parametrize("name", ["f1_bce_scheduled", "f1_memory", *SLOW])
def test_a_trial_does_not_depend_on_those_beside_it(name):
    both, alone = trained(name), trained(name, only=1)
    for pair, single in zip(both.weights, alone.weights, strict=True):
        np.testing.assert_allclose(pair[1], single[0], atol=1e-5)


def test_a_schedule_begins_with_cross_entropy_alone():
    one = tabular.Budget(1, 1)
    for got, want in zip(trained("f1_bce_scheduled", one).weights, trained("bce", one).weights, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_methods_differ():
    found = {name: trained(name).weights[0].numpy() for name in ("bce", "f1", "f1_bce_scheduled", "f1_memory")}
    names = list(found)
    for k, one in enumerate(names):
        for other in names[k + 1 :]:
            assert np.abs(found[one] - found[other]).max() > 1e-4, (one, other)


def test_an_output_bias_starts_at_the_share_of_positives():
    trials = two_trials()
    state = first_state(trials, tf.zeros([0, 2]), output_bias=True)
    zero = tf.zeros_like(tf.constant(trials.train.x[:, :1]))
    start = tf.sigmoid(network.logits(state.weights, zero)).numpy()[0]
    np.testing.assert_allclose(start, trials.train.y.mean(axis=1), atol=1e-6)  # all other biases are 0


def test_stratified_batches_share_the_positives():
    trials = two_trials()
    rows = stratified(trials, 16, 0, 2)
    assert rows.shape == (2, 10, 2, 16)
    for epoch in range(2):
        for trial in range(2):
            order = rows[epoch, :, trial].ravel()
            assert sorted(order[order >= 0]) == list(range(150))
            positives = trials.train.y[trial][rows[epoch, :9, trial]].sum(axis=1)
            assert positives.min() >= 3, positives  # 16 * 38 / 150 = 4.05
            assert positives.max() <= 5, positives
    assert not np.array_equal(rows[0], rows[1])


@pytest.mark.parametrize(
    ("samples", "batch_size", "want"),
    [(3_360, 1024, (1000, 100)), (182_277, 16, (20, 5)), (7_156, 16, (223, 55)), (182_277, 1024, (558, 100))],
)
def test_the_budget(samples, batch_size, want):
    assert tuple(tabular.budget(samples, batch_size)) == want
