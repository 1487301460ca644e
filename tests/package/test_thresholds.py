"""tune_threshold: equal to brute force, for every score, with ties, weights, one class and every float type."""

import warnings

import numpy as np
import pytest
from keras import ops
from sklearn import metrics as sklearn_metrics

from keras_softsets import scores
from keras_softsets.confusion import ConfusionMatrix, confusion_matrix
from keras_softsets.thresholds import TunedThreshold, tune_threshold
from keras_softsets.tuning import _thresholds

TUNABLE = [name for name in scores.names("cells") if not scores.get(name).curve]
SKLEARN = {
    "accuracy": sklearn_metrics.accuracy_score,
    "balanced_accuracy": sklearn_metrics.balanced_accuracy_score,
    "cohen_kappa": lambda y, d, sample_weight: sklearn_metrics.cohen_kappa_score(y, d, sample_weight=sample_weight),
    "f1": lambda y, d, sample_weight: sklearn_metrics.f1_score(y, d, sample_weight=sample_weight, zero_division=0),
    "f_beta": lambda y, d, sample_weight: sklearn_metrics.fbeta_score(
        y, d, beta=2.0, sample_weight=sample_weight, zero_division=0
    ),
    "jaccard": lambda y, d, sample_weight: sklearn_metrics.jaccard_score(
        y, d, sample_weight=sample_weight, zero_division=0
    ),
    "mcc": sklearn_metrics.matthews_corrcoef,
    "precision": lambda y, d, sample_weight: sklearn_metrics.precision_score(
        y, d, sample_weight=sample_weight, zero_division=0
    ),
    "recall": sklearn_metrics.recall_score,
    "specificity": lambda y, d, sample_weight: sklearn_metrics.recall_score(
        y, d, pos_label=0, sample_weight=sample_weight, zero_division=0
    ),
}
ARGUMENTS = {"f_beta": {"beta": 2.0}, "tversky": {"alpha": 0.3, "beta": 0.7}}


def data(n, seed, ties):
    rng = np.random.default_rng(seed)
    y_true = rng.integers(0, 2, n)
    y_pred = np.clip(0.35 + 0.25 * y_true + 0.25 * rng.normal(size=n), 0, 1)  # some are exactly 0 and 1
    y_pred = np.round(y_pred * 8) / 8 if ties else y_pred.astype("float32")
    return y_true, y_pred, rng.integers(0, 4, n) / 2 + 0.25


def decisions(y_pred):
    """All ways to cut the probabilities: from each distinct value on, and nowhere."""
    return [y_pred >= cut for cut in [*np.unique(y_pred), np.inf]]


@pytest.mark.parametrize("name", SKLEARN)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_brute_force_through_scikit_learn(name, ties, weighted):
    y_true, y_pred, weight = data(30, seed=len(name), ties=ties)
    weight = weight if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, about 0 / 0
        expected = [SKLEARN[name](y_true, d.astype(int), sample_weight=weight) for d in decisions(y_pred)]
        tuned = tune_threshold(y_true, y_pred, name, weight, curve=True, **ARGUMENTS.get(name, {}))
        reached = SKLEARN[name](y_true, (y_pred >= tuned.threshold).astype(int), sample_weight=weight)
    np.testing.assert_allclose(tuned.curve.scores, np.nan_to_num(expected), atol=1e-12)
    assert tuned.score == pytest.approx(np.nanmax(expected), abs=1e-12)
    assert reached == pytest.approx(tuned.score, abs=1e-12)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("name", ["f1", "precision", "recall", "accuracy", "jaccard"])
@pytest.mark.parametrize("y_pred", [[0.0, 0.25, 1.0], [0.5, 0.5, 0.5], [0.2, 0.4, 0.9]])
def test_one_class(label, name, y_pred):
    y_true, y_pred = np.full(3, label), np.array(y_pred)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = max(SKLEARN[name](y_true, d.astype(int), sample_weight=None) for d in decisions(y_pred))
        tuned = tune_threshold(y_true, y_pred, name)
        reached = SKLEARN[name](y_true, (y_pred >= tuned.threshold).astype(int), sample_weight=None)
    assert tuned.score == reached == expected


def cells_of(y_true, decision, weight):
    groups = ((y_true, decision), (1 - y_true, decision), (y_true, ~decision), (1 - y_true, ~decision))
    return ConfusionMatrix(*(np.array([[np.sum(weight * a * b)]]) for a, b in groups))


@pytest.mark.parametrize("name", TUNABLE)
def test_every_registered_score_equals_brute_force(name):
    y_true, y_pred, weight = data(60, seed=11, ties=True)
    score = scores.get(name, **ARGUMENTS.get(name, {}))
    expected = [float(score(cells_of(y_true, d, weight))[0, 0]) for d in decisions(y_pred)]
    tuned = tune_threshold(y_true, y_pred, score, weight)
    assert tuned.score == pytest.approx(max(expected), abs=1e-12)
    assert tuned == tune_threshold(y_true, y_pred, name, weight, **ARGUMENTS.get(name, {}))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_each_threshold_makes_its_decision_in_every_precision(dtype):
    rng = np.random.default_rng(3)
    values = [0.0, 1e-7, 0.3, 0.5, 0.7, 1.0, *rng.random(20)]
    one = np.array(values, dtype)
    close = np.concatenate([one, np.nextafter(one, 0), np.nextafter(one, 1)]) if dtype != "float64" else one
    y_pred = np.clip(close, 0, 1)
    y_true = rng.integers(0, 2, y_pred.size)
    found = tune_threshold(y_true, y_pred, curve=True).curve.thresholds
    assert len(found) == len(np.unique(y_pred)) + 1
    assert np.all(np.diff(found) > 0)
    for threshold, expected in zip(found.tolist(), decisions(y_pred), strict=True):
        np.testing.assert_array_equal(y_pred >= threshold, expected)  # in the array's own type
        np.testing.assert_array_equal(y_pred >= np.float64(threshold), expected)
        np.testing.assert_array_equal(y_pred.astype("float32") >= np.float32(threshold), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_counts_sums_and_parts_of_a_curve_agree(dtype, rng, monkeypatch):
    y, p = rng.integers(0, 2, 200), rng.random(200).astype(dtype).round(2)
    p[:3] = 0, -0.0, 1
    counted = tune_threshold(y, p, "mcc", curve=True).curve
    monkeypatch.setattr(_thresholds, "_AT_ONCE", 7)
    for weight in (None, np.ones(200)):  # sums of weights take another way
        np.testing.assert_array_equal(tune_threshold(y, p, "mcc", weight, curve=True).curve, counted)
    own = tune_threshold(y, p, lambda cells: cells.tp / ops.max(cells.tp), curve=True).curve  # of all thresholds
    np.testing.assert_allclose(own.scores, tune_threshold(y, p, "recall", curve=True).curve.scores)


def test_float64_that_float32_cannot_tell_apart():
    y_pred = np.array([0.5, 0.5 + 1e-12, 0.5 + 2e-12])
    tuned = tune_threshold([0, 1, 1], y_pred)
    assert tuned.score == 1.0
    assert (y_pred >= tuned.threshold).tolist() == [False, True, True]


def test_threshold_is_halfway_and_inside_the_unit_interval():
    assert tune_threshold([0, 1], [0.25, 0.75]) == (0.5, 1.0)
    assert tune_threshold([1, 1], [0.25, 0.75]) == (0.125, 1.0)
    assert tune_threshold([0, 0], [0.25, 0.75], "accuracy") == (0.875, 1.0)
    assert tune_threshold([1, 1], [0.0, 0.75]) == (0.0, 1.0)  # no smaller number inside (0, 1) calls a 0 positive
    assert tune_threshold([0, 0], [0.25, 1.0], "accuracy") == (np.inf, 1.0)
    assert tune_threshold([0, 0], np.array([0.25, np.nextafter(np.float32(1), np.float32(0))]), "accuracy")[0] == 1.0


def test_equal_scores_go_to_the_threshold_nearest_to_one_half():
    y_pred = [0.0625, 0.1875, 0.5625, 0.6875, 0.9375]
    assert tune_threshold([0] * 5, y_pred).threshold == 0.375  # F1 is 0 everywhere; not "all positive"
    assert tune_threshold([1, 0, 0, 0, 0], y_pred, "specificity").threshold == 0.96875


def test_agrees_with_the_step_confusion_matrix():
    y_true, y_pred, weight = data(500, seed=2, ties=False)
    tuned = tune_threshold(y_true, y_pred, "mcc", weight)
    assert 0 < tuned.threshold < 1
    cells = confusion_matrix(y_true, y_pred, weight, threshold=tuned.threshold, heaviside="step")
    assert float(np.squeeze(scores.get("mcc")(cells))) == pytest.approx(tuned.score, abs=1e-6)


def test_weights_are_repetitions_and_zero_is_absence():
    y_true, y_pred, _ = data(80, seed=5, ties=False)
    weight = np.random.default_rng(5).integers(0, 3, 80)
    repeated = tune_threshold(np.repeat(y_true, weight), np.repeat(y_pred, weight), curve=True)
    weighted = tune_threshold(y_true, np.where(weight, y_pred, np.nan), "f1", weight, curve=True)
    np.testing.assert_array_equal(weighted.curve.thresholds, repeated.curve.thresholds)
    np.testing.assert_allclose(weighted.curve.scores, repeated.curve.scores, atol=1e-14)
    assert weighted.threshold == repeated.threshold


def test_order_does_not_matter_and_labels_may_be_soft():
    y_true, y_pred, weight = data(80, seed=6, ties=True)
    order = np.random.default_rng(6).permutation(80)
    tuned = tune_threshold(y_true, y_pred, "mcc", weight)
    assert tuned.threshold == tune_threshold(y_true[order], y_pred[order], "mcc", weight[order]).threshold
    # A label of 0.25 is a quarter of a positive and three quarters of a negative.
    split = tune_threshold([1, 0, 1], [0.5, 0.5, 0.8], "f1", [0.25, 0.75, 1.0], curve=True)
    soft = tune_threshold([0.25, 1.0], [0.5, 0.8], curve=True)
    np.testing.assert_array_equal(soft.curve.scores, split.curve.scores)


def test_multi_label_has_one_threshold_per_class():
    columns = [data(50, seed=seed, ties=seed == 1) for seed in range(3)]
    y_true, y_pred, weights = (np.stack(parts, axis=-1) for parts in zip(*columns, strict=True))
    tuned = tune_threshold(y_true, y_pred, "jaccard", weights, curve=True)
    alone = [tune_threshold(*(part[:, k] for part in (y_true, y_pred)), "jaccard", weights[:, k]) for k in range(3)]
    np.testing.assert_array_equal(tuned.threshold, [a.threshold for a in alone])
    np.testing.assert_array_equal(tuned.score, [a.score for a in alone])
    assert [len(c.scores) for c in tuned.curve] == [len(np.unique(y_pred[:, k])) + 1 for k in range(3)]
    images = tune_threshold(y_true.reshape(5, 10, 3), y_pred.reshape(5, 10, 3), "jaccard", weights.reshape(5, 10, 3))
    np.testing.assert_array_equal(images.threshold, tuned.threshold)
    per_sample = tune_threshold(y_true, y_pred, "jaccard", weights[:, 0])
    assert per_sample.threshold[1] == tune_threshold(y_true[:, 1], y_pred[:, 1], "jaccard", weights[:, 0]).threshold


def test_columns_and_rows_mix_and_give_plain_floats():
    y_true, y_pred, weight = data(40, seed=8, ties=False)
    tuned = tune_threshold(y_true, y_pred, "f1", weight)
    assert [type(value) for value in tuned] == [float, float]
    for truth in (y_true, y_true[:, None], y_true.astype(bool), y_true.tolist(), ops.convert_to_tensor(y_true)):
        for prob in (y_pred, y_pred[:, None], ops.convert_to_tensor(y_pred)):
            assert tune_threshold(truth, prob, "f1", weight) == tuned


def test_own_function_as_score():
    def profit(cells, cost=0.5):
        return cells.tp - cost * cells.fp

    y_true, y_pred = [0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9]
    assert tune_threshold(y_true, y_pred, profit).score == 1.5
    assert tune_threshold(y_true, y_pred, profit, cost=2).score == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_pred": [0.1, np.nan]}, "`y_pred` must hold numbers. Received: NaN"),
        ({"y_pred": [0.1, 1.5]}, "`y_pred` must hold probabilities; .* Received: values from 0.1 to 1.5"),
        ({"y_pred": [-0.2, 0.5]}, "`y_pred` must hold probabilities"),
        ({"y_true": [0, 2]}, r"`y_true` must be in \[0, 1\]; .* Received: values from 0 to 2"),
        ({"y_true": [np.nan, 1]}, "`y_true` must be in .* Received: NaN"),
        ({"y_true": [], "y_pred": []}, r"`y_pred` must hold at least one probability. Received: y_pred.shape=\(0,\)"),
        ({"y_true": [0, 1, 1]}, r"same shape.* Received: y_true.shape=\(3,\), y_pred.shape=\(2,\)"),
        ({"y_pred": np.full((2, 2, 2), 0.5)}, r"y_true.shape=\(2,\), y_pred.shape=\(2, 2, 2\)"),
        ({"sample_weight": [1, -1]}, "`sample_weight` must be finite and non-negative. Received: values from -1 to 1"),
        ({"sample_weight": [1, np.nan]}, "`sample_weight` must be finite and non-negative. Received: NaN"),
        ({"sample_weight": [1, np.inf]}, "`sample_weight` must be finite"),
        ({"sample_weight": [0, 0]}, "`sample_weight` must leave at least one sample"),
        ({"sample_weight": [1, 1, 1]}, r"must line up .* sample_weight.shape=\(3,\)"),
        ({"sample_weight": np.ones((1, 1, 1))}, r"must line up .* sample_weight.shape=\(1, 1, 1\)"),
        (
            {"score": "roc_auc"},
            "`score` must be a score of one threshold.* Received: score='roc_auc'",
        ),
        ({"score": "f3"}, "`score` must be one of .*Received: score='f3'"),
        ({"gamma": 2}, "gamma"),
        ({"score": lambda cells: cells.tp / (cells.tp + cells.fp)}, "`score` must be a number everywhere.*NaN"),
        ({"score": lambda cells: cells.tp[0]}, r"`score` must keep the shape of the cells. Received: \(1,\)"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        tune_threshold(**{"y_true": [0, 1], "y_pred": [0.1, 0.9], **arguments})


@pytest.mark.parametrize("decision", ["threshold", "argmax"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_true": [9, 9]}, "`ignore_class` must leave at least one sample, but is every label.*ignore_class=9"),
        ({"y_true": [9, 9], "sample_weight": [1, 0]}, "`ignore_class` must leave at least one sample"),
        (
            {"y_true": [9, 1], "sample_weight": [1, 0]},
            "`sample_weight` must leave .*only zeros where the label is not 9",
        ),
        ({"average": [1, 2]}, r"`average` must have as many importances as there are classes, 3.*average=\[1.0, 2.0\]"),
        ({"average": [1, 2, 3, 4]}, "`average` must have as many importances as there are classes, 3"),
    ],
)
def test_what_leaves_nothing_to_tune_on_and_importances_of_other_classes(arguments, message, decision):
    given = {"y_true": [0, 2], "y_pred": [[0.5, 0.3, 0.2], [0.1, 0.5, 0.4]], "ignore_class": 9, "decision": decision}
    with pytest.raises(ValueError, match=message):
        tune_threshold(**given | arguments)


def test_one_class_has_one_importance_and_may_be_ignored_altogether():
    assert tune_threshold([0, 1], [0.25, 0.75], average=[3.0]) == tune_threshold([0, 1], [0.25, 0.75])
    with pytest.raises(ValueError, match="as many importances as there are classes, 1"):
        tune_threshold([0, 1], [0.25, 0.75], average=[1, 2])
    with pytest.raises(ValueError, match="`ignore_class` must leave at least one sample"):
        tune_threshold([255, 255], [0.25, 0.75], ignore_class=255)


def test_result_is_a_named_tuple():
    threshold, score = tuned = tune_threshold([0, 1], [0.25, 0.75])
    assert isinstance(tuned, TunedThreshold)
    assert (tuned.threshold, tuned.score) == (threshold, score)
    assert tune_threshold([0, 1], [0.25, 0.75], curve=True)._fields == ("threshold", "score", "curve")
