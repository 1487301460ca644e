"""Guided cross-entropy: its identities, its weights, what it reads, and numbers in every way of calling it."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from cases import PARAMETERS, batch
from keras import ops

from keras_softsets import Argmax, AtRecall, GuidedCrossentropy, MulticlassMatrix, PerClass, evaluate, losses, scores
from keras_softsets.confusion import ConfusionMatrix

OF_CELLS = [name for name in scores.names("cells") if hasattr(scores, name) and not scores.get(name).curve]
CLASSES = 4


def value_and_gradient(loss, y, logits, weight=None, activation=tf.identity):
    z = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(z)
        value = loss(y, activation(z), weight)
    return float(value), tape.gradient(value, z).numpy()


def assert_same(left, right, tolerance=1e-6):
    for got, want in zip(left, right):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def binary(n=200, seed=0):
    y, p, w = batch(n, classes=1, seed=seed)
    return y.astype("float32"), (6 * p - 3).astype("float32"), w


def several(n=120, seed=0):
    random = np.random.default_rng(seed)
    y = random.choice(CLASSES, n, p=[0.5, 0.3, 0.15, 0.05])
    z = random.normal(size=(n, CLASSES)) + 1.5 * np.eye(CLASSES)[y]
    return y, z.astype("float32"), random.uniform(0.1, 2, n).astype("float32")


# ---------------------------------------------------------------------------------------------------------- identities


@pytest.mark.parametrize("from_logits", [False, True])
def test_accuracy_is_binary_crossentropy(from_logits):
    y, z, _ = binary()
    activation = tf.identity if from_logits else tf.sigmoid
    ours, theirs = (
        value_and_gradient(kind(from_logits=from_logits), y, z, activation=activation)
        for kind in (lambda **options: GuidedCrossentropy("accuracy", **options), keras.losses.BinaryCrossentropy)
    )
    assert_same(ours, theirs)
    assert np.abs(theirs[1]).max() > 1e-3


def test_accuracy_is_binary_crossentropy_of_many_labels_with_weights():
    y, p, w = batch(150, classes=3)
    keras_loss = keras.losses.BinaryCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    ours = value_and_gradient(GuidedCrossentropy("accuracy", from_logits=True), y, 4 * p - 2, w)
    assert_same(ours, value_and_gradient(keras_loss, y.astype("float32"), 4 * p - 2, w))


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("from_logits", [False, True])
def test_accuracy_of_classes_is_categorical_crossentropy(from_logits, one_hot):
    y, z, _ = several()
    activation = tf.identity if from_logits else tf.nn.softmax
    labels = np.eye(CLASSES, dtype="float32")[y] if one_hot else y
    ours = value_and_gradient(
        GuidedCrossentropy("multiclass_accuracy", from_logits=from_logits), labels, z, activation=activation
    )
    theirs = keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits)
    assert_same(ours, value_and_gradient(theirs, y, z, activation=activation))


def test_balanced_accuracy_has_balanced_class_weights():
    y, z, w = binary()
    weights = GuidedCrossentropy("balanced_accuracy", from_logits=True).weights(y, z, w)
    positives = float(np.sum(w * y[:, 0]))
    total = float(np.sum(w))
    assert weights == pytest.approx((total / 2 / positives, total / 2 / (total - positives)), rel=1e-6)
    by_hand = w * np.where(y[:, 0] == 1, *weights)
    theirs = keras.losses.BinaryCrossentropy(from_logits=True, reduction="sum")
    ours = value_and_gradient(GuidedCrossentropy("balanced_accuracy", from_logits=True), y, z, w)
    assert_same(ours, value_and_gradient(theirs, y, z, by_hand / total))


def test_f1_weighs_positives_and_negatives_as_2_minus_f_to_f():
    y, z, w = binary()
    p = 1 / (1 + np.exp(-z))
    f1 = float(evaluate(y, p, "f1", w, heaviside="linear"))
    positive, negative = GuidedCrossentropy("f1", from_logits=True).weights(y, z, w)
    assert positive / negative == pytest.approx((2 - f1) / f1, rel=1e-6)
    shift = GuidedCrossentropy("f1", from_logits=True).shift(y, z, w)
    assert shift == pytest.approx(np.log((2 - f1) / f1), rel=1e-6)


@pytest.mark.parametrize("name", OF_CELLS)
def test_weights_are_finite_differences_of_the_hard_score(name):
    """One more sample changes side, among enough that the score is nearly linear."""
    score = scores.get(name, **PARAMETERS.get(name, {}))
    p = np.repeat([1.0, 1.0, 0.0, 0.0], [30_000, 10_000, 20_000, 40_000])  # soft and hard cells are the same
    y = np.repeat([1.0, 0.0, 1.0, 0.0], [30_000, 10_000, 20_000, 40_000])
    cells = ConfusionMatrix(3e4, 1e4, 2e4, 4e4).map(lambda cell: np.full((1, 1), cell))

    def gain(**moves):
        return float((score(cells._replace(**moves)) - score(cells))[0, 0])

    found = gain(tp=cells.tp + 1, fn=cells.fn - 1)
    rejected = gain(tn=cells.tn + 1, fp=cells.fp - 1)
    positive, negative = GuidedCrossentropy(score).weights(y, p)
    mean = (5e4 * found + 5e4 * rejected) / 1e5
    assert (positive, negative) == pytest.approx((found / mean, rejected / mean), rel=1e-3, abs=1e-9)


def test_weights_of_classes_follow_the_confusions_that_happen():
    """Quadratic kappa: class 0 is taken for class 1 only, so only that cost counts, not that of class 3."""
    y = np.repeat([0, 0, 1, 2, 3], [40, 10, 30, 20, 10])
    decided = np.repeat([0, 1, 1, 2, 3], [40, 10, 30, 20, 10])
    p = np.eye(CLASSES, dtype="float32")[decided]
    kappa = scores.kappa(weights="quadratic")
    counts = np.zeros((CLASSES, CLASSES))
    np.add.at(counts, (y, decided), 1000.0)

    def gain(i, j):
        moved = counts.copy()
        moved[i, i] += 1
        moved[i, j] -= 1
        return float(evaluated(kappa, moved) - evaluated(kappa, counts))

    weights = GuidedCrossentropy(kappa).weights(y, p)
    assert weights[0] / weights[1] == pytest.approx(gain(0, 1) / np.mean([gain(1, j) for j in (0, 2, 3)]), rel=1e-2)


def evaluated(score, counts):
    return score(MulticlassMatrix(tf.constant(counts)))


def test_the_scale_of_a_score_changes_nothing():
    y, z, w = binary()
    both = [
        value_and_gradient(GuidedCrossentropy(score, from_logits=True), y, z, w)
        for score in (scores.f1, lambda cells: 1000.0 * scores.f1(cells) - 7.0)
    ]
    assert_same(*both)


# ------------------------------------------------------------------------------------------------ weights and decisions


@pytest.mark.parametrize("make", [binary, several])
def test_weight_two_is_two_copies_and_weight_zero_is_absent(make):
    y, z, _ = make()
    name = "f1" if make is binary else "kappa"
    loss = GuidedCrossentropy(name, from_logits=True, window=None)
    twice = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    copies = np.repeat(np.arange(len(y)), twice.astype(int))
    assert float(loss(y, z, twice)) == pytest.approx(float(loss(y[copies], z[copies])), rel=1e-6)
    absent = (np.arange(len(y)) % 4 > 0).astype("float32")
    spoilt = np.where(absent.reshape(-1, 1) == 0, np.nan, z)
    value, slope = value_and_gradient(loss, y, spoilt, absent)
    assert value == pytest.approx(float(loss(y[absent > 0], z[absent > 0])), rel=1e-6)
    assert not slope[absent == 0].any()
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("threshold", [0.2, 0.9])
@pytest.mark.parametrize("from_logits", [False, True])
def test_another_threshold_moves_the_logit(threshold, from_logits):
    """Against the definition: softplus of z, with the weights of the soft matrix at this threshold."""
    y, z, w = binary()
    p = 1 / (1 + np.exp(-z.astype("float64")))
    f1 = float(evaluate(y, p, "f1", w, threshold=threshold, heaviside="linear"))
    moved = z - np.log(threshold / (1 - threshold))
    entropy = np.where(y == 1, (2 - f1) * np.logaddexp(0, -moved), f1 * np.logaddexp(0, moved))[:, 0]
    want = np.sum(w * entropy) / np.sum(w * np.where(y[:, 0] == 1, 2 - f1, f1))
    loss = GuidedCrossentropy(threshold=threshold, from_logits=from_logits)
    assert float(loss(y, z if from_logits else p, w)) == pytest.approx(want, rel=1e-5)
    assert loss.shift(y, z if from_logits else p, w) == pytest.approx(
        np.log((2 - f1) / f1) + np.log(threshold / (1 - threshold)), rel=1e-5
    )


def test_each_class_has_weights_and_a_threshold_of_its_own():
    y, p, w = batch(150, classes=3)
    thresholds = [0.3, 0.5, 0.8]
    positive, negative = GuidedCrossentropy(threshold=PerClass(thresholds)).weights(y, p, w)
    for k, threshold in enumerate(thresholds):
        alone = GuidedCrossentropy(threshold=threshold).weights(y[:, k], p[:, k], w)
        assert positive[k] / negative[k] == pytest.approx(alone.positive / alone.negative, rel=1e-6)
    micro = GuidedCrossentropy(average="micro").weights(y, p, w)
    assert np.ptp(micro.positive) < 1e-9 < np.ptp(positive)
    alike, first = (GuidedCrossentropy(average=a).weights(y, p, w) for a in ("macro", [1.0, 0.0, 0.0]))
    assert not first.positive[1:].any()
    assert alike.positive[1:].all()


def test_offsets_of_an_argmax_are_added_to_the_logits():
    y, z, _ = several()
    offsets = np.array([0.0, 0.5, 1.0, 2.0])
    ours = GuidedCrossentropy("multiclass_accuracy", threshold=Argmax(offsets=offsets), from_logits=True)
    theirs = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    assert float(ours(y, z)) == pytest.approx(float(theirs(y, z + offsets)), rel=1e-6)
    np.testing.assert_allclose(ours.shift(y, z), -offsets, atol=1e-6)


def test_a_score_of_cells_at_the_argmax_guides_classes():
    y, z, _ = several()
    weights = GuidedCrossentropy("f1", threshold="argmax", from_logits=True).weights(y, z)
    assert weights.shape == (CLASSES,)
    assert weights[3] > weights[0]  # macro F1 gains most from the rarest class


def test_masks_and_ignored_classes_are_absent():
    y, z, _ = several(120)
    masks, logits = y.reshape(2, 6, 10), z.reshape(2, 6, 10, CLASSES)
    ignored = np.random.default_rng(1).random(masks.shape) < 0.3
    loss = GuidedCrossentropy("f1", threshold="argmax", from_logits=True, ignore_class=255, window=None)
    want = float(loss(masks[~ignored], logits[~ignored]))
    assert float(loss(np.where(ignored, 255, masks), logits)) == pytest.approx(want, rel=1e-6)
    predictions = tf.constant(logits)
    predictions._keras_mask = tf.constant(~ignored)
    assert float(loss(masks, predictions)) == pytest.approx(want, rel=1e-6)
    assert float(loss(masks, logits, (~ignored).astype("float32"))) == pytest.approx(want, rel=1e-6)


def test_a_score_of_ones_own_guides():
    def savings(cells):
        return cells.tp * 5.0 - cells.fp

    y, z, _ = binary()
    positive, negative = GuidedCrossentropy(savings, from_logits=True).weights(y, z)
    assert positive / negative == pytest.approx(5.0)


def test_a_batch_without_gradient_is_harmless():
    y, z, _ = binary(32)
    for window in (4096, None):
        value, slope = value_and_gradient(GuidedCrossentropy(window=window, from_logits=True), 0 * y, z)
        assert value == 0
        assert not slope.any()
    empty = GuidedCrossentropy()(np.zeros((0, 1)), np.zeros((0, 1)))
    assert float(empty) == 0


# ------------------------------------------------------------------------------------------------- digits and numerics


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("kind", ["sigmoid", "softmax"])
def test_the_logits_behind_an_activation_are_found(kind, graph):
    """A probability of 1 in float32 has lost the digits of its logit."""
    z = np.array([[40.0, -40.0], [-40.0, 40.0]], "float32")
    y = np.array([[0, 1], [1, 0]], "float32") if kind == "sigmoid" else np.array([1, 1])
    loss = GuidedCrossentropy("accuracy" if kind == "sigmoid" else "multiclass_accuracy")
    activation = getattr(keras.activations, kind)

    def value(z):
        return loss(y, activation(z))

    found = (tf.function(value) if graph else value)(tf.constant(z))
    assert float(found) == pytest.approx(40.0, rel=1e-6)
    assert float(loss(y, ops.convert_to_numpy(activation(z)))) < 30  # clipped as in Keras, once the logits are lost


def test_the_logits_of_another_activation_are_not_taken_for_those_of_a_sigmoid():
    z = np.array([[2.0, 1.0], [0.0, 3.0]], "float32")
    y = np.array([[1.0, 0.0], [0.0, 1.0]], "float32")
    p = keras.activations.softmax(tf.constant(z))
    loss = GuidedCrossentropy("accuracy")
    want = float(loss(y, p.numpy()))
    assert float(loss(y, p)) == pytest.approx(want, rel=1e-6)
    assert float(tf.function(lambda z: loss(y, keras.activations.softmax(z)))(z)) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("jit", [False, True])
def test_every_dtype_compiled_or_not(dtype, jit):
    y, z, w = binary(64)
    rounded = tf.cast(z, dtype)
    want = value_and_gradient(GuidedCrossentropy(from_logits=True), y, tf.cast(rounded, tf.float32).numpy(), w)
    loss = GuidedCrossentropy(from_logits=True)

    @tf.function(jit_compile=jit)
    def step(z):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = loss(y, z, w)
        return value, tape.gradient(value, z)

    value, slope = step(rounded)
    assert value.dtype == tf.float32
    assert slope.dtype == rounded.dtype
    assert_same((value, tf.cast(slope, tf.float32)), want, 1e-6 if dtype in ("float32", "float64") else 1e-2)


def test_nan_is_not_hidden_and_does_not_stay_in_the_matrix():
    y, z, _ = binary(32)
    loss = GuidedCrossentropy(from_logits=True)
    assert np.isnan(value_and_gradient(loss, y, np.where(np.arange(32)[:, None] == 3, np.nan, z))[0])
    assert_same(value_and_gradient(loss, y, z), value_and_gradient(GuidedCrossentropy(from_logits=True), y, z))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"score": "roc_auc"}, "`score` must be a score of one threshold .* Received: score='roc_auc'"),
        ({"threshold": [0.2, 0.4]}, r"not a sweep .* Received: threshold=\[0.2, 0.4\]"),
        ({"score": "precision", "threshold": AtRecall(0.9)}, "an operating point.* Received: threshold=AtRecall"),
        ({"average": "samples"}, "`average` must be .* Received: average='samples'"),
        ({"window": 0}, "`window` must be a whole number of at least 1 .*Received: window=0"),
        ({"beta": 2}, "There is no argument `beta`"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        GuidedCrossentropy(**arguments)


def test_it_is_public_and_reads_as_it_was_written():
    assert losses.GuidedCrossentropy is GuidedCrossentropy
    loss = GuidedCrossentropy("f_beta", beta=2, threshold=PerClass([0.2, 0.4]), window=None, average="micro")
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert repr(again) == repr(loss)
    assert "beta=2" in repr(loss)
    assert again.get_config() == loss.get_config()
