"""Losses at operating points: implicit gradients against finite differences in float64, and every way to run them."""

import pathlib

import keras
import numpy as np
import processes
import pytest
import reference
import tensorflow as tf
from cases import value_and_gradient

from keras_softsets import (
    AtPrecision,
    AtRecall,
    AtSpecificity,
    SoftPrecisionAtRecall,
    SoftRecallAtPrecision,
    SoftSensitivityAtSpecificity,
    SoftSetLoss,
    SoftSpecificityAtSensitivity,
    losses,
    metrics,
)
from keras_softsets._backend.tensorflow import _boundary, _moving, _precision, _sizes

SCRIPT = pathlib.Path(__file__).parents[1] / "scripts" / "replicas_operating.py"
NAMED = {
    SoftPrecisionAtRecall: ("precision", "recall"),
    SoftRecallAtPrecision: ("recall", "precision"),
    SoftSensitivityAtSpecificity: ("recall", "specificity"),
    SoftSpecificityAtSensitivity: ("specificity", "recall"),
}
AT = {"recall": AtRecall, "precision": AtPrecision, "specificity": AtSpecificity}
EACH = pytest.mark.parametrize("loss", NAMED, ids=lambda loss: loss.__name__)


def true_threshold(rate, least, y, p, w):
    """The boundary by trying every probability; for specificity, just above the negative that must be left out."""
    p = p.astype("float32")
    cuts = np.unique(p)
    after = np.nextafter(cuts, np.float32(2))
    cuts = np.sort(np.concatenate([cuts, after])) if rate == "specificity" else cuts
    rates = [reference.SCORES[rate](*reference.cells(y, p, w, thresholds=(t,), heaviside=reference.step)) for t in cuts]
    met = cuts[np.ravel(rates) >= least - 1e-6]
    return float(met.max() if rate == "recall" else met.min())


def surrogate(score, rate, start, y, p, w, heaviside):
    """The score as a function of p, its threshold following so that the soft rate stays what it is at the start."""
    y, w = y[:, None], w[:, None]

    def cells(p, threshold):
        return reference.cells(y, p[:, None], w, thresholds=(threshold,), heaviside=heaviside)

    def soft(p, threshold):
        return reference.SCORES[rate](*cells(p, threshold)).item()

    kept = soft(p, start)

    def value(q):
        low, high = start - 1e-3, start + 1e-3
        rises = soft(q, high) > soft(q, low)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if (soft(q, middle) < kept) == rises else (low, middle)
        return 1 - reference.SCORES[score](*cells(q, (low + high) / 2)).item()

    return value


@EACH
@pytest.mark.parametrize("heaviside", ["linear", "sigmoid"])
def test_gradients_are_finite_differences_of_the_surrogate(loss, heaviside, rng):
    score, rate = NAMED[loss]
    n = 40
    y = (rng.random(n) < 0.4).astype("float32")
    p = np.clip(0.35 * y + 0.6 * rng.random(n) + 0.02, 0, 1).astype("float32")
    w = rng.uniform(0.5, 2, n).astype("float32")
    for least in (0.6, 0.8):
        start = true_threshold(rate, least, y[:, None], p[:, None], w[:, None])
        oracle = surrogate(score, rate, start, y, p.astype("float64"), w, reference.HEAVISIDES[heaviside])
        value, gradient = value_and_gradient(loss(least, heaviside=heaviside), y, p, w)
        assert value == pytest.approx(oracle(p.astype("float64")), rel=1e-5)
        expected = reference.gradient(oracle, p, epsilon=1e-5)
        np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_without_the_implicit_part_the_gradient_is_another(rng):
    """At a fixed threshold the gradient is clearly different, so the test above does check the implicit part."""
    y, p = (rng.random(40) < 0.4).astype("float32"), rng.random(40).astype("float32")
    threshold = true_threshold("recall", 0.8, y[:, None], p[:, None], np.ones((40, 1)))
    value, fixed = value_and_gradient(SoftSetLoss("precision", threshold=threshold), y, p)
    same, moving = value_and_gradient(SoftPrecisionAtRecall(0.8), y, p)
    assert value == pytest.approx(same, rel=1e-5)
    assert np.abs(fixed - moving).max() > 0.1 * np.abs(moving).max()


@pytest.mark.parametrize("at", [0.3, 1e-3, 1e-6])
def test_the_rate_changes_by_a_thousandth_per_share_of_the_threshold_at_least(at):
    """Otherwise the gradient would be huge with hardly any positive nearby, most of all for saturated probabilities."""
    y, w = np.array([1, 1, 0, 0, 0]), np.array([1, 2000, 1, 1, 1])
    p = np.array([at, 0.9999, 1.3 * at, 0.7 * at, 3 * at], "float32").astype("float64")

    def score(name, p, threshold):
        cells = reference.cells(y[:, None], p[:, None], w[:, None], thresholds=(threshold,))
        return reference.SCORES[name](*cells).item()

    def slope(name, moved, x, share=1e-4):
        return (score(name, *moved(x * (1 + share))) - score(name, *moved(x * (1 - share)))) / (2 * share * x)

    def in_threshold(name):
        return slope(name, lambda threshold: (p, threshold), p[0])

    def in_p(name):
        return np.array([slope(name, lambda x, k=k: (np.where(k, x, p), p[0]), p[k].item()) for k in np.eye(5) > 0])

    least = -1e-3 / p[0]
    assert least < in_threshold("recall") < 0
    value, gradient = value_and_gradient(SoftPrecisionAtRecall(0.9999), y, p, w)
    assert value == pytest.approx(1 - score("precision", p, p[0]), rel=1e-5)
    expected = in_threshold("precision") * in_p("recall") / least - in_p("precision")
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


@EACH
def test_weights_are_copies_zero_weights_absence_and_masks_too(loss, rng):
    y, p, w = rng.integers(0, 2, 30), rng.random(30).astype("float32"), rng.integers(0, 4, 30)
    value, gradient = value_and_gradient(loss(0.7), y, p, w)
    copied, copied_gradient = value_and_gradient(loss(0.7), np.repeat(y, w), np.repeat(p, w))
    assert value == pytest.approx(copied, rel=1e-5)
    sums = np.add.reduceat(np.append(copied_gradient, 0), np.append(0, np.cumsum(w))[:-1]) * (w > 0)
    np.testing.assert_allclose(gradient, sums, rtol=1e-4, atol=1e-6)
    masked = tf.constant(np.where(w > 0, p, np.nan))
    masked._keras_mask = tf.constant(w > 0)
    assert float(loss(0.7)(y, masked)) == pytest.approx(float(loss(0.7)(y[w > 0], p[w > 0])), rel=1e-6)


@EACH
def test_logits_modes_and_half_precision(loss, rng):
    y, z = rng.integers(0, 2, 64).astype("float32"), (np.round(rng.normal(size=64) * 64) / 64).astype("float32")
    value, gradient = value_and_gradient(loss(0.7, from_logits=True), y, z)
    p = tf.sigmoid(z).numpy()
    expected, in_p = value_and_gradient(loss(0.7), y, p)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(gradient, in_p * p * (1 - p), rtol=1e-4, atol=1e-7)
    for jit in (False, True):
        step = tf.function(lambda y, z: value_and_gradient_graph(loss(0.7, from_logits=True), y, z), jit_compile=jit)
        for found, eager in zip(step(tf.constant(y), tf.constant(z)), (value, gradient)):
            np.testing.assert_allclose(found, eager, rtol=1e-5, atol=1e-6)
    for dtype in ("float16", "bfloat16"):
        narrow = tf.cast(z, dtype)
        assert float(loss(0.7, from_logits=True)(y, narrow)) == pytest.approx(
            float(loss(0.7, from_logits=True)(y, tf.cast(narrow, "float32"))), rel=1e-6
        )


def value_and_gradient_graph(loss, y, p):
    value = loss(y, p)
    return value, tf.gradients(value, p)[0]


@EACH
def test_classes_and_rates_do_not_mix(loss, rng):
    y, p = rng.integers(0, 2, (40, 3)), rng.random((40, 3)).astype("float32")
    each = loss([0.5, 0.8], average=None, reduction=None)(y, p).numpy()
    expected = [np.mean([float(loss(rate)(y[:, k], p[:, k])) for rate in (0.5, 0.8)]) for k in range(3)]
    np.testing.assert_allclose(each, expected, rtol=1e-5)


def test_a_rate_without_meaning_is_a_constant():
    p = np.float32([0.2, 0.5, 0.7])
    for loss, label in (
        (SoftPrecisionAtRecall(0.9), 0.0),
        (SoftRecallAtPrecision(0.9), 0.0),
        (SoftSpecificityAtSensitivity(0.9), 0.0),
        (SoftSensitivityAtSpecificity(0.9), 1.0),
    ):
        value, gradient = value_and_gradient(loss, np.full(3, label, "float32"), p)
        assert value == 1
        assert not gradient.any()
        empty, nothing = value_and_gradient(loss, p[:0], p[:0])
        assert empty == 1
        assert nothing.shape == (0,)


def test_a_precision_out_of_reach_is_pushed_up():
    y, p = np.float32([1, 0, 1, 0, 0]), np.float32([0.3, 0.5, 0.6, 0.8, 0.7])
    value, gradient = value_and_gradient(SoftRecallAtPrecision(0.9), y, p)
    assert value > 1
    assert (gradient[y == 1] < 0).all()
    assert (gradient[y == 0] > 0).all()
    z = tf.Variable(np.log(p / (1 - p)))
    optimizer = keras.optimizers.Adam(0.1)
    loss = SoftRecallAtPrecision(0.9, from_logits=True)
    for _ in range(100):
        with tf.GradientTape() as tape:
            value = loss(y, z)
        optimizer.apply_gradients([(tape.gradient(value, z), z)])
    assert float(metrics.RecallAtPrecision(0.9, from_logits=True)(y, z)) == 1
    assert float(value) < 0.5


@EACH
@pytest.mark.parametrize("heaviside", ["linear", "sigmoid"])
def test_no_batch_gives_nan_or_inf(loss, heaviside, rng):
    """6,500 batches of 6 for each case, with and without weights: 104,000 in all, as classes, which are independent."""
    batches = 6500
    special = [0, 1, 1e-45, 1e-38, 1e-20, 1e-7, 1 - 1e-7, 1 - 6e-8, 0.5, 0.25, 0.75]
    p = np.where(rng.random((6, batches)) < 0.7, rng.choice(special, (6, batches)), rng.random((6, batches)))
    p[:, : len(special)] = special  # saturated and constant batches
    y = (rng.random((6, batches)) < rng.choice([0, 0.3, 1], batches)).astype("float32")
    w = rng.choice([0.0, 1e-20, 1e-3, 1.0, 1e6], (6, batches)) * rng.choice([0.0, 1.0, 1.0], batches)
    options = dict(heaviside=heaviside, average=None, reduction=None)
    for weight in (None, w):
        values, gradient = value_and_gradient(loss([0.3, 1.0], **options), y, p, weight)
        assert values.shape == (batches,)
        assert np.isfinite(values).all()
        assert np.isfinite(gradient).all()
        assert values.min() >= -1e-5
        assert values.max() <= 2 + 1e-5


@EACH
def test_nan_in_a_prediction_is_nan_in_the_loss(loss):
    for y in ([0, 1, 1], [0, 0, 1]):
        assert np.isnan(loss(0.7)(y, [0.2, np.nan, 0.9]))


PROBABILITIES = {
    "even": lambda rng, shape: rng.random(shape),
    "low": lambda rng, shape: rng.beta(0.3, 3, shape),
    "tiny": lambda rng, shape: 10.0 ** rng.uniform(-40, 0, shape),
    "rounded": lambda rng, shape: np.round(rng.random(shape), 2),
    "half precision": lambda rng, shape: rng.random(shape).astype("float16"),
    "saturated": lambda rng, shape: 1 - rng.integers(0, 6, shape) * 2.0**-24,
}


@pytest.mark.parametrize("kind", PROBABILITIES)
def test_counting_finds_the_precision_that_sorting_finds(kind, rng):
    shape, rates = (4096, 3), tf.constant([[0.05], [0.3], [0.5], [0.9], [1.0]], tf.float64)
    p = PROBABILITIES[kind](rng, shape).astype("float32")
    p[:, 2] = np.sort(p[:, 2])  # hovers around 0.5, so that many bins could hold it
    y = np.where(np.arange(3) == 2, np.arange(4096)[:, None] % 2, rng.random(shape) < p).astype("float32")
    for w in (np.ones(shape), rng.integers(0, 3, shape) * rng.random(shape)):
        w = w.astype("float32")
        arrays = [tf.constant(x) for x in (np.where(w > 0, p, 0).view("int32"), w * y, w * (1 - y))]
        bits, met, done = COUNTED(*arrays, rates)
        expected, expected_met = _precision.by_sorting(*arrays, rates)
        np.testing.assert_array_equal(met, expected_met)
        # Weighted sums in another order may differ in the last digit, and so may the choice among equal precisions.
        found = done.numpy()[:, None] & ((w == 1).all() | expected_met.numpy())
        assert found.mean() > 0.5
        np.testing.assert_array_equal(bits.numpy()[found], expected.numpy()[found])


ARRAY = tf.TensorSpec([None, None], tf.float32)
COUNTED = tf.function(
    _precision.narrowed,
    input_signature=[tf.TensorSpec([None, None], tf.int32), ARRAY, ARRAY, tf.TensorSpec([None, 1], tf.float64)],
    jit_compile=True,
)


@EACH
def test_batches_of_new_sizes_are_padded_to_the_same(loss, monkeypatch):
    """Otherwise XLA would compile the search and the cells for each of them."""
    seen = set()

    def noted(*arrays):
        found = _sizes.padded(*arrays)
        seen.update(len(x) for x in found)
        return found

    monkeypatch.setattr(_boundary, "padded", noted)
    monkeypatch.setattr(_moving, "padded", noted)
    for n in (300, 301, 511):
        value_and_gradient(loss(0.7), np.arange(n) % 2, np.linspace(0, 1, n, dtype="float32"))
    assert seen == {512}


@EACH
def test_saved_losses_and_metrics_are_the_same(loss, rng):
    y, p = rng.integers(0, 2, 30), rng.random(30).astype("float32")
    metric = getattr(metrics, loss.__name__.removeprefix("Soft"))
    for made in (
        loss([0.5, 0.75], heaviside="sigmoid", average="weighted"),
        loss(0.9),
        metric(0.9),
        metric([0.2, 0.4]),
    ):
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(made))
        assert again.get_config() == made.get_config()
        assert float(again(y, p)) == float(made(y, p))
    assert getattr(losses, loss.__name__) is loss


def test_a_model_is_trained_in_mixed_precision_and_found_again(tmp_path, rng):
    keras.config.set_dtype_policy("mixed_float16")
    x = rng.normal(size=(512, 4)).astype("float32")
    y = (x @ [1.0, -1, 0.5, 0] + rng.normal(size=512) > 1.5).astype("float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, activation="sigmoid", dtype="float32")])
    model.compile("adam", loss=SoftPrecisionAtRecall(0.9), metrics=[metrics.PrecisionAtRecall(0.9)])
    before = model.evaluate(x, y, verbose=0)
    model.fit(x, y, batch_size=256, epochs=20, verbose=0)
    after = model.evaluate(x, y, verbose=0)
    assert after[0] < before[0]
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again.evaluate(x, y, verbose=0), after, rtol=1e-4)


def test_replicas_are_one_device(tmp_path):
    out = tmp_path / "numbers.npz"
    processes.run_well(SCRIPT, out)
    found = np.load(out)
    for name in found["names"]:
        for key in ("loss", "gradient", "metric"):
            one, two = found[f"{name}/{key}/one"], found[f"{name}/{key}/two"]
            np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-7, err_msg=f"{name} {key}")
    assert (
        np.abs(found["SoftPrecisionAtRecall/gradient/alone"] - found["SoftPrecisionAtRecall/gradient/one"]).max() > 1e-4
    )


@EACH
def test_saturated_predictions_give_the_same_numbers_eagerly_and_in_a_graph(loss, rng):
    y = rng.integers(0, 2, 256).astype("float32")
    step = tf.function(lambda y, p: value_and_gradient_graph(loss(0.9), y, p))
    for _ in range(5):
        p = (1 - rng.integers(0, 6, 256) * 2.0**-24).astype("float32")  # a handful of numbers, so most are tied
        expected = value_and_gradient(loss(0.9), y, p)
        for found, eager in zip(step(tf.constant(y), tf.constant(p)), expected, strict=True):
            # Eagerly, batches are padded, and their sums in another order: one unit in the last place, not another tie.
            np.testing.assert_allclose(found, eager, rtol=2.5e-7)
