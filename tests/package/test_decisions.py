"""Decisions as values: thresholds of each class, ends of the interval and costs mean the same everywhere."""

import pickle

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from cases import NINE, batch
from class_cases import classes_batch
from sklearn import metrics as sk

import keras_softsets
from keras_softsets import (
    Argmax,
    PerClass,
    SoftF1,
    SoftSetLoss,
    check_score,
    confusion_matrix,
    decisions,
    evaluate,
    metrics,
    scores,
    thresholds,
    tune_threshold,
)

THREE = (0.2, 0.7, 0.45)


def column_by_column(function):
    y, p, w = batch()
    return np.array([float(function(y[:, k], p[:, k], w, at)) for k, at in enumerate(THREE)])


def test_a_metric_at_tuned_thresholds_has_the_tuned_score():
    y, p, w = batch()
    tuned = tune_threshold(y, p, "f1", w)
    assert isinstance(tuned.threshold, PerClass)
    metric = metrics.F1(threshold=tuned.threshold)
    metric.update_state(y, p, w)
    assert float(metric.result()) == pytest.approx(tuned.score.mean(), rel=1e-6)
    assert evaluate(y, p, "f1", w, threshold=tuned.threshold) == pytest.approx(tuned.score.mean(), rel=1e-6)
    decided = (p >= np.asarray(tuned.threshold, "float32")).astype(int)
    assert sk.f1_score(y, decided, average="macro", sample_weight=w) == pytest.approx(tuned.score.mean(), rel=1e-6)
    sweep = metrics.F1(threshold=list(tuned.threshold))  # a plain sequence is still a sweep
    sweep.update_state(y, p, w)
    expected = reference.score(
        "f1", reference.cells(y, p, w[:, None], thresholds=tuned.threshold, heaviside=reference.step)
    )
    assert float(sweep.result()) == pytest.approx(expected, rel=1e-6)
    assert abs(expected - tuned.score.mean()) > 0.01


@pytest.mark.parametrize("heaviside", ["linear", "sigmoid", "step"])
def test_each_class_has_its_own_threshold(heaviside):
    y, p, w = batch()
    cells = confusion_matrix(y, p, w, threshold=PerClass(THREE), heaviside=heaviside)
    columns = [confusion_matrix(y[:, k], p[:, k], w, threshold=at, heaviside=heaviside) for k, at in enumerate(THREE)]
    assert cells.tp.shape == (1, 3)
    np.testing.assert_allclose(np.stack(cells), np.concatenate([np.stack(c) for c in columns], 2), rtol=1e-6)


def test_losses_and_metrics_average_over_classes_not_over_thresholds():
    each = column_by_column(lambda y, p, w, at: SoftF1(threshold=at)(y, p, w))
    loss = SoftF1(threshold=PerClass(THREE), average=None, reduction=None)
    np.testing.assert_allclose(loss(*batch()), each, rtol=1e-6)
    assert float(SoftF1(threshold=PerClass(THREE))(*batch())) == pytest.approx(each.mean(), rel=1e-6)


def test_thresholds_at_the_ends_are_for_the_step():
    y, p = [0, 1, 1, 0], [0.0, 0.5, 1.0, 1.0]
    for threshold, expected in ((0.0, 2 / 3), (1.0, 0.5), (np.inf, 0.0), ([0.0, np.inf], 1 / 3)):
        assert evaluate(y, p, threshold=threshold) == pytest.approx(expected)
        assert float(metrics.F1(threshold=threshold)(y, p)) == pytest.approx(expected)
        with pytest.raises(ValueError, match=r"inside \(0, 1\)"):
            SoftF1(threshold=threshold)
    ends = PerClass([0.0, 1.0, np.inf])
    three = np.repeat(np.array(p)[:, None], 3, 1), np.repeat(np.array(y)[:, None], 3, 1)
    np.testing.assert_allclose(evaluate(three[1], three[0], threshold=ends, average=None), [2 / 3, 0.5, 0.0])
    with pytest.raises(ValueError, match=r"inside \(0, 1\)"):
        SoftF1(threshold=ends)


def test_whatever_the_tuner_returns_is_usable_as_it_is():
    for y, p in (([1, 1], [0.0, 1.0]), ([0, 0], [0.5, 1.0]), ([0, 0, 1], [1.0, 1.0, 0.0]), ([0, 1], [1.0, 1.0])):
        tuned = tune_threshold(y, p, "accuracy")
        assert float(metrics.Accuracy(threshold=tuned.threshold)(y, p)) == pytest.approx(tuned.score)


def test_per_class_is_array_like():
    tuned = PerClass(np.array(THREE))
    assert len(tuned) == 3
    assert tuned[1] == 0.7
    assert tuned[:2] == (0.2, 0.7)
    assert list(tuned) == list(THREE)
    np.testing.assert_array_equal(np.asarray(tuned), THREE)
    np.testing.assert_array_equal(np.float32(tuned), np.float32(THREE))
    np.testing.assert_array_equal(tuned <= 0.5, [True, False, True])
    np.testing.assert_array_equal(np.array([[0.5, 0.5, 0.5]]) >= tuned, [[True, False, True]])
    np.testing.assert_allclose(tuned * 2, np.multiply(THREE, 2))
    np.testing.assert_allclose(tf.constant(tuned), THREE)
    assert tuned == PerClass(THREE)
    assert hash(tuned) == hash(PerClass(THREE))
    assert tuned != PerClass(THREE[:2])


@pytest.mark.parametrize("adapter", [SoftF1, metrics.F1, metrics.Confusion])
def test_decisions_survive_saving(adapter, tmp_path):
    ours = adapter(threshold=PerClass(THREE))
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(ours))
    assert again.evaluation.decision == PerClass(THREE)
    np.testing.assert_array_equal(*(keras.tree.flatten(x(*batch())) for x in (ours, again)))
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, "sigmoid")])
    model.compile(
        "sgd", SoftF1(threshold=PerClass(THREE)), metrics=[metrics.F1(threshold=PerClass([0.0, 1.0, np.inf]))]
    )
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.loss.evaluation.decision == PerClass(THREE)
    x, y = np.ones((4, 2)), np.eye(4, 3)
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), loaded.evaluate(x, y, verbose=0))


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ("0.5", "threshold='0.5'"),
        (None, "threshold=None"),
        ([], "threshold=[]"),
        ([[0.5]], "threshold=[[0.5]]"),
        (-0.5, "threshold=-0.5"),
        (float("nan"), "threshold=nan"),
        (keras.saving.serialize_keras_object(keras.layers.ReLU()), "ReLU"),
    ],
)
def test_bad_decisions_are_named(threshold, message):
    with pytest.raises(ValueError, match="`threshold` must be") as error:
        decisions.get(threshold)
    assert message in str(error.value)


def test_the_number_of_classes_is_checked():
    y, p, _ = batch()
    for use in (metrics.F1(threshold=PerClass([0.1, 0.2])), SoftF1(threshold=PerClass([0.1, 0.2]))):
        with pytest.raises(ValueError, match=r"each of the 3 classes.*PerClass\(thresholds=\(0.1, 0.2\)\)"):
            use(y, p)
    with pytest.raises(ValueError, match="each of the 3 classes"):
        confusion_matrix(y, p, threshold=PerClass(NINE))


def test_export_takes_what_the_tuner_returns(tmp_path):
    y, p, _ = batch()
    tuned = tune_threshold(y, p).threshold
    model = keras.Sequential([keras.Input((3,), name="x"), keras.layers.Activation("linear")])
    served = tf.saved_model.load(keras_softsets.export_classifier(model, tmp_path, threshold=tuned))
    answer = served.signatures["serving_default"](x=tf.constant(p))
    np.testing.assert_array_equal(answer["label"], p >= np.asarray(tuned, "float32"))


def test_the_result_of_the_tuner_is_its_threshold_everywhere(rng):
    y, p = rng.integers(0, 2, 60), rng.random(60).astype("float32")
    for tuned in (tune_threshold(y, p), tune_threshold(y, p, curve=True)):
        assert (
            evaluate(y, p, threshold=tuned) == evaluate(y, p, threshold=tuned.threshold) == pytest.approx(tuned.score)
        )
        assert float(metrics.F1(threshold=tuned)(y, p)) == pytest.approx(tuned.score)
        assert float(SoftF1(threshold=tuned)(y, p)) == float(SoftF1(threshold=tuned.threshold)(y, p))
    labels, rows = rng.integers(0, 2, (60, 3)), rng.random((60, 3)).astype("float32")
    each = tune_threshold(labels, rows)
    assert evaluate(labels, rows, threshold=each) == pytest.approx(each.score.mean())
    assert pickle.loads(pickle.dumps(each)).threshold == each.threshold
    assert thresholds._results.TunedThreshold is type(each)  # the path in pickles of earlier versions


COSTS = [[0, 1], [50, 0]]
MATRIX = [[0, 1, 5], [2, 0, 1], [9, 9, -1]]


def test_the_mean_cost_of_decisions(rng):
    y, p, w = rng.integers(0, 2, 80), rng.random(80), rng.random(80)
    spent = np.array(COSTS)[y, (p >= 0.3).astype(int)]
    found = evaluate(y, p, "cost", w, costs=COSTS, threshold=0.3)
    assert found == pytest.approx(-np.average(spent, weights=w), rel=1e-6)
    metric = metrics.SoftSetMetric("cost", costs=COSTS, threshold=0.3)
    assert float(metric(y, p, w)) == pytest.approx(found, rel=1e-6)


def test_the_mean_cost_of_classes():
    ids, p, w = classes_batch(classes=3)
    spent = np.array(MATRIX)[ids, p.argmax(1)]
    for score, costs in (
        ("cost", MATRIX),
        ("cost", np.array(MATRIX)),
        ("multiclass_cost", MATRIX),
    ):  # size makes the kind
        assert evaluate(ids, p, score, w, costs=costs) == pytest.approx(-np.average(spent, weights=w), rel=1e-6)


def test_offsets_are_added_to_logarithms_before_the_largest_wins():
    ids, p, w = classes_batch()
    offsets = np.array([0.5, -1.0, 0.0, 2.0])
    winner = (np.log(p) + offsets).argmax(1)
    assert (winner != p.argmax(1)).any()
    found = evaluate(ids, p, "multiclass_accuracy", w, threshold=Argmax(offsets=offsets))
    assert found == pytest.approx(np.average(winner == ids, weights=w), rel=1e-6)


def test_the_class_of_least_expected_cost_wins():
    ids, p, _ = classes_batch(classes=3)
    winner = np.argmin(p @ np.array(MATRIX), 1)
    spent = np.array(MATRIX)[ids, winner].mean()
    decision = Argmax(costs=MATRIX)
    assert evaluate(ids, p, "cost", costs=MATRIX, threshold=decision) == pytest.approx(-spent, rel=1e-6)
    logits = np.log(p) + 3
    by_logits = evaluate(ids, logits, "cost", costs=MATRIX, threshold=decision, from_logits=True)
    assert by_logits == pytest.approx(-spent, rel=1e-6)
    assert Argmax.from_config(decision.get_config()) == decision
    binary = np.stack([1 - p[:, 0], p[:, 0]], 1)
    decided = evaluate(ids == 0, binary[:, 1], "recall", threshold=1 / 51)
    hot = np.eye(2)[(ids == 0).astype(int)]
    assert evaluate(hot, binary, "recall", threshold=Argmax(costs=COSTS), average=None)[1] == decided


def test_two_classes_at_the_argmax_keep_their_roles():
    """The mean over classes against the rest would charge a false alarm as a miss of the other class."""
    ids, p, w = classes_batch(classes=2)
    costs = np.array(COSTS)
    for decision, decided in ((Argmax(costs=COSTS), np.argmin(p @ costs, 1)), ("argmax", p.argmax(1))):
        expected = -np.average(costs[ids, decided], weights=w)
        settings = {"costs": COSTS, "threshold": decision}
        assert evaluate(ids, p, "cost", w, **settings) == pytest.approx(expected, rel=1e-6)
        metric = metrics.SoftSetMetric("cost", **settings)
        assert float(metric.from_config(metric.get_config())(ids, p, w)) == pytest.approx(expected, rel=1e-6)
    tuned = tune_threshold(ids, p, "cost", w, costs=COSTS, decision="argmax")
    assert tuned == tune_threshold(ids, p, "multiclass_cost", w, costs=COSTS, decision="argmax")


def test_the_tuner_finds_the_cheapest_threshold(rng):
    y = rng.random(4000) < (p := rng.random(4000))  # calibrated
    tuned = tune_threshold(y, p, "cost", costs=[[0, 1], [4, 0]])
    assert tuned.threshold == pytest.approx(0.2, abs=0.06)
    assert tuned.score >= evaluate(y, p, "cost", costs=[[0, 1], [4, 0]], threshold=0.2)


@pytest.mark.parametrize("threshold", [None, Argmax(costs=MATRIX)])
def test_the_loss_falls_and_survives_saving(threshold):
    ids, p, _ = classes_batch(classes=3)
    loss = SoftSetLoss("cost", costs=MATRIX, threshold=threshold)
    copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(loss))
    assert float(copy(ids, p)) == float(loss(ids, p))
    assert float(loss(ids, 0.9 * np.eye(3)[ids] + 0.1 * p)) < float(loss(ids, p))


def test_costs_are_scores_like_others():
    check_score(scores.cost(costs=COSTS))
    check_score(scores.multiclass_cost)


@pytest.mark.parametrize("costs", [[[0, 1]], [[0, 1], [2]], [0, 1], "high", [[0, np.nan], [1, 0]]])
def test_matrices_that_are_none(costs):
    with pytest.raises(ValueError, match="`costs` must be a 2 x 2 matrix of finite numbers"):
        evaluate([0, 1], [0.2, 0.7], "cost", costs=costs)


def test_costs_that_do_not_fit():
    p = [[0.2, 0.8], [0.6, 0.4]]
    with pytest.raises(ValueError, match="`costs` must be a 2 x 2 matrix"):
        evaluate([0, 1], p, threshold=Argmax(costs=MATRIX))
    with pytest.raises(ValueError, match="`offsets` must be None if there are costs"):
        Argmax(offsets=[0, 1], costs=COSTS)
