"""Several classes, the largest wins: scores and metrics equal scikit-learn's, losses a float64 transcription."""

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from cases import value_and_gradient
from class_cases import (
    AVERAGED,
    NAN,
    OF_THE_MATRIX,
    classes_batch,
    reference_loss,
    scikit_learn,
    streamed,
)
from sklearn import metrics as sk

from keras_softsets import (
    Argmax,
    MulticlassMatrix,
    SoftF1,
    SoftKappa,
    SoftMulticlassMCC,
    SoftSetLoss,
    confusion_matrix,
    evaluate,
    metrics,
    multiclass_confusion_matrix,
    scores,
)

ZERO_DIVISION = [(0.0, 0.0), (1.0, 1.0), ("ignore", NAN)]


# Hard: equal to scikit-learn on the argmax.


@pytest.mark.parametrize("classes", [2, 3, 10, 50])
@pytest.mark.parametrize("name", AVERAGED)
def test_averaged_scores_are_scikit_learns(classes, name):
    ids, p, w = classes_batch(classes=classes)
    for average in ("macro", "micro", "weighted", None):
        metric = metrics.SoftSetMetric(name, threshold="argmax", average=average)
        expected = scikit_learn(
            AVERAGED[name], ids, p.argmax(-1), labels=range(classes), average=average, sample_weight=w, zero_division=0
        )
        np.testing.assert_allclose(streamed(metric, ids, p, w), expected, rtol=1e-6)
        np.testing.assert_allclose(
            evaluate(np.eye(classes)[ids], p, name, w, threshold="argmax", average=average), expected, rtol=1e-9
        )


@pytest.mark.parametrize("name", OF_THE_MATRIX)
def test_scores_of_the_matrix_are_scikit_learns(name):
    parameters, function = OF_THE_MATRIX[name]
    for classes in (2, 3, 10, 50):
        ids, p, w = classes_batch(classes=classes)
        for weight in (None, w):
            expected = scikit_learn(function, ids, p.argmax(-1), classes, sample_weight=weight)
            metric = metrics.SoftSetMetric(name.split()[0], **parameters)
            np.testing.assert_allclose(streamed(metric, ids, p, weight), expected, rtol=1e-6)
            assert evaluate(np.eye(classes)[ids], p, name.split()[0], weight, **parameters) == pytest.approx(expected)


@pytest.mark.parametrize(("ours", "theirs"), ZERO_DIVISION)
@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_absent_classes_as_scikit_learn_has_them(name, ours, theirs):
    ids, p, w = classes_batch(classes=6, absent=(2, 5))
    ids[ids == 4], options = 0, {"labels": range(6), "sample_weight": w, "zero_division": theirs}
    for average in ("macro", "weighted", None):
        expected = scikit_learn(AVERAGED[name], ids, p.argmax(-1), average=average, **options)
        found = evaluate(ids, p, name, w, threshold="argmax", average=average, zero_division=ours)
        metric = metrics.SoftSetMetric(name, threshold="argmax", average=average, zero_division=ours)
        np.testing.assert_allclose(found, np.nan_to_num(expected), rtol=1e-9)
        np.testing.assert_allclose(streamed(metric, ids, p, w), np.nan_to_num(expected), rtol=1e-6)


def test_absent_classes_in_the_jaccard_index():
    ids, p, w = classes_batch(classes=6, absent=(2, 5))
    for value in (0.0, 1.0):
        expected = scikit_learn(
            sk.jaccard_score, ids, p.argmax(-1), labels=range(6), average="macro", sample_weight=w, zero_division=value
        )
        assert evaluate(ids, p, "jaccard", w, threshold="argmax", zero_division=value) == pytest.approx(expected)
    present = scikit_learn(sk.jaccard_score, ids, p.argmax(-1), average="macro", sample_weight=w)
    assert evaluate(ids, p, "jaccard", w, threshold="argmax", zero_division="ignore") == pytest.approx(present)


def test_balanced_accuracy_is_the_mean_recall_of_the_classes_that_exist():
    ids, p, w = classes_batch(classes=6, absent=(2,))
    expected = scikit_learn(sk.balanced_accuracy_score, ids, p.argmax(-1), sample_weight=w)
    metric = metrics.Recall(threshold="argmax", zero_division="ignore")
    assert streamed(metric, ids, p, w) == pytest.approx(expected, rel=1e-6)


def test_importances_of_classes():
    ids, p, w = classes_batch(classes=3)
    each = evaluate(ids, p, "f1", w, threshold="argmax", average=None)
    expected = np.average(each, weights=[3, 0, 1])
    assert evaluate(ids, p, "f1", w, threshold="argmax", average=[3, 0, 1]) == pytest.approx(expected)
    assert float(streamed(metrics.F1(threshold="argmax", average=(3, 0, 1)), ids, p, w)) == pytest.approx(expected)
    soft = SoftF1(threshold="argmax", average=None, reduction=None)(ids, p, w)
    loss = SoftF1(threshold="argmax", average=[3, 0, 1])(ids, p, w)
    assert float(loss) == pytest.approx(np.average(soft, weights=[3, 0, 1]), rel=1e-6)
    for bad, message in (
        ([1, 2], "each of 3 classes"),
        ([0, 0, 0], "one of them greater than 0"),
        ([1, -1, 0], "least"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(ids, p, "f1", threshold="argmax", average=bad)


def test_neighbouring_numbers_are_no_tie():
    """The logarithms of a number and of the next one are often the same float32."""
    low = np.linspace(0.1, 0.5, 4000, dtype="float32")
    p = np.stack([low, np.nextafter(low, np.float32(1))], 1)
    assert (np.log(p[:, 0]) == np.log(p[:, 1])).any()
    for threshold in ("argmax", Argmax(offsets=[0.0, 0.0])):
        assert evaluate(np.ones(4000, int), p, "recall", threshold=threshold, average=None)[1] == 1.0


def test_ties_go_to_the_first_class_and_offsets_are_added_to_logarithms():
    p = np.array([[0.25, 0.5, 0.25], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]], "float32")
    counts = multiclass_confusion_matrix([1, 0, 0], p, heaviside="step").counts
    np.testing.assert_array_equal(counts, [[2, 0, 0], [0, 1, 0], [0, 0, 0]])
    ids, p, w = classes_batch(classes=3)
    offsets = (0.3, -0.2, 1.1)
    expected = sk.f1_score(ids, reference.winners(p, offsets).argmax(-1), average="macro", sample_weight=w)
    assert evaluate(ids, p, "f1", w, threshold=Argmax(offsets=offsets)) == pytest.approx(expected)
    logits = np.log(p) + 3
    found = evaluate(ids, logits, "f1", w, threshold=Argmax(offsets=offsets), from_logits=True)
    assert found == pytest.approx(expected)


def test_totals_are_exact_beyond_what_float32_can_count():
    metric = metrics.MulticlassConfusion(dtype="float64")
    p = np.array([[0.9, 0.1]], "float32")
    metric.update_state([0], p, [2.0**25])
    for _ in range(3):
        metric.update_state([0], p)
    assert float(metric.result()[0, 0]) == 2**25 + 3


# Soft: a float64 transcription, and finite differences of it.


@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
@pytest.mark.parametrize(
    ("name", "parameters"), [("f1", {}), ("kappa", {"weights": "quadratic"}), ("kappa", {}), ("multiclass_mcc", {})]
)
def test_losses_and_gradients_are_the_transcriptions(name, parameters, temperature, logits):
    ids, p, w = classes_batch(n=20, classes=3)
    predictions = np.log(p) * 1.5 + 0.5 if logits else np.clip(p, 1e-3, 1)
    predictions = predictions.astype("float32")
    loss = SoftSetLoss(name, threshold=Argmax(temperature), from_logits=logits, **parameters)
    expected = reference_loss(name, ids, w, temperature, logits=logits, **parameters)
    value, gradient = value_and_gradient(loss, ids, predictions, w)
    assert value == pytest.approx(expected(predictions), abs=1e-5)
    np.testing.assert_allclose(gradient, reference.gradient(expected, predictions), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("average", ["micro", "weighted"])
def test_other_averages_and_offsets_of_soft_decisions(average):
    ids, p, w = classes_batch(n=20, classes=3)
    offsets = (0.5, 0.0, -1.0)
    expected = reference_loss("jaccard", ids, w, 0.5, logits=False, offsets=np.array(offsets), average=average)
    loss = SoftSetLoss("jaccard", threshold=Argmax(0.5, offsets), average=average)
    value, gradient = value_and_gradient(loss, ids, p, w)
    assert value == pytest.approx(expected(p), abs=1e-5)
    np.testing.assert_allclose(gradient, reference.gradient(expected, p), atol=1e-5, rtol=1e-4)


def test_probabilities_that_add_up_are_their_own_shares():
    ids, p, _ = classes_batch()
    counts = multiclass_confusion_matrix(ids, p).counts
    np.testing.assert_allclose(counts, reference.counts(np.eye(4)[ids], p), rtol=1e-5)


def test_low_temperatures_come_near_to_the_hard_decision():
    ids, p, w = classes_batch()
    soft, hard = (evaluate(ids, p, "kappa", w, threshold=Argmax(1e-4), heaviside=h) for h in ("linear", "step"))
    assert soft == pytest.approx(hard, abs=0.01)


def test_logits_keep_their_digits():
    """A probability of 2e-9 beside one of 1 counts as 1e-7 and has no slope; its logit has one."""
    ids, logits = np.array([0, 1]), np.array([[0.0, 20.0], [20.0, 0.0]], "float32")
    value, gradient = value_and_gradient(SoftKappa(from_logits=True), ids, logits)
    assert value == pytest.approx(2.0)
    np.testing.assert_allclose(np.diag(gradient), -np.exp(-20.0), rtol=1e-4)
    _, gradient = value_and_gradient(SoftKappa(), ids, reference.shares(logits, logits=True))
    assert not np.diag(gradient).any()


# The matrix and its scores by themselves.


def test_every_score_of_the_matrix_has_its_reference(rng):
    ours = [name for name in scores.names() if hasattr(scores, name) and scores.get(name).of == "classes"]
    assert sorted(reference.MATRIX_SCORES) == sorted(ours)
    counts = rng.uniform(0.5, 20, (5, 5))
    cases = [(name, {}) for name in ours] + [("kappa", {"weights": weights}) for weights in ("linear", "quadratic")]
    for name, parameters in cases:
        variable = tf.constant(counts)
        with tf.GradientTape() as tape:
            tape.watch(variable)
            value = scores.get(name, **parameters)(MulticlassMatrix(variable))
        formula = reference.MATRIX_SCORES[name]
        assert float(value) == pytest.approx(formula(counts, **parameters), rel=1e-10)
        expected = reference.gradient(lambda c, f=formula, p=parameters: f(c, **p), counts, 1e-5)
        found = tape.gradient(value, variable)
        # The total counts as a constant, which changes no gradient in p: each sample keeps its weight.
        np.testing.assert_allclose(found - np.mean(found), expected - np.mean(expected), atol=1e-8)


@pytest.mark.parametrize("heaviside", ["linear", "step"])
def test_the_matrix_against_the_rest_is_the_cells(heaviside):
    ids, p, w = classes_batch()
    matrix = multiclass_confusion_matrix(ids, p, w, heaviside=heaviside)
    cells = confusion_matrix(ids, p, w, threshold="argmax", heaviside=heaviside)
    np.testing.assert_allclose(np.stack(matrix.one_vs_rest()), np.stack(cells), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(matrix.true, np.bincount(ids, w, 4), rtol=1e-5)
    expected = sk.confusion_matrix(ids, p.argmax(-1), sample_weight=w)
    if heaviside == "step":
        np.testing.assert_allclose(matrix.counts, expected, rtol=1e-6)
        np.testing.assert_allclose(streamed(metrics.MulticlassConfusion(), ids, p, w), expected, rtol=1e-6)


def test_several_scores_of_one_matrix():
    ids, p, w = classes_batch()
    both = [scores.kappa(weights="linear"), scores.kappa(weights="quadratic"), "multiclass_mcc", "f1"]
    metric = metrics.Scores(both)
    metric.update_state(ids, p, w)
    found = {key: float(value) for key, value in metric.result().items()}
    assert list(found) == ["kappa_linear", "kappa_quadratic", "multiclass_mcc", "f1"]
    assert found["kappa_quadratic"] == pytest.approx(evaluate(ids, p, "kappa", w, weights="quadratic"), rel=1e-6)
    assert found["f1"] == pytest.approx(evaluate(ids, p, "f1", w, threshold="argmax"), rel=1e-6)


# Modes, precision, saving.


@pytest.mark.parametrize(
    "make",
    [SoftKappa, SoftMulticlassMCC, lambda: SoftF1(threshold="argmax"), lambda: SoftKappa(per_sample=True)],
)
def test_eager_graph_and_xla_agree(make):
    loss = make()
    ids, p, w = classes_batch(n=24)
    if loss.evaluation.per_sample:
        ids, p, w = ids.reshape(4, 6), p.reshape(4, 6, 4), w.reshape(4, 6)
    eager = value_and_gradient(loss, ids, p, w)

    def step(y, p, w):  # autograph converts it, and the loss inside
        with tf.GradientTape() as tape:
            tape.watch(p)
            value = loss(y, p, w)
        return value, tape.gradient(value, p)

    for jit in (False, True):
        value, gradient = tf.function(step, jit_compile=jit)(tf.constant(ids), tf.constant(p), tf.constant(w))
        assert float(value) == pytest.approx(eager[0], rel=1e-5)
        np.testing.assert_allclose(gradient, eager[1], atol=1e-6)


def test_half_precision_is_widened_first():
    ids, p, w = classes_batch()
    p = np.round(p * 64) / 64
    for loss in (SoftKappa(), SoftF1(threshold="argmax")):
        values = [float(loss(ids, tf.cast(p, dtype), w)) for dtype in ("float32", "float16", "bfloat16")]
        assert values[1:] == pytest.approx([values[0]] * 2, rel=1e-6)


def test_training_in_mixed_precision_saving_and_loading(tmp_path):
    keras.config.set_dtype_policy("mixed_float16")
    ids, p, w = classes_batch(n=200, classes=3)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3)])
    offsets = Argmax(offsets=[0.0, 0.2, 0.1])
    reported = [
        metrics.Kappa(weights="linear", from_logits=True),
        metrics.MulticlassMCC(threshold=offsets, from_logits=True),
        metrics.F1(threshold="argmax", average=[1, 2, 3], zero_division="ignore", from_logits=True),
        metrics.MulticlassConfusion(from_logits=True),
        metrics.Jaccard(threshold="argmax", per_sample=True, ignore_class=2, from_logits=True, name="each"),
    ]
    model.compile(keras.optimizers.Adam(0.1), SoftKappa(from_logits=True, threshold=Argmax(0.5)), metrics=reported)
    x = np.log(p)
    history = model.fit(x, ids, 64, epochs=3, sample_weight=w, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    before, after = (m.evaluate(x, ids, 64, sample_weight=w, verbose=0, return_dict=True) for m in (model, loaded))
    for name, value in before.items():
        np.testing.assert_array_equal(value, after[name])
    assert loaded.loss.evaluation.decision == Argmax(0.5)
    logits = model.predict(x, verbose=0).astype("float32")
    assert before["kappa"] == pytest.approx(
        sk.cohen_kappa_score(ids, logits.argmax(-1), weights="linear"), abs=0.02
    )  # predicted in batches of another size, in half precision


def test_the_metric_reports_the_kappa_that_the_loss_trains():
    ids, p, w = classes_batch(n=60, classes=4)
    decided = p.argmax(-1)
    quadratic = sk.cohen_kappa_score(ids, decided, weights="quadratic", sample_weight=w)
    assert float(metrics.Kappa()(ids, p, w)) == pytest.approx(quadratic, rel=1e-6)
    soft = float(metrics.Kappa(heaviside="linear")(ids, p, w))
    assert float(SoftKappa()(ids, p, w)) == pytest.approx(1 - soft, rel=1e-5)
    unweighted = sk.cohen_kappa_score(ids, decided, sample_weight=w)
    assert float(metrics.Kappa(weights=None)(ids, p, w)) == pytest.approx(unweighted, rel=1e-6)
    assert evaluate(ids, p, "kappa", w) == pytest.approx(unweighted)  # the score itself, as in scikit-learn
