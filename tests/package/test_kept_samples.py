"""Metrics at operating points: exact as long as the first samples are all there are, and close to it beyond."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_softsets import (
    AtPrecision,
    AtRecall,
    AtSpecificity,
    BlendedLoss,
    SoftPrecisionAtRecall,
    SoftRecallAtPrecision,
    confusion_matrix,
    evaluate,
    metrics,
)
from keras_softsets.operating import _kept
from keras_softsets.samples import Samples


def batch(n=300, seed=0, classes=2):
    random = np.random.default_rng(seed)
    y = (random.random((n, classes)) < 0.3).astype("int32")
    p = np.clip(0.3 * y + 0.7 * random.random(y.shape), 0, 1).astype("float32")
    return y, p, random.uniform(0.1, 2, n).astype("float32")


def streamed(metric, y, p, w, sizes=(0, 7, 130, 131)):
    for start, end in zip(sizes, [*sizes[1:], len(y)]):
        metric.update_state(y[start:end], p[start:end], w[start:end])
    return metric.result()


@pytest.fixture(params=["exact", "bins"])
def close(request, monkeypatch):
    """How close a metric must be, with room for all samples and with room for a few."""
    if request.param == "bins":
        monkeypatch.setattr(_kept, "SIZE", 20)
    return {"exact": 1e-6, "bins": 2e-3}[request.param]


@pytest.mark.parametrize("decision", [AtRecall(0.8), AtPrecision(0.6), AtSpecificity(0.9)])
@pytest.mark.parametrize("width", [1e-6, 1e-2])
def test_few_samples_are_exact_however_close_they_lie(decision, width):
    y, p, w = batch(80)
    p = np.float32(0.5 + width * p)  # of 1e-6, a handful of numbers in one bin
    for score in ("precision", "recall", "specificity", "f1"):
        metric = metrics.SoftSetMetric(score, threshold=decision, average=None)
        expected = evaluate(y, p, score, w, threshold=decision, average=None)
        np.testing.assert_allclose(streamed(metric, y, p, w), expected, rtol=1e-6)
        reached = evaluate(y, p, score, w, threshold=metric.threshold(), average=None)
        np.testing.assert_allclose(np.where(expected > 0, reached, 0), expected, rtol=1e-6)


def test_metrics_before_and_after_they_have_run_out_of_room(close):
    y, p, w = batch()
    expected = evaluate(y, p, "precision", w, threshold=AtRecall([0.8, 0.9]))
    metric = metrics.PrecisionAtRecall([0.8, 0.9])
    assert float(streamed(metric, y, p, w)) == pytest.approx(expected, abs=close)
    first, second = metrics.PrecisionAtRecall([0.8, 0.9]), metrics.PrecisionAtRecall([0.8, 0.9])
    first.update_state(y[:15], p[:15], w[:15])
    second.update_state(y[15:], p[15:], w[15:])
    first.merge_state([second])
    assert float(first.result()) == float(metric.result())
    assert first.threshold() == metric.threshold()
    metric.reset_state()
    metric.update_state(y[:15], p[:15])
    expected = evaluate(y[:15], p[:15], "precision", threshold=AtRecall([0.8, 0.9]))
    assert float(metric.result()) == pytest.approx(expected, rel=1e-6)


def test_soft_metrics_and_parts_of_a_blend_are_the_loss_of_everything(close):
    y, p, w = batch()
    for loss, kind in (
        (SoftPrecisionAtRecall(0.9), metrics.PrecisionAtRecall),
        (SoftRecallAtPrecision(0.7), metrics.RecallAtPrecision),
    ):
        expected = float(loss(y, p, w))
        soft = kind(0.9 if kind is metrics.PrecisionAtRecall else 0.7, heaviside="linear")
        assert float(streamed(soft, y, p, w)) == pytest.approx(1 - expected, abs=close)
        part, _ = BlendedLoss({"set": loss, "bce": keras.losses.BinaryCrossentropy()}).metrics()
        assert float(streamed(part, y, p, w)) == pytest.approx(expected, abs=close)
        again = type(part).from_config(part.get_config())
        assert float(streamed(again, y, p, w)) == float(part.result())


def test_cells_at_an_operating_point_are_those_of_the_boundary(close):
    y, p, w = batch()
    for heaviside in ("step", "linear"):
        options = {"threshold": AtRecall([0.8, 0.9]), "heaviside": heaviside}
        expected = confusion_matrix(y, p, w, **options)
        found = streamed(metrics.Confusion(**options, average=None), y, p, w)
        for name, cell in expected._asdict().items():
            np.testing.assert_allclose(found[name], cell, rtol=1e-6, atol=1.5 if close > 1e-5 else 1e-3)
        micro = streamed(metrics.Confusion(**options), y, p, w)
        assert float(micro["fp"]) == pytest.approx(np.sum(found["fp"]) / 2, rel=1e-5)


@pytest.mark.parametrize("compiled", [False, True])
def test_graphs_and_xla(compiled, close):
    y, p, w = batch(60)
    metric = metrics.PrecisionAtRecall(0.8)
    metric.update_state(y[:0], p[:0], w[:0])
    update, result = (tf.function(f, jit_compile=compiled) for f in (metric.update_state, metric.result))
    for part in (slice(0, 15), slice(15, 30), slice(30, 60)):
        update(y[part], p[part], w[part])
        seen = slice(0, part.stop)
        expected = evaluate(y[seen], p[seen], "precision", w[seen], threshold=AtRecall(0.8))
        assert float(result()) == pytest.approx(expected, abs=close)


def test_nan_is_not_hidden():
    y, p, w = batch(20)
    metric = metrics.PrecisionAtRecall(0.8, average=None)
    metric.update_state(y, p, w)
    p[3, 1], w[5], p[5, 0] = np.nan, 0, np.nan
    metric.update_state(y, p, w)
    assert np.isnan(metric.result()).tolist() == [False, True]


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-12])
def test_bins_are_as_fine_for_tiny_probabilities_as_for_large_ones(rng, monkeypatch, scale):
    monkeypatch.setattr(_kept, "SIZE", 100)
    y = (rng.random(30_000) < 0.2).astype("int32")
    p = (np.clip(0.3 * y + 0.7 * rng.random(len(y)), 0, 1) * scale).astype("float32")
    for metric, name, decision in (
        (metrics.RecallAtPrecision(0.95), "recall", AtPrecision(0.95)),
        (metrics.SensitivityAtSpecificity(0.999), "recall", AtSpecificity(0.999)),
    ):
        for start in range(0, len(y), 10_000):
            metric.update_state(y[start : start + 10_000], p[start : start + 10_000])
        assert float(metric.result()) == pytest.approx(evaluate(y, p, name, threshold=decision), abs=2e-3)


def test_a_metric_goes_on_after_two_to_the_31_samples():
    metric = metrics.PrecisionAtRecall(0.5)
    y, p, _ = batch(50, classes=1)
    metric.update_state(y, p)
    kept = metric._kept
    kept._counts.assign([[0.0], [2.0**31 + 5]])
    kept._weights.assign(2.0**31 * kept.bins.histogram(Samples(*map(keras.ops.convert_to_tensor, (y * 1.0, p)), None)))
    kept._rows.assign(keras.ops.zeros_like(kept._rows))
    before = float(metric.result())
    metric.update_state(y, p)
    assert float(metric.result()) == pytest.approx(before, abs=1e-6)
    assert before == pytest.approx(evaluate(y, p, "precision", threshold=AtRecall(0.5)), abs=1e-3)
