"""Areas and averages in all combinations, against scikit-learn: weights, sets, classes, 0 / 0, tiny probabilities."""

import itertools

import keras
import numpy as np
import pytest
from sklearn import metrics as sk

from keras_softsets import evaluate, metrics
from keras_softsets.operating import _kept

UNDEFINED = np.nan


def roc_auc(y, p, w, **parameters):
    if len(np.unique(y[w > 0])) < 2:
        return UNDEFINED
    return sk.roc_auc_score(y, p, sample_weight=w, **parameters)


def pr_auc(y, p, w):
    if not (w * y).sum():
        return UNDEFINED
    precision, recall, _ = sk.precision_recall_curve(y, p, sample_weight=w)
    return sk.auc(recall, [*precision[:-1], precision[-2]])  # scikit-learn ends at a precision of 1, whatever it was


def average_precision(y, p, w):
    return sk.average_precision_score(y, p, sample_weight=w) if (w * y).sum() else UNDEFINED


def at_one_half(function):
    def score(y, p, w):
        # scikit-learn refuses a column without samples.
        return function(y, p >= np.float32(0.5), sample_weight=w, zero_division=np.nan) if len(y) else UNDEFINED

    return score


ORACLES = {
    "roc_auc": roc_auc,
    "pr_auc": pr_auc,
    "average_precision": average_precision,
    "f1": at_one_half(sk.f1_score),
    "precision": at_one_half(sk.precision_score),
    "recall": at_one_half(sk.recall_score),
    "jaccard": at_one_half(lambda y, d, sample_weight, zero_division: _jaccard(y, d, sample_weight)),
}


def _jaccard(y, d, w):
    union = (w * ((y == 1) | d)).sum()
    return (w * y * d).sum() / union if union else UNDEFINED  # scikit-learn has no NaN for 0 / 0 here


def mean(values, weights):
    kept = ~np.isnan(values)
    return np.average(values[kept], weights=weights[kept]) if (weights[kept] > 0).any() else UNDEFINED


def of_set(name, y, p, w, average, zero_division, **parameters):
    """The score of one set, (elements, classes); NaN if it is to be left out."""
    if average == "micro":
        y, p, w = (x.reshape(-1, 1) for x in (y, p, w))
    columns = zip(y.T, p.T, w.T, strict=True)
    values = np.array([ORACLES[name](*(x[column[2] > 0] for x in column), **parameters) for column in columns])
    if zero_division != "ignore":
        values = np.nan_to_num(values, nan=zero_division)
    if average is None:
        return values
    support = (w * y).sum(0)
    return mean(values, support if average == "weighted" and support.sum() else np.ones_like(values))


def expected(name, y, p, w, average, zero_division, per_sample, importance, **parameters):
    options = {"average": average, "zero_division": zero_division, **parameters}
    if not per_sample:
        y, p, w = (x.reshape(-1, x.shape[-1]) for x in (y, p, w * importance[:, None, None]))
        return np.nan_to_num(of_set(name, y, p, w, **options))
    values = np.array([of_set(name, *data, **options) for data in zip(y, p, w, strict=True)])
    importance = importance * (w > 0).any((1, 2))
    if average is None:
        return np.nan_to_num([mean(column, importance) for column in values.T])
    return np.nan_to_num(mean(values, importance))


def case(seed):
    """Labels, probabilities and weights of (sets, elements, classes), and settings."""
    random = np.random.default_rng(seed)
    shape = tuple(random.integers([1, 2, 1], [5, 30, 4]))
    y = (random.random(shape) < random.choice([0.05, 0.3, 0.6, 0.95])).astype("int64")
    p = np.clip(0.3 * y + 0.7 * random.random(shape), 0, 1)
    if random.random() < 0.3:
        p = np.round(p, 1)  # many ties
    p = (p * 10.0 ** random.choice([0, 0, -4, -8])).astype("float32")
    element = random.choice([0, 1, 2.5], shape) if random.random() < 0.4 else np.ones(shape)
    importance = random.choice([0.5, 1, 3], shape[0]) if random.random() < 0.4 else np.ones(shape[0])
    settings = {
        "average": random.choice(["macro", "micro", "weighted", None]),
        "zero_division": random.choice(np.array([0.0, 1.0, "ignore"], object)),
        "per_sample": bool(random.random() < 0.5),
    }
    name = random.choice(list(ORACLES))
    parameters = {"max_fpr": float(random.choice([0.1, 0.3]))} if name == "roc_auc" and random.random() < 0.3 else {}
    return name, y, p, element, importance, settings, parameters


def check(seed, streamed):
    name, y, p, element, importance, settings, parameters = case(seed)
    right = expected(name, y, p, element, importance=importance, **settings, **parameters)
    if settings["per_sample"] and not np.array_equal(element, np.ones_like(element)):
        importance = np.ones_like(importance)
        right = expected(name, y, p, element, importance=importance, **settings, **parameters)
    weight = element * importance[:, None, None]
    weight = importance if np.array_equal(element, np.ones_like(element)) else weight
    found = evaluate(y, p, name, weight, **settings, **parameters)
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-9, err_msg=f"seed {seed}")
    if not streamed:
        return
    metric = metrics.SoftSetMetric(name, **settings, **parameters)
    for k in range(len(y)):
        metric.update_state(y[k : k + 1], p[k : k + 1], weight[k : k + 1])
    np.testing.assert_allclose(metric.result(), right, rtol=0, atol=1e-6, err_msg=f"seed {seed}")


@pytest.mark.parametrize("start", range(0, 120, 20))
def test_random_cases_are_scikit_learns(start):
    for seed in range(start, start + 20):
        check(seed, streamed=seed % 4 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1_000, 6_000, 100))
def test_many_more_random_cases_are_scikit_learns(start):
    for seed in range(start, start + 100):
        check(seed, streamed=seed % 10 == 0)


def test_a_perfect_ranking_is_perfect_in_every_average_however_classes_are_scaled():
    y = np.array([[0, 0], [1, 0], [1, 1]])
    p = np.float32([[0.2, 0.01], [0.8, 0.02], [0.9, 0.03]])
    for average in ("macro", "weighted"):
        assert evaluate(y, p, "roc_auc", average=average) == pytest.approx(1)
    assert evaluate(y, p, "roc_auc", average="micro") == pytest.approx(sk.roc_auc_score(y, p, average="micro"))


def test_only_ignore_leaves_an_image_without_positives_out_of_a_weighted_average():
    y, p = np.zeros((2, 8, 1), "int64"), np.zeros((2, 8, 1), "float32")
    y[0, :4], p[0, :4], p[1, :4] = 1, 1, 1  # one perfect image, and one of pure background with four false alarms
    options = {"average": "weighted", "per_sample": True}
    assert evaluate(y, p, "f1", **options) == 0.5
    assert float(metrics.F1(**options)(y, p)) == 0.5
    empty = np.zeros_like(p[1:])
    background = (np.concatenate([y[:1], y[1:]]), np.concatenate([p[:1], empty]))
    for zero_division, right in ((0.0, 0.5), (1.0, 1.0), ("ignore", 1.0)):
        assert evaluate(*background, "f1", zero_division=zero_division, **options) == right
        assert float(metrics.F1(zero_division=zero_division, **options)(*background)) == right


def test_metrics_of_areas_are_exact_whatever_the_size_of_probabilities(rng):
    y = (rng.random(3_000) < 0.05).astype("int64")
    for scale in (1.0, 1e-2, 1e-6, 1e-30):
        p = (np.clip(0.2 * y + 0.8 * rng.random(len(y)), 0, 1) * scale).astype("float32")
        streams = (metrics.AUROC(), metrics.AUPRC(), metrics.AveragePrecision(), metrics.AUROC(max_fpr=0.1))
        for start, metric in itertools.product(range(0, len(y), 700), streams):
            metric.update_state(y[start : start + 700], p[start : start + 700])
        ones = np.ones(len(y))
        right = [
            roc_auc(y, p, ones),
            pr_auc(y, p, ones),
            average_precision(y, p, ones),
            roc_auc(y, p, ones, max_fpr=0.1),
        ]
        np.testing.assert_allclose([float(metric.result()) for metric in streams], right, rtol=0, atol=1e-6)


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_bins_of_areas_are_close(rng, monkeypatch, scale, average):
    monkeypatch.setattr(_kept, "SIZE", 500)
    y = (rng.random((20_000, 2)) < [0.05, 0.4]).astype("int64")
    p = (np.clip(0.2 * y + 0.8 * rng.random(y.shape), 0, 1) * scale).astype("float32")
    for name, close in (("roc_auc", 1e-4), ("pr_auc", 1e-4), ("average_precision", 1e-3)):
        metric = metrics.SoftSetMetric(name, average=average)
        for rows in np.split(np.arange(len(y)), (300, 600, 900, 10_000)):  # into the list, from there into the bins
            metric.update_state(y[rows], p[rows])
        assert float(metric.result()) == pytest.approx(evaluate(y, p, name, average=average), abs=close)


def test_a_metric_knows_which_thresholds_it_has_after_saving():
    y, p = [0, 0, 1, 1], [1e-9, 2e-9, 1.5e-9, 3e-9]
    fixed = metrics.AUROC(threshold=list(metrics.CURVE_THRESHOLDS))
    for metric, right in ((metrics.AUROC(), 0.75), (fixed, 0.5)):
        again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
        assert float(again(y, p)) == float(metric(y, p)) == right
    assert repr(metrics.AUROC()) == "AUROC()"
    assert "threshold=[" in repr(fixed)


def test_thousands_of_classes_take_little_memory():
    y = np.zeros((40, 5_000), "int64")
    y[:20] = 1
    p = np.repeat(np.linspace(1, 0, 40, dtype="float32")[:, None], 5_000, 1)
    metric = metrics.AUROC()
    for _ in range(7):  # more than the list holds
        metric.update_state(y, p)
    assert float(metric.result()) == pytest.approx(1)
    assert sum(np.prod(v.shape) * (8 if v.dtype == "float64" else 4) for v in metric.variables) < 2**28
