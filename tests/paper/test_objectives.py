"""The losses of the reproduction: the usual ones are the usual ones, and those of the authors' code have its errors."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_softsets as kss
from benchmarks.paper.methods import baselines, objectives


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
    assert 1 - sigmoid(labels, logits, weights)[0] > 0.3  # nothing is called positive, F1 is 0
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
