"""tune_threshold at the argmax: each offset is the best there is, found again by brute force; ties, weights, scale."""

import itertools

import keras
import numpy as np
import pytest
import reference
from class_cases import AVERAGED, OF_THE_MATRIX, classes_batch
from sklearn import metrics as sk

from keras_softsets import Argmax, evaluate, metrics, scores, tune_threshold
from keras_softsets.samples import Samples
from keras_softsets.tuning import _offsets

SCORES = {
    "f1": {},
    "recall": {},
    "kappa": {"weights": "quadratic"},
    "multiclass_mcc": {},
    "multiclass_accuracy": {},
}


def weak(n=60, classes=3, seed=0, ties=False):
    """Predictions that need offsets: rare classes never win."""
    ids, p, w = classes_batch(n, classes, seed)
    p = p * np.linspace(1, 0.3, classes, dtype="float32")
    p = p / p.sum(1, keepdims=True)
    return ids, np.round(p * 8) / 8 if ties else p, w


def value(ids, p, w, offsets, name, average="macro"):
    return evaluate(ids, p, name, w, threshold=Argmax(offsets=tuple(offsets)), average=average, **SCORES.get(name, {}))


def by_scikit_learn(ids, decided, w, name, classes=3, average="macro"):
    """The same of decided classes."""
    w = w.astype("float64")
    if name not in AVERAGED:
        score = OF_THE_MATRIX["kappa quadratic" if name == "kappa" else name][1]
        return score(ids, decided, classes, sample_weight=w)
    known = isinstance(average, str)
    options = dict(labels=range(classes), sample_weight=w, zero_division=0, average=average if known else None)
    found = AVERAGED[name](ids, decided, **options)
    return found if known else np.average(found, weights=average)


def winners(p, offsets):
    return reference.winners(p, np.array(offsets)).argmax(-1)


def brute_force(ids, p, w, offsets, k, name, score=by_scikit_learn):
    """The best score over the offsets of class k, tried between all places where a decision changes."""
    log_p = np.log(np.maximum(p.astype("float64"), np.finfo("float32").tiny))
    others = np.delete(log_p + offsets, k, 1).max(1)
    places = np.unique(np.round(others - log_p[:, k], 12))
    tried = [places[0] - 1, *(places[:-1] + np.diff(places) / 2), places[-1] + 1]
    decided = [winners(p, [*offsets[:k], b, *offsets[k + 1 :]]) for b in tried]
    return max(score(ids, each, w, name, p.shape[1]) for each in decided)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("ties", [False, True])
def test_no_single_offset_can_be_better(name, ties):
    ids, p, w = weak(n=25, ties=ties)
    tuned = tune_threshold(ids, p, name, w, decision="argmax", **SCORES[name])
    assert isinstance(tuned.threshold, Argmax)
    offsets = list(tuned.threshold.offsets)
    assert tuned.score == value(ids, p, w, offsets, name)
    assert tuned.score >= evaluate(ids, p, name, w, threshold="argmax", **SCORES[name])
    for k in range(3):
        assert brute_force(ids, p, w, offsets, k, name) <= tuned.score + 1e-9


def test_the_first_step_is_the_best_of_all():
    """With two classes only the difference of offsets counts, so that the first one finds the optimum."""
    ids, p, w = weak(n=40, classes=2)
    for name in SCORES:
        tuned = tune_threshold(ids, p, name, w, decision="argmax", **SCORES[name])
        assert tuned.score == pytest.approx(brute_force(ids, p, w, [0.0, 0.0], 1, name), abs=1e-12)


def test_offsets_help_where_rare_classes_never_win():
    ids, p, w = weak(n=400, classes=5)
    for name, least in (("f1", 0.05), ("kappa", 0.02)):
        before = evaluate(ids, p, name, w, threshold="argmax", **SCORES[name])
        assert tune_threshold(ids, p, name, w, decision="argmax", **SCORES[name]).score > before + least


@pytest.mark.parametrize("average", ["macro", "micro", "weighted", [0, 1, 5]])
def test_averages(average):
    ids, p, w = weak(n=30)
    tuned = tune_threshold(ids, p, "f1", w, decision="argmax", average=average)
    assert tuned.score == value(ids, p, w, tuned.threshold.offsets, "f1", average)
    grid = np.linspace(-2, 2, 9)
    decided = [winners(p, (0.0, a, b)) for a, b in itertools.product(grid, grid)]
    best_of_grid = max(by_scikit_learn(ids, each, w, "f1", average=average) for each in decided)
    assert tuned.score > best_of_grid - 0.03  # a local optimum, and not a poor one


def test_metrics_and_scikit_learn_agree_with_the_tuned_score():
    ids, p, w = weak(n=300, classes=4)
    for name in ("f1", "kappa"):
        tuned = tune_threshold(ids, p, name, w, decision="argmax", **SCORES[name])
        metric = metrics.SoftSetMetric(name, threshold=tuned.threshold, **SCORES[name])
        metric.update_state(ids, p, w)
        assert float(metric.result()) == pytest.approx(tuned.score, rel=1e-6)
        decided = winners(p, tuned.threshold.offsets)
        expected = {
            "f1": sk.f1_score(ids, decided, average="macro", sample_weight=w),
            "kappa": sk.cohen_kappa_score(ids, decided, weights="quadratic", sample_weight=w),
        }
        assert tuned.score == pytest.approx(expected[name], rel=1e-6)
        logits = np.log(p) - 4
        found = evaluate(ids, logits, name, w, threshold=tuned.threshold, from_logits=True, **SCORES[name])
        assert found == pytest.approx(tuned.score, abs=0.01)  # logits in float32 are not quite the same numbers


def test_nothing_to_gain_means_no_offsets():
    ids = np.array([0, 1, 2, 1])
    tuned = tune_threshold(ids, np.eye(3, dtype="float32")[ids] * 0.8 + 0.1, decision="argmax")
    assert tuned == (Argmax(offsets=(0.0, 0.0, 0.0)), 1.0)


def test_the_result_does_not_depend_on_blocks_order_or_copies(monkeypatch):
    ids, p, w = weak(n=80, classes=4)
    for name in ("f1", "kappa", "multiclass_mcc"):
        tuned = tune_threshold(ids, p, name, w, decision="argmax", **SCORES[name])
        assert tuned == tune_threshold(ids, p, name, w, decision="argmax", **SCORES[name])
        turned = tune_threshold(ids[::-1], p[::-1], name, w[::-1], decision="argmax", **SCORES[name])
        np.testing.assert_allclose(turned.threshold.offsets, tuned.threshold.offsets, atol=1e-9)
        hot = np.eye(4)[ids].reshape(8, 10, 4)
        again = tune_threshold(hot, p.reshape(8, 10, 4), name, w.reshape(8, 10), decision="argmax", **SCORES[name])
        assert again == tuned
        with monkeypatch.context() as patch:
            patch.setattr(_offsets, "_AT_ONCE", 200)
            blocks = tune_threshold(ids, p, name, w, decision="argmax", **SCORES[name])
        np.testing.assert_allclose(blocks.threshold.offsets, tuned.threshold.offsets, atol=1e-9)
    twice = [np.concatenate([x, x]) for x in (ids, p)]
    assert tune_threshold(*twice, decision="argmax") == tune_threshold(ids, p, decision="argmax")
    odd, weight = np.append(ids, [255, -1]), np.append(w, [1, 0])
    ignored = tune_threshold(odd, np.append(p, p[:2], 0), "f1", weight, decision="argmax", ignore_class=255)
    assert ignored == tune_threshold(ids, p, "f1", w, decision="argmax")


@pytest.mark.parametrize("average", ["macro", "micro", "weighted", (0.0, 1.0, 5.0, 2.0)])
@pytest.mark.parametrize("name", ["f1", "specificity"])
def test_every_decision_on_the_way_has_its_score(name, average):
    ids, p, w = weak(n=30, classes=4, ties=True)
    samples = Samples(np.eye(4, dtype="float32")[ids], p, w[:, None])
    along = _offsets._cells_along(samples, scores.get(name), average)
    for k in range(4):
        path = _offsets._Largest(np.log(np.maximum(p.astype("float64"), 1e-9))).path(k)
        (found,) = along(path, k)
        decided = np.empty(30, int)
        decided[path.order] = path.source
        for step, value in enumerate(found):
            decided[path.order[:step]] = k
            expected = evaluate(ids, np.eye(4)[decided], name, w, threshold="argmax", average=average)
            assert value == pytest.approx(expected, abs=1e-6)


def test_paths_after_moves_are_those_of_the_moved_logarithms(rng):
    log_p, offsets = rng.normal(size=(200, 5)).round(1), np.zeros(5)
    kept = _offsets._Largest(log_p)
    for _ in range(20):
        k, offset = int(rng.integers(5)), round(float(rng.normal()), 1)
        offsets[k] = offset
        kept.move(k, offset)
        for j in range(5):
            found, anew = kept.path(j), _offsets._Largest(log_p + offsets).path(j)
            np.testing.assert_array_equal(*(path.source[np.argsort(path.order)] for path in (found, anew)))
            np.testing.assert_allclose(found.offset, anew.offset + offsets[j], atol=1e-12)


def test_weights_of_classes_and_scores_of_ones_own():
    ids, p, w = weak()
    each = np.random.default_rng(0).uniform(0.5, 2, p.shape)
    tuned = tune_threshold(ids, p, "f1", each, decision="argmax")
    assert tuned.score == evaluate(ids, p, "f1", each, threshold=tuned.threshold)

    def precision_of_the_last(matrix):
        return scores.ratio(matrix.right[-1], matrix.decided[-1] + 1.0, matrix)

    own = scores.Score(precision_of_the_last, of="classes", registered=False)

    def of_decided(ids, decided, w, *_):
        return w[(ids == 2) & (decided == 2)].sum() / (w[decided == 2].sum() + 1)

    tuned = tune_threshold(ids, p, own, w, decision="argmax")
    assert tuned.score >= brute_force(ids, p, w, [0.0, 0.0, 0.0], 2, own, of_decided) - 1e-12


def test_extreme_probabilities():
    """Zeros, ones, the smallest numbers and rows of zeros: decided as metrics decide them."""
    p = np.array([[0, 0, 0], [1, 0, 0], [1e-45, 0, 1], [1e-38, 1e-38, 1], [0, 1, 0], [0.5, 0.5, 0]], "float32")
    for ids in ([0, 1, 2, 0, 1, 2], [2, 2, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1]):
        tuned = tune_threshold(ids, p, "multiclass_accuracy", decision="argmax")
        decided = reference.winners(np.where(p < 1e-37, 0, p), np.array(tuned.threshold.offsets) + 1e-300)
        metric = metrics.SoftSetMetric("multiclass_accuracy", threshold=tuned.threshold)
        assert float(metric(ids, p)) == pytest.approx(tuned.score)
        assert np.isfinite(tuned.threshold.offsets).all()
        assert decided.shape == p.shape


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decision": "largest"}, "`decision` must be one of 'threshold', 'argmax'"),
        ({"decision": "threshold", "score": "kappa"}, "`decision` must be 'argmax' for scores of the c x c matrix"),
        ({"average": None}, "`average` must not be None"),
        ({"curve": True}, "`curve` must be False"),
        ({"score": "roc_auc"}, "must be a score of one threshold"),
        ({"y_pred": np.full((3, 2), np.nan)}, "`y_pred` must hold numbers. Received: NaN"),
        ({"y_true": [], "y_pred": np.zeros((0, 2))}, "`y_pred` must hold at least one probability"),
        ({"sample_weight": [0, 0, 0]}, "at least one sample"),
        ({"sample_weight": [1, -1, 1]}, "`sample_weight` must be finite"),
        ({"y_true": [0, 1, 2]}, "whole numbers from 0 to 1"),
        ({"y_true": [0, 1, 1], "y_pred": [0.1, 0.2, 0.3]}, "`decision` must be 'threshold' for predictions of one"),
        ({"score": lambda cells: cells.tp / cells.predicted_positives}, "must be a number everywhere"),
    ],
)
def test_what_is_refused(changes, message):
    arguments = {"y_true": [0, 1, 1], "y_pred": [[0.6, 0.4], [0.7, 0.3], [0.9, 0.1]], "decision": "argmax"}
    with pytest.raises(ValueError, match=message):
        tune_threshold(**arguments | changes)


def test_one_threshold_for_all_classes():
    ids, p, w = weak(n=50)
    tuned = tune_threshold(ids, p, "f1", w, average="micro")
    assert isinstance(tuned.threshold, float)
    hot = np.eye(3)[ids]
    pooled = tune_threshold(hot.ravel(), p.ravel(), "f1", np.repeat(w, 3))
    assert tuned == pooled
    assert evaluate(ids, p, "f1", w, threshold=tuned.threshold, average="micro") == pytest.approx(tuned.score)
    separate = tune_threshold(ids, p, "f1", w)
    for average in ("weighted", None, [1, 2, 3]):  # each class is tuned on its own, which is best for all of these
        again = tune_threshold(ids, p, "f1", w, average=average)
        assert again.threshold == separate.threshold
    keep = ids != 2
    ignored = tune_threshold(ids, p, "f1", w, average="micro", ignore_class=2)
    assert ignored == tune_threshold(hot[keep], p[keep], "f1", w[keep], average="micro")


def test_the_result_is_saved_with_a_metric():
    ids, p, w = weak()
    tuned = tune_threshold(ids, p, "f1", w, decision="argmax").threshold
    metric = metrics.F1(threshold=tuned)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
    assert again.evaluation.decision == tuned
    assert float(again(ids, p, w)) == float(metric(ids, p, w))
