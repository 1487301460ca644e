"""Several classes where something is missing or extreme: finite values, bounded gradients, and NaN never hidden."""

import numpy as np
import pytest
import tensorflow as tf
from cases import value_and_gradient
from class_cases import classes_batch

from keras_softsets import Argmax, SoftF1, SoftKappa, SoftMulticlassMCC, evaluate, metrics, multiclass_confusion_matrix

LOSSES = {
    "f1": lambda **k: SoftF1(**{"threshold": "argmax"} | k),
    "kappa": SoftKappa,
    "plain kappa": lambda **k: SoftKappa(weights=None, **k),
    "mcc": SoftMulticlassMCC,
}
PARTS = {
    "all": slice(None),
    "empty": slice(0, 0),
    "one sample": slice(0, 1),
}


def extreme_batches():
    """Labels, probabilities and weights, in which something is missing, saturated or nearly so."""
    ids, p, w = classes_batch(n=12, classes=3)
    hot = np.eye(3, dtype="float32")
    yield from ((ids[part], p[part], w[part]) for part in PARTS.values())
    yield np.zeros(12, int), p, None  # one class present
    yield np.zeros(12, int), hot[np.zeros(12, int)], None  # and all of it right
    yield np.zeros(12, int), hot[np.ones(12, int)], None  # or wrong
    yield ids, hot[ids], w  # saturated, right
    yield ids, hot[(ids + 1) % 3], w  # saturated, wrong
    yield ids, 0 * p, w  # rows of zeros
    yield ids, np.full_like(p, 1e-30), w
    yield ids, np.ones_like(p), w
    yield ids, np.where(hot[ids] > 0, 1 - 1e-7, 1e-30).astype("float32"), None
    yield ids, p, 0 * w  # nothing counts
    yield ids, p, 1e-30 * w
    yield ids, p, 1e30 * w


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("temperature", [0.05, 1.0, 5.0])
def test_losses_are_finite_and_gradients_bounded(name, temperature):
    for ids, p, w in extreme_batches():
        value, gradient = value_and_gradient(LOSSES[name](threshold=Argmax(temperature)), ids, p, w)
        assert -1e-6 <= value <= 2.01
        assert np.isfinite(gradient).all()
        assert np.abs(gradient).max(initial=0) < 1e7


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("scale", [1.0, 100.0, 1e38])
def test_extreme_logits(name, scale):
    ids, p, w = classes_batch(n=12, classes=3)
    logits = ((p - 0.5) * scale).astype("float32")
    for temperature in (1e-6, 0.1, 1.0):
        loss = LOSSES[name](threshold=Argmax(temperature), from_logits=True)
        value, gradient = value_and_gradient(loss, ids, logits, w)
        assert -1e-6 <= value <= 2.01
        assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", LOSSES)
def test_nan_is_never_hidden_unless_it_does_not_count(name):
    ids, p, w = classes_batch(n=12, classes=3)
    broken = p.copy()
    broken[5, 1] = np.nan
    loss = LOSSES[name]()
    absent = np.where(np.arange(12) == 5, 0, w)
    for logits in (False, True):
        assert np.isnan(LOSSES[name](from_logits=logits)(ids, broken, w))
        kept = value_and_gradient(LOSSES[name](from_logits=logits), ids, broken, absent)
        clean = value_and_gradient(
            LOSSES[name](from_logits=logits), np.delete(ids, 5), np.delete(p, 5, 0), np.delete(w, 5)
        )
        assert kept[0] == pytest.approx(clean[0], rel=1e-5)
        np.testing.assert_allclose(np.delete(kept[1], 5, 0), clean[1], atol=1e-6)
        assert not kept[1][5].any()
    metric = metrics.SoftSetMetric(loss.evaluation.scores[0], threshold="argmax")
    metric.update_state(ids, p)
    metric.update_state(ids, broken)
    assert np.isnan(metric.result())


def test_hard_scores_of_nothing():
    ids, p, w = classes_batch(n=12, classes=3)
    for name, threshold in (("kappa", None), ("multiclass_mcc", None), ("multiclass_accuracy", None), ("f1", "argmax")):
        for y, q, v in ((ids[:0], p[:0], None), (ids, p, 0 * w)):
            assert evaluate(y, q, name, v, threshold=threshold) == 0.0
            assert evaluate(y, q, name, v, threshold=threshold, zero_division=1.0) == 1.0
            assert evaluate(y, q, name, v, threshold=threshold, zero_division="ignore") == 0.0
    assert float(metrics.Kappa().result()) == 0.0


def test_what_is_refused():
    ids, p, w = classes_batch(n=12, classes=3)
    for weight in (np.ones((12, 3)), np.ones((1, 3))):  # a sample has one weight in the c x c matrix
        for use in (SoftKappa(), metrics.MulticlassMCC(), multiclass_confusion_matrix):
            with pytest.raises(ValueError, match=r"`sample_weight` must line up .* per sample \(n,\)\. Received"):
                use(ids, p, weight)
    assert np.isfinite(SoftF1(threshold="argmax")(ids, p, np.ones((12, 3))))  # but not in one-vs-rest cells
    for weight in (-w, w * np.nan):
        with pytest.raises(ValueError, match="`sample_weight` must be finite"):
            SoftKappa()(ids, p, weight)
        data = [tf.constant(x) for x in (ids, p, weight)]
        assert np.isnan(tf.function(SoftKappa(), jit_compile=True)(*data))
        with pytest.raises(tf.errors.InvalidArgumentError, match="`sample_weight` must be finite"):
            tf.function(SoftKappa())(*data)
    with pytest.raises(ValueError, match="`y_pred` must hold probabilities"):
        SoftKappa()(ids, 10 * p)
    with pytest.raises(ValueError, match="a number for predictions of one class"):
        SoftF1(threshold="argmax")([0, 1], [0.2, 0.7])
    for use in (SoftKappa(), metrics.Kappa(), SoftMulticlassMCC(), multiclass_confusion_matrix):
        for one in ([0.2, 0.7], [[0.2], [0.7]]):
            message = r"`y_pred` must have two or more classes, .* use `confusion_matrix` .*Received: y_pred.shape=\(2,"
            with pytest.raises(ValueError, match=message):
                use([0, 1], one)
    for threshold in (0.5, [0.1, 0.2]):
        with pytest.raises(ValueError, match="'argmax' or Argmax"):
            metrics.Kappa(threshold=threshold)
    with pytest.raises(ValueError, match="must hold 3 numbers, one for each class"):
        evaluate(ids, p, threshold=Argmax(offsets=[1.0, 2.0]))
    for offsets in (1.0, [], [np.inf, 0.0], [np.nan], "ab", [[1.0]]):
        with pytest.raises(ValueError, match="`offsets` must be a sequence of finite numbers"):
            Argmax(offsets=offsets)
    for temperature in (0, -1.0, 1e-40, np.inf, "hot"):
        with pytest.raises(ValueError, match="`temperature` must be a finite number at least 1e-06"):
            Argmax(temperature)
    with pytest.raises(ValueError, match="`weights` must be one of"):
        SoftKappa(weights="cubic")
