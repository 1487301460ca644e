import pickle

import numpy as np
import pytest
from class_cases import classes_batch

from keras_softsets import Argmax, evaluate, scores, tune_threshold
from keras_softsets.decisions._tuned import ThresholdCurve
from keras_softsets.samples import Samples
from keras_softsets.tuning import _auto, _offsets
from keras_softsets.tuning._auto import folds_of
from keras_softsets.tuning._thresholds import best_of


def curve(*values):
    return ThresholdCurve(np.linspace(0.1, 0.9, len(values)), np.array(values))


@pytest.mark.parametrize(
    ("values", "plateau", "expected"),
    [
        ((0.5, 0.8, 0.79, 0.79, 0.2), None, 0.3),
        ((0.5, 0.8, 0.79, 0.79, 0.2), 0.02, 0.5),
        ((0.5, 0.8, 0.79, 0.79, 0.2), 0.0, 0.3),
        ((0.8, 0.2, 0.79, 0.8, 0.79), 0.02, 0.7),  # only the part around the best
        ((0.8, 0.8, 0.8, 0.8, 0.8), 0.0, 0.5),
        ((np.nan, 0.79, 0.8, 0.79, 0.2), 0.02, 0.5),  # what breaks a rule does not belong to a plateau
        ((0.2, 0.2, 0.2, 0.79, 0.8), 0.02, 0.7),
    ],
)
def test_the_middle_of_a_plateau(values, plateau, expected):
    found, score = best_of(curve(*values), plateau)
    assert found == pytest.approx(expected)
    assert score == values[round((expected - 0.1) / 0.2)]


def noisy(rng, n=400):
    y = (rng.random(n) < 0.15).astype(int)
    return y, 1 / (1 + np.exp(2 - rng.normal(size=n) - 1.5 * y))


def test_folds_and_plateaus_stay_close_to_the_best_score_and_meet_rules(rng):
    y, p = noisy(rng)
    best = tune_threshold(y, p)
    for options in ({"plateau": 0.01}, {"folds": 5}, {"folds": 4, "plateau": 0.02}):
        found = tune_threshold(y, p, **options)
        assert best.score - 0.05 < found.score <= best.score
        assert found.score == pytest.approx(evaluate(y, p, threshold=found.threshold))
        ruled = tune_threshold(y, p, at_least={"recall": 0.8}, **options)
        assert evaluate(y, p, "recall", threshold=ruled.threshold) >= 0.8
    assert tune_threshold(y, p, plateau=0.01).score >= best.score - 0.01


def test_folds_of_two_samples_are_those_that_leave_some():
    for y, p in (([0, 1], [0.3, 0.6]), ([1], [0.6])):
        assert tune_threshold(y, p, folds=2) == tune_threshold(y, p)


def test_folds_vary_less_than_the_best_threshold():
    found = {"best": [], "folds": []}
    for seed in range(40):
        y, p = noisy(np.random.default_rng(seed), 150)
        found["best"].append(tune_threshold(y, p).threshold)
        found["folds"].append(tune_threshold(y, p, folds=5).threshold)
    assert np.std(found["folds"]) < np.std(found["best"])


def test_folds_hold_every_class_evenly(rng):
    classes = rng.integers(0, 3, 100)
    fold = folds_of(classes, 5)
    counts = [[np.sum((fold == k) & (classes == c)) for k in range(5)] for c in range(3)]
    assert all(max(each) - min(each) <= 1 for each in counts)


@pytest.mark.parametrize(
    "score",
    [
        scores.kappa,
        scores.kappa(weights="quadratic"),
        scores.multiclass_accuracy,
        scores.multiclass_mcc,
        scores.multiclass_cost(costs=[[0, 1, 2, 9], [1, 0, 3, 9], [5, 1, 0, 9], [2, 2, 2, 0]]),
    ],
    ids=repr,
)
def test_a_few_sums_tune_the_offsets_of_whole_matrices(score, monkeypatch):
    ids, p, w = classes_batch()
    quick = tune_threshold(ids, p, score, w, decision="argmax")
    monkeypatch.setattr(_offsets, "as_linear", lambda *args: None)
    slow = tune_threshold(ids, p, score, w, decision="argmax")
    np.testing.assert_allclose(quick.threshold.offsets, slow.threshold.offsets)
    assert quick.score == pytest.approx(slow.score)


def test_offsets_that_help_are_found_and_chance_is_left_alone():
    rng = np.random.default_rng(0)
    ids = rng.choice(3, 600, p=[0.8, 0.15, 0.05])
    logits = 1.2 * np.eye(3)[ids] + rng.normal(size=(600, 3)) + np.log([0.8, 0.15, 0.05])
    options = {"decision": "argmax", "offsets": "auto", "from_logits": True}
    found = tune_threshold(ids, logits, "f1", **options)
    assert isinstance(found.threshold, Argmax)
    assert found.score > evaluate(ids, logits, "f1", threshold="argmax", from_logits=True) + 0.02
    assert found.score == pytest.approx(evaluate(ids, logits, "f1", threshold=found.threshold, from_logits=True))
    right = 5 * np.eye(3)[ids]
    assert tune_threshold(ids, right, "f1", **options).threshold.offsets == (0, 0, 0)


@pytest.mark.parametrize(("better", "ahead"), [(0, False), (1, False), (20, True)])
def test_free_offsets_must_be_ahead_by_a_standard_error(better, ahead):
    ids = np.arange(100) % 2
    right, wrong = np.log(0.1 + 0.8 * np.eye(2)[ids]), np.log(0.1 + 0.8 * np.eye(2)[1 - ids])
    samples = Samples(np.eye(2)[ids], np.zeros((100, 2)), np.ones((100, 1)), logits=True)
    first = np.where(np.arange(100)[:, None] < 60 + better, right, wrong)
    second = np.where(np.arange(100)[:, None] < 60, right, wrong)
    assert _auto._surely_ahead(samples, scores.multiclass_accuracy, "macro", first, second) == ahead


def test_auto_offsets_are_means_over_folds(monkeypatch):
    ids, p, _ = classes_batch()
    found = iter([[0.0, 3.0, 0.0, 0.0], [3.0, 3.0, 0.0, 3.0], [9.0, 9.0, 9.0, 9.0]] * 2)
    monkeypatch.setattr(_auto, "_free", lambda *args: np.array(next(found)))
    monkeypatch.setattr(_auto, "_surely_ahead", lambda *args: True)
    monkeypatch.setattr(_auto, "_value", lambda samples, score, average, offsets: np.ptp(offsets))
    tuned = tune_threshold(ids, p, decision="argmax", offsets="auto", folds=3)
    np.testing.assert_allclose(tuned.threshold.offsets, [0.0, 1.0, -1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plateau": -1}, "`plateau` must be"),
        ({"folds": 1}, "`folds` must be a whole number"),
        ({"offsets": "auto"}, "`offsets` must be 'free' unless"),
        ({"offsets": "some", "decision": "argmax"}, "`offsets` must be one of"),
        ({"folds": 5, "decision": "argmax"}, "`folds` must be None for free offsets"),
        ({"plateau": 0.1, "decision": "argmax"}, "`plateau` must be None"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(ValueError, match=message):
        tune_threshold([0, 1, 1], [[0.2, 0.8], [0.7, 0.3], [0.4, 0.6]], **options)


def test_the_result_says_by_how_few_samples_it_was_chosen():
    y, p = np.repeat([0, 1], [100, 7]), np.linspace(0, 1, 107)
    two = {"y_true": np.stack([y, y[::-1]], 1)[:101], "y_pred": np.stack([p, p], 1)[:101]}
    ids, q = np.repeat([0, 1, 2], [50, 30, 1]), np.full((81, 3), 1 / 3)
    cases = {
        "7 positives": tune_threshold(y, p),
        "7 negatives": tune_threshold(1 - y, p, interval=0.9),
        "3 positives": tune_threshold(y, p, "f1", np.where(np.arange(107) < 103, 1.0, 0.0), curve=True),
        "1 positive of class 0": tune_threshold(**two),
        "1 sample of class 2": tune_threshold(ids, q, decision="argmax"),
        "49 samples": tune_threshold(np.arange(49) % 2, np.arange(49) / 48),
        None: tune_threshold(np.arange(50) % 2, np.arange(50) / 49),
    }
    assert {found.few: expected for expected, found in cases.items()} == {each: each for each in cases}
    for few, found in cases.items():
        assert repr(found).endswith(f"# by {few}, so mostly chance: see interval=0.95") == (few is not None)
    again = pickle.loads(pickle.dumps(cases["7 positives"]))
    assert (again, again.few) == (cases["7 positives"], "7 positives")
    assert cases["7 positives"] == (cases["7 positives"].threshold, cases["7 positives"].score)


def test_the_score_of_few_samples_can_say_how_little_is_known(rng):
    y, p = noisy(rng, 30)
    y[:2] = 1
    plain, found = tune_threshold(y, p), tune_threshold(y, p, interval=0.95)
    assert (found.threshold, found.score) == pytest.approx((plain.threshold, plain.score))
    assert found.score.high - found.score.low > 0.2
    both = tune_threshold(np.stack([y, 1 - y], 1), np.stack([p, p / 2], 1), interval=0.9, curve=True)
    assert [each.level for each in both.score] == [0.9, 0.9]
    assert both.score.astype(float) == pytest.approx([curve.scores.max() for curve in both.curve])
    ids, q, w = classes_batch()
    for offsets in ("free", "auto"):
        tuned = tune_threshold(ids, q, "kappa", w, decision="argmax", offsets=offsets, interval=0.95)
        assert tuned.score.low < tuned.score < tuned.score.high
