"""The losses of the study against what a user would write in Keras, and the running memory against its definition."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_softsets as kss
from benchmarks.recipes import images, methods, objectives
from benchmarks.recipes.memory import Remembered
from keras_softsets.losses import PAPER_THRESHOLDS


def batch(samples=60, trials=3, padded=7, seed=0, epoch=np.inf):
    random = np.random.default_rng(seed)
    labels = (random.random((samples, trials)) < 0.3).astype("float32")
    weights = np.ones_like(labels)
    weights[len(weights) - padded :] = 0  # the end of a short last batch
    logits = random.normal(size=labels.shape).astype("float32")
    return objectives.Batch(*map(tf.constant, (labels, logits, weights)), tf.constant(epoch, tf.float32))


def in_keras(name):
    """The loss that `name` stands for, on logits."""
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


@pytest.mark.parametrize("name", [n for n, method in methods.TABULAR.items() if method.balance == "none"])
def test_each_trial_has_the_loss_that_keras_gives(name):
    made, objective = batch(), methods.TABULAR[name].objective
    found, _ = objective(made, objective.start(3))
    for trial in range(3):
        y, z = (x[:53, trial : trial + 1] for x in made[:2])
        assert float(found[trial]) == pytest.approx(float(in_keras(name)(y, z)), rel=2e-5)


@pytest.mark.parametrize("epoch", [0, 7, 20, 50])
def test_a_schedule_is_that_of_the_callback(epoch):
    objective = methods.TABULAR["f1_bce_scheduled"].objective
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
    made, remembered = batch(), Remembered(f1)
    found, _ = slopes(remembered, made, remembered.start(3))
    want, _ = slopes(objectives.Plain(f1), made, tf.zeros([0, 3]))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-7)
    assert np.abs(want).max() > 1e-3


def test_a_memory_is_a_moving_average_with_the_start_left_out():
    remembered = Remembered(objectives.soft(kss.SoftF1), window=100)
    first, second = batch(40, 1, 0, seed=1), batch(20, 1, 5, seed=2)
    _, memory = remembered(first, remembered.start(1))
    _, memory = remembered(second, memory)
    cells = [remembered.loss.evaluation.totals(*made[:3])[:, 0, 0].numpy() for made in (first, second)]
    kept = 0.99**15
    weights = np.array([(1 - 0.99**40) * kept, 1 - kept])
    want = weights @ np.stack([cells[0] / 40, cells[1] / 15]) / weights.sum()
    np.testing.assert_allclose((memory[:4, 0] / memory[4, 0]).numpy(), want, rtol=1e-4)


def test_savings_is_that_of_the_example():
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.9, 0.3, 0.8])
    assert kss.evaluate(y, p, methods.savings) == pytest.approx((methods.MISS * 1 - 2) / 4)
