import pickle

import numpy as np
import pytest
from cases import batch
from class_cases import classes_batch
from keras import ops

from keras_softsets import Argmax, AtPrecision, AtRecall, Estimate, PerClass, evaluate, scores
from keras_softsets._evaluation import Evaluation
from keras_softsets._totals import graph_of_matrices
from keras_softsets.intervals._interval import _that_tell, subject_of, unseen_share
from keras_softsets.intervals._resampling import half_width, resampled


def sample(rng, n, share=0.2):
    y = (rng.random(n) < share).astype("float64")
    return y, 1 / (1 + np.exp(1 - rng.normal(size=n) - 1.5 * y))


def ordinal(rng, n):
    ids = rng.choice(4, n, p=[0.1, 0.4, 0.4, 0.1])
    p = np.exp(-((ids[:, None] + rng.normal(size=(n, 1)) * 0.8 - np.arange(4)) ** 2))
    return ids, p / p.sum(1, keepdims=True)


# By name: how data are drawn, the score, and its true value (of kappa, on two million samples; else in closed form).
SIMULATED = {
    "F1": (sample, {"score": "f1"}, 0.5945),
    "AUROC": (sample, {"score": "roc_auc"}, 0.8556),
    "kappa": (ordinal, {"score": "kappa", "weights": "quadratic"}, 0.6580),
    "precision at recall": (sample, {"score": "precision", "threshold": AtRecall(0.8)}, 0.4395),
}


def coverage(name, n, simulations, resamples):
    make, options, truth = SIMULATED[name]
    inside = 0
    for seed in range(simulations):
        y, p = make(np.random.default_rng(seed), n)
        found = evaluate(y, p, interval=0.95, resamples=resamples, seed=seed, **options)
        inside += found.low <= truth <= found.high
    return inside / simulations


@pytest.mark.parametrize("name", ["F1"])
def test_intervals_cover_the_truth(name):
    assert coverage(name, 200, 50, 200) >= 0.84  # 0.95 minus 3.5 standard errors


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize("name", SIMULATED)
def test_95_percent_intervals_cover_in_92_to_97_percent(name, n):
    assert 0.92 <= coverage(name, n, 500, 500) <= 0.97


@pytest.mark.parametrize(
    "options",
    [
        {"score": "f1"},
        {"score": "f_beta", "beta": 2, "threshold": PerClass([0.3, 0.5, 0.6]), "average": "weighted"},
        {"score": "jaccard", "threshold": [0.2, 0.5, 0.7], "average": None},
        {"score": "mcc", "heaviside": "sigmoid", "average": "micro"},
        {"score": "roc_auc"},
        {"score": "pr_auc", "average": "micro"},
        {"score": "average_precision", "average": None},
        {"score": "roc_auc", "threshold": [0.1, 0.5, 0.9]},
        {"score": "precision", "threshold": AtRecall([0.5, 0.8]), "average": [1.0, 2.0, 0.0]},
        {"score": "recall", "threshold": AtPrecision(0.4), "average": "micro"},
        {"score": "precision", "threshold": AtRecall(0.8), "heaviside": "linear"},
        {"score": "f1", "average": "samples", "threshold": 0.3},
        {"score": "f1", "threshold": Argmax(offsets=[0.1, 0.0, -0.2])},
    ],
    ids=str,
)
def test_a_resample_has_the_value_of_data_in_which_samples_are_repeated(options, rng):
    y, p, w = batch(60)
    if isinstance(options.get("threshold"), Argmax):
        y = np.eye(3, dtype=int)[y.argmax(1)]
    times = rng.multinomial(60, np.full(60, 1 / 60), 3)
    parameters = {"beta": options["beta"]} if "beta" in options else {}
    settings = {name: value for name, value in options.items() if name not in ("score", "beta")}
    subject = subject_of(Evaluation([scores.get(options["score"], **parameters)], **settings), 0, (y, p, w))
    for drawn, value in zip(times, subject.statistic.of(times.astype("float64"))):
        rows = np.repeat(np.arange(60), drawn)
        np.testing.assert_allclose(
            value, np.atleast_1d(evaluate(y[rows], p[rows], sample_weight=w[rows], **options)), 2e-6
        )


@pytest.mark.parametrize("average", ["macro", "weighted", [1.0, 2.0, 0.5], None])
def test_a_resample_without_positives_of_a_class_leaves_its_area_out(average):
    y, p, w = batch(60)
    y[3:, 0] = 0  # the first class has positives among three samples
    times = np.where(np.arange(60) < 3, 0, 1)
    for score in ("roc_auc", "pr_auc"):
        settings = {"average": average, "zero_division": "ignore"}
        subject = subject_of(Evaluation([scores.get(score)], **settings), 0, (y, p, w))
        expected = np.atleast_1d(evaluate(y[3:], p[3:], score, w[3:], **settings))
        (found,) = subject.statistic.of(times[None] * 1.0)
        np.testing.assert_allclose(np.nan_to_num(found), expected, 2e-6)  # NaN is that of a class alone


@pytest.mark.parametrize("score", ["kappa", "multiclass_accuracy"])
def test_a_resample_of_classes_has_the_value_of_repeated_samples(score, rng):
    ids, p, w = classes_batch()
    times = rng.multinomial(len(ids), np.full(len(ids), 1 / len(ids)), 2)
    for found, drawn in zip(
        subject_of(Evaluation([scores.get(score)]), 0, (ids, p, w)).statistic.of(times * 1.0), times
    ):
        rows = np.repeat(np.arange(len(ids)), drawn)
        np.testing.assert_allclose(found, [evaluate(ids[rows], p[rows], score, w[rows])], 1e-6)


def test_scores_of_the_package_keep_their_graphs_and_scores_of_users_do_not():
    kappa, power = scores.get("kappa"), 1.0
    of_kappa = [graph_of_matrices(each, 0.0, 3) for each in (kappa, scores.get("kappa"), kappa(weights="linear"))]
    assert of_kappa[0] is of_kappa[1] is not of_kappa[2]

    def mine(matrix):
        return (ops.trace(matrix.counts) / ops.sum(matrix.counts)) ** power

    ids, p, _ = classes_batch()
    score = scores.Score(mine, of="classes", registered=False)
    first = evaluate(ids, p, score, interval=0.9)
    power = 2.0
    second = evaluate(ids, p, score, interval=0.9)
    assert (second.low, second.high) == pytest.approx((first.low**2, first.high**2), rel=0.02)


def test_a_loop_of_evaluations_has_the_same_spread(rng):
    y, p = sample(rng, 300)
    slow = []
    for _ in range(400):
        rows = rng.integers(0, 300, 300)
        slow.append(evaluate(y[rows], p[rows]))
    (drawn,) = resampled([subject_of(Evaluation([scores.f1]), 0, (y, p, None)).statistic], 300, 4000, 0).drawn
    assert np.std(drawn) == pytest.approx(np.std(slow), rel=0.15)
    assert np.mean(drawn) == pytest.approx(np.mean(slow), abs=0.01)


def test_groups_of_equal_samples_are_drawn_like_samples(rng):
    y, p = sample(rng, 400)
    wide = [evaluate(y, p, sample_weight=1 + noise, interval=0.95) for noise in (0.0 * y, 1e-6 * rng.random(400))]
    assert wide[0].low == pytest.approx(wide[1].low, abs=0.015)
    assert wide[0].high == pytest.approx(wide[1].high, abs=0.015)


def test_merged_thresholds_hardly_change_an_interval(monkeypatch, rng):
    from keras_softsets.intervals import _ranking

    y, p = sample(rng, 3000, share=0.03)
    for score in ("roc_auc", "average_precision"):
        exact = evaluate(y, p, score, interval=0.95, resamples=200)
        monkeypatch.setattr(_ranking, "_THRESHOLDS", 512)
        merged = evaluate(y, p, score, interval=0.95, resamples=200)
        monkeypatch.undo()
        assert merged == exact
        assert [merged.low, merged.high] == pytest.approx([exact.low, exact.high], abs=0.006)


def test_intervals_of_few_samples_reach_further():
    reach = [half_width(0.95, samples) for samples in (10, 40, 400, 10**6)]
    assert reach == pytest.approx([2.3845, 2.0485, 1.9684, 1.96], abs=1e-3)  # t times sqrt(m / (m - 1))
    y, p = sample(np.random.default_rng(0), 200, share=0.05)
    subject = subject_of(Evaluation([scores.f1]), 0, (y, p, None))
    assert _that_tell(subject) == y.sum() == 12
    weights = subject_of(Evaluation([scores.f1]), 0, (y, p, np.where(np.arange(200) % 2, 1.0, 1e-6)))
    assert _that_tell(weights) == pytest.approx(y[1::2].sum(), abs=1e-3)
    sets = subject_of(Evaluation([scores.f1], per_sample=True), 0, (y.reshape(50, 4), p.reshape(50, 4), None))
    assert _that_tell(sets) == 50


def test_differences_are_paired(rng):
    y, p = sample(rng, 500)
    q = np.clip(p + 0.02 * rng.normal(size=500), 0, 1)
    difference = evaluate(y, p, "roc_auc", against=q, interval=0.95)
    assert float(difference) == pytest.approx(evaluate(y, p, "roc_auc") - evaluate(y, q, "roc_auc"))
    assert evaluate(y, p, "roc_auc", against=q) == float(difference)
    alone = evaluate(y, p, "roc_auc", interval=0.95)
    assert difference.high - difference.low < 0.3 * (alone.high - alone.low)


def test_pairs_of_sets_count_where_either_score_is_defined(rng):
    """Two images whose precision is 0 / 0, one with each predictions: the same draws must mean the same images."""
    y, p = rng.integers(0, 2, (40, 6)), rng.random((40, 6))
    other = np.clip(p + 0.2 * rng.normal(size=p.shape), 0, 1)
    p[3], other[7] = 0.1, 0.1
    settings = {"score": "precision", "average": "samples", "zero_division": "ignore"}
    found = evaluate(y, p, against=other, interval=0.9, resamples=2000, **settings)
    assert found == evaluate(y, p, **settings) - evaluate(y, other, **settings)
    decided = [q >= 0.5 for q in (p, other)]
    first, second = (np.where(d.any(1), (y * d).sum(1) / d.sum(1).clip(1), np.nan) for d in decided)
    draws = [rng.integers(0, 40, 40) for _ in range(2000)]
    values = [np.nanmean(first[rows]) - np.nanmean(second[rows]) for rows in draws]
    np.testing.assert_allclose([found.low, found.high], np.quantile(values, [0.05, 0.95]), atol=0.015)


def test_rows_of_an_image_are_drawn_together(rng):
    images = np.repeat(rng.random((12, 1, 1)), 64, 1)  # all pixels of an image are alike
    truth = (images + 0.3 * rng.normal(size=images.shape) > 0.5).astype(float)
    whole, single = (evaluate(x, q, interval=0.95) for x, q in ((truth, images), (truth.ravel(), images.ravel())))
    assert whole == pytest.approx(single)
    assert whole.high - whole.low > 2 * (single.high - single.low)


def test_weight_0_is_absence(rng):
    y, p = sample(rng, 200)
    w = np.ones(200)
    w[150:] = 0
    some, less = evaluate(y, p, sample_weight=w, interval=0.9), evaluate(y[:150], p[:150], interval=0.9)
    assert (some.value, some.low, some.high) == pytest.approx((less.value, less.low, less.high))


def test_where_every_decision_is_right_the_interval_is_wilsons():
    y = np.repeat([0.0, 1.0], [60, 20])
    recall = evaluate(y, y, "recall", interval=0.95)
    assert (recall.method, recall.high) == ("wilson", 1.0)
    assert recall.low == pytest.approx(1 - unseen_share(20, 0.95)) == pytest.approx(0.8389, abs=1e-4)
    for score in ("f1", "roc_auc", "mcc", "precision"):
        found = evaluate(y, 0.1 + 0.8 * y, score, interval=0.95)
        assert found.method == "wilson"
        assert 0.7 < found.low < 0.99
        assert found.high == pytest.approx(1)
    at_rate = evaluate(y, 0.1 + 0.8 * y, "precision", threshold=AtRecall(0.9), interval=0.95)
    assert (at_rate.method, at_rate.high) == ("wilson", 1.0)
    assert at_rate.low < 0.9


def test_accuracy_of_right_decisions_has_wilsons_interval_of_all_samples():
    ids = np.arange(30) % 3
    for y, p, options in (
        (ids % 2, ids % 2 * 1.0, {"score": "accuracy"}),
        (ids, np.eye(3)[ids], {"score": "multiclass_accuracy"}),
    ):
        assert evaluate(y, p, interval=0.95, **options).low == pytest.approx(1 - unseen_share(30, 0.95))


def test_where_every_decision_is_wrong_the_interval_is_wilsons():
    y = np.repeat([0.0, 1.0], [60, 20])
    recall = evaluate(y, 0 * y, "recall", interval=0.95)
    assert (recall.method, recall.low, recall.high) == ("wilson", 0.0, pytest.approx(unseen_share(20, 0.95)))


def test_classes_and_sets_without_an_error_have_an_interval_too():
    ids = np.arange(40) % 4
    kappa = evaluate(ids, np.eye(4)[ids], "kappa", interval=0.95)
    assert (kappa.method, kappa.high) == ("wilson", 1.0)
    assert 0.85 < kappa.low < 0.97
    sets = evaluate(np.eye(4)[ids], np.eye(4)[ids], average="samples", interval=0.95)
    assert (sets.method, sets.low) == ("wilson", pytest.approx(1 - unseen_share(40, 0.95)))


def test_without_positives_the_interval_is_undefined():
    found = evaluate(np.zeros(30), np.linspace(0, 1, 30), "recall", interval=0.95)
    assert found.method == "undefined"
    assert np.isnan([found.low, found.high]).all()


def test_two_positives_do_not_make_resamples_without_any_count():
    y = np.repeat([0.0, 1.0], [98, 2])
    p = np.where(np.arange(100) % 3 == 0, 0.6, 0.4)
    p[98:] = [0.6, 0.5]
    assert evaluate(y, p, "roc_auc", interval=0.95).low > 0.3  # with 0 / 0 as 0, it would be 0


def test_one_estimate_for_each_class():
    y, p, _ = batch(80)
    found = evaluate(y, p, average=None, interval=0.9)
    assert found.shape == (3,)
    np.testing.assert_allclose(found.astype(float), evaluate(y, p, average=None))
    assert all(each.low < each < each.high and each.level == 0.9 for each in found)


def test_an_estimate_is_a_float():
    estimate = Estimate(0.668, 0.601, 0.731)
    assert estimate + 1 == 0.668 + 1
    assert estimate > 0.6
    assert f"{estimate} {estimate:.2f}" == "0.668 [0.601, 0.731] 0.67"
    copy = pickle.loads(pickle.dumps(estimate))
    assert (copy, copy.low, copy.high, copy.level, copy.method) == (0.668, 0.601, 0.731, 0.95, "bootstrap")


def test_a_seed_repeats_the_interval(rng):
    y, p = sample(rng, 100)
    first, second, other = (evaluate(y, p, interval=0.95, seed=seed) for seed in (1, 1, 2))
    assert (first.low, first.high) == (second.low, second.high)
    assert (first.low, first.high) != (other.low, other.high)


@pytest.mark.parametrize(
    "options", [{"interval": 95}, {"interval": 0}, {"interval": 0.95, "resamples": 3}, {"interval": 0.95, "seed": -1}]
)
def test_wrong_arguments(options):
    with pytest.raises(ValueError, match=f"`{list(options)[-1]}` must"):
        evaluate([0, 1], [0.2, 0.7], **options)
    with pytest.raises(ValueError, match="`against` must have the shape"):
        evaluate([0, 1], [0.2, 0.7], against=[0.1, 0.2, 0.3])


@pytest.mark.slow
def test_a_hundred_thousand_samples_take_seconds():
    import time

    y, p = sample(np.random.default_rng(0), 100_000)
    for options in ({}, {"score": "roc_auc"}):
        start = time.perf_counter()
        evaluate(y, p, interval=0.95, **options)
        assert time.perf_counter() - start < 30
