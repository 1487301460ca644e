"""What may be passed as a number, as data and as a score; and that the rest is refused at the call, in one sentence."""

from fractions import Fraction

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_softsets import Argmax, AtRecall, PerClass, SoftF1, SoftFBeta, evaluate, metrics, tune_threshold

Y, P = [1, 1, 1, 1, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.1, 0.5]
IDS, ROWS = [0, 1, 2, 0], [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]


def test_a_rate_in_float32_is_the_number_that_was_meant():
    # 0.8 is 0.800000012 in float32, which four positives of five do not reach.
    for rate in (0.8, np.float32(0.8), np.float16(0.8), np.float32([0.8]), tf.constant(0.8), keras.Variable([0.8])):
        assert AtRecall(rate) == AtRecall(0.8)
        assert evaluate(Y, P, "precision", threshold=AtRecall(rate)) == 1.0
    tuned = tune_threshold(Y, P, "precision", at_least={"recall": np.float32(0.8)})
    assert tuned == tune_threshold(Y, P, "precision", at_least={"recall": 0.8})
    assert tuned.score == 1.0


@pytest.mark.parametrize("number", [Fraction(1, 4), np.float16(0.25), tf.constant(0.25), np.array(0.25)])
def test_numbers_of_any_type_are_thresholds(number):
    assert evaluate(Y, P, "recall", threshold=number) == 0.8
    assert PerClass([0.25]) == PerClass(number)


@pytest.mark.parametrize("rates", [None, [], [[0.9]], "0.9", True, {0.9: 1}])
def test_rates_that_are_no_numbers(rates):
    with pytest.raises(ValueError, match="`recall` must be a number or a non-empty sequence of numbers"):
        metrics.PrecisionAtRecall(rates)


def test_importances_may_be_a_tensor_and_not_a_dict():
    expected = SoftF1(average=[1, 2, 3])(IDS, ROWS)
    for average in (np.array([1, 2, 3]), tf.constant([1.0, 2.0, 3.0])):
        assert SoftF1(average=average)(IDS, ROWS) == expected
    for average in ({0: 1.0, 1: 2.0, 2: 3.0}, [0, 0, 0], [[1, 2, 3]]):  # of a dict, the keys would be taken
        with pytest.raises(ValueError, match="`average` must be a word or a sequence of the classes' importances"):
            SoftF1(average=average)


def test_the_rules_of_per_class_thresholds_offsets_and_beta():
    with pytest.raises(ValueError, match=r"`thresholds` must be a non-empty sequence of numbers in \[0, 1\]"):
        PerClass([0.2, 1.5])
    with pytest.raises(ValueError, match="`offsets` must be a sequence of finite numbers"):
        Argmax(offsets=0.5)
    with pytest.raises(ValueError, match="`beta` must be a finite number greater than 0 and at most 1e\\+12"):
        SoftFBeta(1e30)  # its square is infinite in float32
    assert np.isfinite(SoftFBeta(1e12)(Y, P))


@pytest.mark.parametrize(
    ("bad", "received"),
    [
        (["a"] * 6, "string"),
        (np.ones(6, "complex64"), "complex64"),
        (None, "NoneType"),
        (np.array([0, 1, 1, None, 0, 1], object), "ndarray of object"),
        (tf.ragged.constant([[1.0], [0.5, 0.2]]), "RaggedTensor of"),
    ],
)
def test_data_that_are_no_numbers(bad, received):
    for name, data in {"y_true": (bad, P), "y_pred": (Y, bad), "sample_weight": (Y, P, bad)}.items():
        if bad is None and name == "sample_weight":
            continue
        with pytest.raises(ValueError, match=f"`{name}` must be a dense array of numbers. Received: {received}"):
            SoftF1()(*data)


def test_predictions_that_are_all_nan_warn_of_nothing(recwarn):
    assert np.isnan(evaluate([0, 1], [np.nan, np.nan]))
    assert not [warning for warning in recwarn if "NaN" in str(warning.message)]


@pytest.mark.parametrize("bad", [metrics.F1(), SoftF1(), SoftF1])
def test_losses_and_metrics_are_no_scores(bad):
    for use in (lambda: metrics.Scores([bad]), lambda: tune_threshold(Y, P, bad), lambda: evaluate(Y, P, bad)):
        with pytest.raises(ValueError, match=r"`score` must be one of .*not a loss or a metric"):
            use()


def test_exact_scores_of_no_samples_are_those_of_0_divided_by_0():
    for settings in ({"score": "roc_auc"}, {"score": "pr_auc"}, {"score": "recall", "threshold": AtRecall(0.5)}):
        assert evaluate([], [], **settings) == 0.0
        assert evaluate([], [], **settings, zero_division=1.0) == 1.0
    np.testing.assert_array_equal(evaluate(np.zeros((0, 3)), np.zeros((0, 3)), "roc_auc", average=None), [0, 0, 0])


def test_thresholds_and_offsets_of_logits():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 100)
    z = (y + 2 * random.normal(size=100)).astype("float32")
    tuned = tune_threshold(y, z, from_logits=True)
    assert tuned == tune_threshold(y, tf.sigmoid(z).numpy())
    assert float(metrics.F1(threshold=tuned.threshold, from_logits=True)(y, z)) == pytest.approx(tuned.score)
    ids = random.integers(0, 3, 100)
    rows = (2 * np.eye(3)[ids] + random.normal(size=(100, 3)) * [1, 4, 1]).astype("float32")
    for name in ("f1", "kappa"):
        tuned = tune_threshold(ids, rows, name, decision="argmax", from_logits=True)
        found = evaluate(ids, rows, name, threshold=tuned.threshold, from_logits=True)
        assert tuned.score == found > evaluate(ids, rows, name, threshold="argmax", from_logits=True)
        with pytest.raises(ValueError, match="`y_pred` must hold probabilities; for logits pass from_logits=True"):
            tune_threshold(ids, rows, name, decision="argmax")
        with pytest.raises(ValueError, match=r"`y_pred` must hold numbers\. Received: values from .* to inf"):
            tune_threshold(ids, np.where(rows > 4, np.inf, rows), name, decision="argmax", from_logits=True)
