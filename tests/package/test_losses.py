"""Losses: values and gradients against the paper's equations, in every combination; nothing ever NaN."""

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from cases import CLASS_LOSSES, LOSSES, NINE, paired, value_and_gradient

import keras_softsets
from keras_softsets import LinearHeaviside, SoftF1, SoftFBeta, SoftSetLoss, SoftTversky, TabulatedHeaviside

H = {"linear": (LinearHeaviside(0.2), lambda p, t: reference.linear(p, t, 0.2))}
H["sigmoid"] = ("sigmoid", reference.sigmoid)


def test_every_named_loss_is_public():
    assert len(LOSSES) == 14
    assert len(CLASS_LOSSES) == 2
    for loss in (*LOSSES, *CLASS_LOSSES):
        assert getattr(keras_softsets, loss.__name__) is loss


@pytest.mark.parametrize(
    ("loss", "heaviside", "thresholds"), paired(LOSSES, list(H), [(0.5,), (0.07,), (0.2, 0.55, 0.93)])
)
def test_values_and_gradients_are_the_papers(loss, heaviside, thresholds, rng):
    ours, theirs = H[heaviside]
    y, p = (rng.random((12, 3)) < 0.4).astype("float32"), rng.uniform(0.02, 0.98, (12, 3)).astype("float32")
    w = rng.uniform(0.5, 2, (12, 3)).astype("float32")
    for average in ("macro", "micro", "weighted"):
        value, gradient = value_and_gradient(loss(threshold=thresholds, heaviside=ours, average=average), y, p, w)
        options = dict(thresholds=thresholds, heaviside=theirs, average=average)
        oracle = lambda q, o=options: reference.loss(loss.score_name, y, q, w, **o)
        assert value == pytest.approx(oracle(p), rel=1e-5)
        expected = reference.gradient(oracle, p)
        np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("thresholds", [(0.01,), (0.99,), NINE, (0.123, 0.5, 0.9123)], ids=str)
@pytest.mark.parametrize("classes", [1, 2, 5])
def test_gradients_to_five_digits(thresholds, classes, rng):
    """The gradient in p of F2, by the chain rule in float64: dL/dp = sum of dL/dcell dcell/dh dh/dp."""
    y, p = (rng.random((50, classes)) < 0.4).astype("float32"), rng.uniform(0.01, 0.99, (50, classes)).astype("float32")
    _, gradient = value_and_gradient(SoftFBeta(2, threshold=thresholds), y, p)
    expected = np.zeros_like(gradient, "float64")
    for threshold in thresholds:
        tp, fp, fn, _ = reference.cells(y, p, thresholds=(threshold,))[:, 0]
        d = 5 * tp + 4 * fn + fp
        low, middle, high = reference.linear_slopes(threshold)
        margin = min(threshold, 1 - threshold) / 2
        slope = np.where(p < threshold - margin, low, np.where(p > threshold + margin, high, middle))
        per_tp = 5 / d - 5 * tp / d**2  # tp rises and fn falls: d grows by 1
        per_fp = -5 * tp / d**2
        expected -= slope * np.where(y > 0, per_tp, per_fp) / len(thresholds) / classes
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-8)


def test_the_table_follows_its_base(rng):
    y, p = rng.integers(0, 2, 500), rng.random(500)
    exact, gradient = value_and_gradient(SoftF1(threshold=NINE), y, p)
    close, table_gradient = value_and_gradient(SoftF1(threshold=NINE, heaviside=TabulatedHeaviside(decimals=3)), y, p)
    assert close == pytest.approx(exact, abs=2e-3)
    assert np.corrcoef(gradient, table_gradient)[0, 1] > 0.999


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_weights_are_copies_and_zero_weights_absence(loss, rng):
    y, p = rng.integers(0, 2, 20), rng.random(20).astype("float32")
    w = rng.integers(0, 4, 20)
    weighted, gradient = value_and_gradient(loss(), y, p, w)
    copied, copied_gradient = value_and_gradient(loss(), np.repeat(y, w), np.repeat(p, w))
    assert weighted == pytest.approx(copied, rel=1e-5)
    sums = np.add.reduceat(np.append(copied_gradient, 0), np.append(0, np.cumsum(w))[:-1]) * (w > 0)
    np.testing.assert_allclose(gradient, sums, rtol=1e-4, atol=1e-6)


def test_a_mask_is_absence(rng):
    y, p = rng.integers(0, 2, (4, 6, 1)), tf.constant(rng.random((4, 6, 1)), tf.float32)
    kept = np.arange(6) < np.array([[6], [3], [1], [0]])
    p._keras_mask = tf.constant(kept)
    expected = float(SoftF1()(y[kept], p.numpy()[kept]))
    assert float(SoftF1()(y, p)) == pytest.approx(expected, rel=1e-6)
    w = rng.random((4, 6))
    weighted = float(SoftF1()(y[kept], p.numpy()[kept], w[kept]))
    assert float(SoftF1()(y, p, w)) == pytest.approx(weighted, rel=1e-6)


def test_logits_have_the_chain_rule(rng):
    y, z = rng.integers(0, 2, 30), rng.normal(size=30)
    value, gradient = value_and_gradient(SoftF1(from_logits=True), y, z)
    p = 1 / (1 + np.exp(-z))
    expected, in_p = value_and_gradient(SoftF1(), y, p)
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(gradient, in_p * p * (1 - p), rtol=1e-4, atol=1e-7)


def test_average_none_and_reduction(rng):
    y, p = rng.integers(0, 2, (30, 3)), rng.random((30, 3))
    each = SoftF1(average=None, reduction=None)(y, p).numpy()
    assert each.shape == (3,)
    assert float(SoftF1(average=None)(y, p)) == pytest.approx(each.mean())
    assert float(SoftF1(average=None, reduction="sum")(y, p)) == pytest.approx(each.sum())
    assert float(SoftF1()(y, p)) == pytest.approx(each.mean())
    for reduction in ("sum", "mean", "none", None):
        assert float(SoftF1(reduction=reduction)(y, p)) == pytest.approx(each.mean())


def test_result_type():
    assert SoftF1()([0, 1], [0.1, 0.9]).dtype == "float32"
    assert SoftF1(dtype="float16")([0, 1], [0.1, 0.9]).dtype == "float16"
    big = SoftF1(dtype="float16")(tf.ones(200_000), tf.fill([200_000], tf.constant(0.75, tf.float16)))
    assert float(big) == pytest.approx(1 - 0.9 / 0.95, abs=1e-3)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("heaviside", ["linear", "sigmoid"])
def test_no_batch_gives_nan_or_inf(loss, heaviside, rng):
    """4,160 batches of 6 for each case, 108,160 in all, as classes: adversarial p, one class, zero and mixed weights.

    With `average=None` classes are independent, so one call gives the loss and the gradient of each batch.
    """
    batches, thresholds = 4160, (0.05, 0.5, 0.8)
    special = [0, 1, 1e-38, 1e-20, 1 - 1e-7, 0.05, 0.5, 0.8, 0.025, 0.075, 0.25, 0.75, 0.7, 0.9]
    p = np.where(rng.random((6, batches)) < 0.7, rng.choice(special, (6, batches)), rng.random((6, batches)))
    p[:, :14] = special  # saturated and constant batches
    y = (rng.random((6, batches)) < rng.choice([0, 0.3, 1], batches)).astype("float32")
    w = rng.choice([0.0, 1e-20, 1e-3, 1.0, 1e6], (6, batches)) * rng.choice([0.0, 1.0, 1.0], batches)
    w[:, :: batches // 2] = 0
    options = dict(threshold=thresholds, heaviside=heaviside, average=None, reduction=None)
    for weight in (None, w):
        values, gradient = value_and_gradient(loss(**options), y, p, weight)
        assert values.shape == (batches,)
        assert np.isfinite(values).all()
        assert np.isfinite(gradient).all()
        assert values.min() >= -1e-6
        assert values.max() <= 2 + 1e-6


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("heaviside", ["linear", "sigmoid", TabulatedHeaviside()], ids=str)
def test_nan_in_a_prediction_is_nan_in_the_loss(loss, heaviside):
    for y in ([0, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 1]):
        for thresholds in (0.5, NINE):
            assert np.isnan(loss(threshold=thresholds, heaviside=heaviside)(y, [0.2, np.nan, 0.9]))


@pytest.mark.parametrize("loss", ["roc_auc", "pr_auc", "f1"])
def test_order_of_thresholds_does_not_matter_also_where_points_coincide(loss):
    y, p = np.float32([0, 1, 0, 1, 1, 0]), np.float32([0, 1, 0, 1, 0, 1])
    up, down = (value_and_gradient(SoftSetLoss(loss, threshold=t), y, p) for t in (NINE, NINE[::-1]))
    np.testing.assert_allclose(up[0], down[0], rtol=1e-6)
    np.testing.assert_allclose(up[1], down[1], rtol=1e-5)


def test_area_under_precision_and_recall_never_pushes_positives_down():
    y = np.float32([0, 1, 0, 1])
    for p in (0.0, 1e-30, 1e-3):
        _, gradient = value_and_gradient(keras_softsets.SoftAUPRC(), y, np.full(4, p, "float32"))
        assert (gradient[y == 1] <= 0).all()


def test_thresholds_in_float32_are_the_decimals_that_were_meant(rng):
    y, p = rng.integers(0, 2, 30), rng.random(30)
    loss = SoftF1(threshold=np.linspace(0.1, 0.9, 9, dtype="float32"))
    assert loss.get_config()["threshold"] == list(NINE)
    assert float(loss(y, p)) == float(SoftF1(threshold=NINE)(y, p))


@pytest.mark.parametrize("size", [3, 5, 7])
def test_batches_of_different_size_are_an_error_inside_a_graph_too(size):
    unknown = [tf.TensorSpec((None,), tf.float32)] * 2
    step = tf.function(lambda y, p: SoftF1()(y, p), input_signature=unknown)
    with pytest.raises(tf.errors.InvalidArgumentError, match="reshape"):
        step(tf.ones(size), tf.fill([6], 0.3))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_degenerate_batches_have_a_finite_loss_and_no_gradient_where_there_is_nothing_to_learn(loss):
    for y, p, w in (([], [], None), ([0, 1], [0.2, 0.6], [0.0, 0.0])):
        value, gradient = value_and_gradient(loss(), np.float32(y), np.float32(p), w)
        assert np.isfinite(value)
        assert not gradient.any()
    value, gradient = value_and_gradient(SoftF1(), [0.0, 0.0], [0.2, 0.6])  # no positives: F1 is 0 whatever p is
    assert value == 1
    assert not gradient.any()


def test_a_callable_a_score_and_a_name_are_the_same_loss(rng):
    y, p = rng.integers(0, 2, 30), rng.random(30)
    f2 = keras_softsets.scores.f_beta(beta=2)
    expected = float(SoftFBeta(beta=2)(y, p))
    for loss in (
        SoftSetLoss("f_beta", beta=2),
        SoftSetLoss(f2),
        SoftSetLoss(lambda cells: f2(cells)),
        SoftFBeta(2),
        SoftTversky(0.2, 0.8),
    ):
        assert float(loss(y, p)) == pytest.approx(expected, rel=1e-6)
    assert float(SoftF1().call(y, p)) == float(SoftF1()(y, p))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SoftF1(heaviside="step"), "StepHeaviside()"),
        (lambda: SoftF1(heaviside=TabulatedHeaviside("step")), "TabulatedHeaviside"),
        (lambda: SoftFBeta(beta=0), "beta=0"),
        (lambda: SoftF1(threshold=2), "threshold=2"),
        (lambda: SoftF1(average="rows"), "average='rows'"),
        (lambda: SoftF1(treshold=0.3), "treshold"),
        (lambda: SoftF1(reduction="max"), "reduction=max"),
        (lambda: SoftSetLoss("f3"), "score='f3'"),
        (lambda: SoftTversky(alpha=-1), "alpha=-1"),
    ],
)
def test_bad_arguments_are_named_where_they_are_typed(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value)


def test_names():
    assert SoftF1().name == "soft_f1"
    assert SoftSetLoss("jaccard").name == "soft_jaccard"
    assert SoftF1(name="mine").name == "mine"
    assert keras_softsets.SoftAUROC().name == "soft_auroc"
    assert isinstance(SoftF1(), keras.losses.Loss)


def test_soft_scores_approach_hard_ones_under_the_papers_model(rng):
    """Section 4.2: h ~ Beta with the mean of the Bernoulli decisions; the two scores meet as n grows."""
    gaps = {name: [] for name in ("f1", "accuracy")}
    for n in (100, 100_000):
        y = (np.arange(n) < 0.3 * n).astype("float64")
        mean = np.where(y > 0, 0.8, 0.1)
        hard, soft = rng.random(n) < mean, rng.beta(5 * mean, 5 * (1 - mean))
        for name in gaps:
            values = [
                reference.score(name, reference.cells(y[:, None], h[:, None], heaviside=lambda p, t: p))
                for h in (hard.astype("float64"), soft)
            ]
            gaps[name].append(abs(values[0] - values[1]))
    for name, (_, large) in gaps.items():
        assert large < 0.006, name
    expected = 2 * 0.3 * 0.8 / (0.3 + 0.3 * 0.8 + 0.7 * 0.1)
    assert score_of_ours(y, soft) == pytest.approx(expected, abs=0.006)


def score_of_ours(y, h):
    """Soft F1 of given memberships, through an approximation that is the identity."""
    return 1 - float(SoftSetLoss("f1", heaviside=lambda p, threshold: p)(y, h))


def test_soft_auroc_approaches_the_hard_one_under_the_papers_model(rng):
    """Supplement, "AUROC": u(tau) and v(tau) as true and false positive rates of hard and soft decisions."""
    n, taus = 60_000, np.arange(1, 10) / 10
    y = (np.arange(n) < n // 2).astype("float64")
    cells = []
    for kind in ("hard", "soft"):
        rows = []
        for tau in taus:
            mean = np.where(y > 0, 1 - tau**3, 1 - tau ** (1 / 3))
            h = rng.random(n) < mean if kind == "hard" else rng.beta(4 * mean, 4 * (1 - mean))
            rows.append(reference.cells(y[:, None], h[:, None].astype("float64"), heaviside=lambda p, t: p)[:, 0])
        cells.append(np.stack(rows, 1))
    hard, soft = (keras_softsets.scores.roc_auc(keras_softsets.ConfusionMatrix(*c)) for c in cells)
    assert float(hard[0]) == pytest.approx(float(soft[0]), abs=0.006)
