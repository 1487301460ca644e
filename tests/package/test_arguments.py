"""What may be passed as a number, as data and as a score; and that the rest is refused at the call, in one sentence."""

import inspect
import warnings
from fractions import Fraction

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from sklearn import metrics as sk

from keras_softsets import (
    Argmax,
    AtRecall,
    BlendedLoss,
    GuidedCrossentropy,
    LinearHeaviside,
    PerClass,
    SoftAUPRC,
    SoftF1,
    SoftFBeta,
    SoftRecall,
    SoftSensitivityAtSpecificity,
    WindowedEarlyStopping,
    calibration,
    confusion_matrix,
    evaluate,
    export_classifier,
    losses,
    metrics,
    models,
    multiclass_confusion_matrix,
    plots,
    scores,
    tune_threshold,
)

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
        with pytest.raises(ValueError, match="`average` must be 'macro'"):
            SoftF1(average=average)


def test_the_rules_of_per_class_thresholds_offsets_and_beta():
    with pytest.raises(ValueError, match=r"`thresholds` must be a non-empty sequence of numbers in \[0, 1\]"):
        PerClass([0.2, 1.5])
    with pytest.raises(ValueError, match="`offsets` must be a sequence of finite numbers"):
        Argmax(offsets=0.5)
    with pytest.raises(ValueError, match="`beta` must be a finite number greater than 0 and at most 1e\\+12"):
        SoftFBeta(1e30)  # its square is infinite in float32
    np.testing.assert_allclose(SoftFBeta(1e12)(Y, P), SoftRecall()(Y, P), rtol=1e-5)


@pytest.mark.parametrize(
    ("bad", "received"),
    [
        (["a"] * 6, "string"),
        (np.ones(6, "complex64"), "complex64"),
        (None, "NoneType"),
        (np.array([0, 1, 1, None, 0, 1], object), "ndarray of object"),
        (tf.ragged.constant([[1.0], [0.5, 0.2]]), "RaggedTensor of"),
        ([[1.0], [0.5, 0.2]], "list"),
        ([0, 1, 1, 10**400, 0, 1], "list"),
        (np.ma.array(P, mask=[0, 0, 0, 0, 0, 1]), "MaskedArray of float64"),  # what is hidden must not count
    ],
)
def test_data_that_are_no_numbers(bad, received):
    uses = (
        SoftF1(),
        lambda y, p, *w: evaluate(y, p, "f1", *w, interval=0.9),
        lambda y, p, *w: tune_threshold(y, p, "f1", *w),
    )
    for name, data in {"y_true": (bad, P), "y_pred": (Y, bad), "sample_weight": (Y, P, bad)}.items():
        if bad is None and name == "sample_weight":
            continue
        for use in uses:
            with pytest.raises(ValueError, match=f"`{name}` must be a dense array of numbers. Received: {received}"):
                use(*data)


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
    for per_sample in (False, True):
        assert evaluate([], [], interval=0.9, per_sample=per_sample).method == "undefined"
    blend = BlendedLoss([SoftF1(), "binary_crossentropy"])
    assert float(blend(np.zeros((0, 1)), np.zeros((0, 1)))) == float(SoftF1()(np.zeros((0, 1)), np.zeros((0, 1))))
    with pytest.raises(ValueError, match=r"`y_pred` must have a known number of classes, .*Received: 0"):
        metrics.AUROC()(np.zeros((5, 0)), np.zeros((5, 0)))


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


def test_the_average_over_samples_is_scikit_learns(rng):
    y, p = (rng.random((30, 4)) < 0.4).astype(int), rng.random((30, 4)).astype("float32")
    expected = sk.f1_score(y, p >= 0.5, average="samples", zero_division=0.0)
    assert evaluate(y, p, average="samples") == pytest.approx(expected)
    assert float(metrics.F1(average="samples")(y, p)) == pytest.approx(expected)
    assert float(SoftF1(average="samples")(y, p)) == float(SoftF1(average="micro", per_sample=True)(y, p))


def test_two_columns_of_predict_proba_get_a_hint_and_still_their_thresholds(rng):
    y, p = rng.integers(0, 2, 40), rng.random(40)
    both = np.stack([1 - p, p], 1)
    with pytest.warns(UserWarning, match=r"pass `y_pred\[:, 1\]`"):
        assert len(tune_threshold(y, both).threshold) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tune_threshold(np.eye(2)[y], both)
        tune_threshold(y, both[:, 1])
        tune_threshold(y, both, decision="argmax")


def test_labels_and_predictions_that_are_certainly_swapped(rng):
    y, p = rng.integers(0, 2, 40), rng.uniform(0.01, 0.99, 40)
    for labels in (y, y.astype("float32"), y.astype(bool), list(y)):
        evaluate(labels, p)
        with pytest.raises(ValueError, match="they seem to be swapped"):
            evaluate(p, labels)
    for use in (tune_threshold, calibration.calibration_error):
        with pytest.raises(ValueError, match="they seem to be swapped"):
            use(p, y)
    for outputs in (p[:, None], ops.convert_to_tensor(p[:, None])):  # as `model.predict` and `model` return them
        with pytest.raises(ValueError, match="they seem to be swapped"):
            evaluate(outputs, y)
    evaluate(np.where(y == 1, 0.95, 0.05), y)  # smoothed labels and decisions
    evaluate(p, p)


HUGE = 10**400  # an integer that no float holds


@pytest.mark.parametrize(
    ("name", "use"),
    {
        "threshold": lambda x: SoftF1(threshold=x),
        "thresholds": lambda x: PerClass([0.5, x]),
        "average": lambda x: evaluate(IDS, ROWS, average=[1, 1, x]),
        "temperature": lambda x: Argmax(temperature=x),
        "costs": lambda x: Argmax(costs=[[0, x], [1, 0]]),
        "window": lambda x: GuidedCrossentropy(window=x),
        "resamples": lambda x: evaluate(IDS, ROWS, interval=0.9, resamples=x),
        "bins": lambda x: calibration.calibration_error([0, 1], [0.2, 0.7], bins=x),
        "offsets": lambda x: Argmax(offsets=[0, x]),
        "recall": AtRecall,
        "specificity": lambda x: SoftSensitivityAtSpecificity([0.5, x]),
        r"weights\['f1'\]": lambda x: BlendedLoss({"f1": SoftF1()}, weights={"f1": x}),
        "at_least": lambda x: tune_threshold(Y, P, at_least={"recall": x}),
        "alpha": lambda x: metrics.Tversky(alpha=x),
        "beta": SoftFBeta,
        "min_delta": lambda x: WindowedEarlyStopping(min_delta=x),
        "zero_division": lambda x: SoftF1(zero_division=x),
        "ignore_class": lambda x: SoftF1(ignore_class=x),
    }.items(),
)
@pytest.mark.parametrize("number", [HUGE, -HUGE, Fraction(HUGE, 3)], ids=["huge", "-huge", "fraction"])
def test_numbers_beyond_a_float_are_refused_without_all_their_digits(name, use, number):
    with pytest.raises(ValueError, match=f"^`{name}.*` must ") as error:
        use(number)
    assert len(str(error.value)) < 300


def test_numbers_that_python_cannot_write_are_refused_by_name():
    for use in (lambda x: SoftF1(threshold=x), AtRecall, lambda x: Argmax(offsets=[0, x]), Argmax):
        with pytest.raises(ValueError, match=r"^`\w+` must .*Received: \w+=a value of type"):
            use(10**5000)  # more than 4,300 digits


def test_an_approximation_refuses_thresholds_beyond_a_float():
    for threshold in (HUGE, [0.5, HUGE]):
        with pytest.raises(ValueError, match=r"`threshold` must be inside \(0, 1\)"):
            LinearHeaviside()(0.5, threshold)


def test_the_bounds_of_a_number_are_those_that_hold():
    for make in (SoftAUPRC, metrics.AUPRC):
        for refused in (1, 1.5, -0.1):
            with pytest.raises(ValueError, match="`min_recall` must be a finite number at least 0 and less than 1"):
                make(min_recall=refused)
        assert np.isfinite(make(min_recall=np.nextafter(1, 0))(Y, P))
    with pytest.raises(ValueError, match=r"`at_least.*` must be a finite number\. Received"):
        tune_threshold(Y, P, at_least={"recall": np.nan})


def test_zero_division_that_is_no_single_number():
    for value in (np.array([0, 1]), np.array([0.0]), [0, 1], None, 0.5):
        with pytest.raises(ValueError, match=r"`zero_division` must be 0\.0, 1\.0 or 'ignore'"):
            SoftF1(zero_division=value)
    assert SoftF1(zero_division=np.float32(1)).evaluation.zero_division == 1.0
    assert SoftF1(zero_division=np.array(1)).evaluation.zero_division == 1.0


@pytest.mark.parametrize("several", [3, None, "f1", [], {}, scores.f1])
def test_several_scores_are_a_sequence_or_a_mapping(several):
    with pytest.raises(ValueError, match="`scores` must be a non-empty sequence or mapping of scores"):
        metrics.Scores(several)


def test_a_dict_among_several_scores_is_shown():
    with pytest.raises(ValueError, match=r"Received: score={'f1': 1}"):
        metrics.Scores([{"f1": 1}])


def small_model():
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, "sigmoid")])


FLAGS = {
    "loss": ("from_logits", lambda flag: SoftF1(from_logits=flag)),
    "loss per sample": ("per_sample", lambda flag: SoftF1(per_sample=flag)),
    "metric": ("from_logits", lambda flag: metrics.F1(from_logits=flag)),
    "metric per sample": ("per_sample", lambda flag: metrics.Scores(["f1"], per_sample=flag)),
    "cells": ("from_logits", lambda flag: metrics.Confusion(from_logits=flag)),
    "matrix": ("from_logits", lambda flag: metrics.MulticlassConfusion(from_logits=flag)),
    "evaluate": ("from_logits", lambda flag: evaluate(Y, P, from_logits=flag)),
    "evaluate per sample": ("per_sample", lambda flag: evaluate(Y, P, per_sample=flag)),
    "confusion_matrix": ("from_logits", lambda flag: confusion_matrix(Y, P, from_logits=flag)),
    "multiclass": ("from_logits", lambda flag: multiclass_confusion_matrix(IDS, ROWS, from_logits=flag)),
    "tune_threshold": ("from_logits", lambda flag: tune_threshold(Y, P, from_logits=flag)),
    "offsets": ("from_logits", lambda flag: tune_threshold(IDS, ROWS, decision="argmax", from_logits=flag)),
    "curve": ("curve", lambda flag: tune_threshold(Y, P, curve=flag)),
    "heatmap": ("from_logits", lambda flag: plots.confusion_heatmap(IDS, ROWS, from_logits=flag)),
    "histogram": ("histogram", lambda flag: plots.score_against_threshold(Y, P, histogram=flag)),
    "mlp": ("logits", lambda flag: models.mlp(2, logits=flag)),
    "stopping": ("restore_best_weights", lambda flag: WindowedEarlyStopping(restore_best_weights=flag)),
}


@pytest.mark.parametrize("use", FLAGS)
def test_words_are_no_flags(use):
    name, call = FLAGS[use]
    for flag in ("False", "no", "", None, 2, 0.0, [True]):
        with pytest.raises(ValueError, match=f"`{name}` must be True or False. Received: {name}="):
            call(flag)
    for flag in (True, False, np.True_, np.bool_(0), 0, 1, np.int64(1)):
        call(flag)


def test_an_exported_model_is_not_given_a_sigmoid_by_a_word(tmp_path):
    with pytest.raises(ValueError, match=r"`from_logits` must be True or False\. Received: from_logits='False'"):
        export_classifier(small_model(), tmp_path / "new", from_logits="False")
    assert not (tmp_path / "new").exists()


def test_flags_are_saved_as_plain_bools():
    for flag in (np.True_, 1, np.int32(1)):
        config = SoftF1(from_logits=flag, per_sample=flag).get_config()
        assert config["from_logits"] is config["per_sample"] is True


WITHOUT_POSITIONAL = [
    kind
    for module in (losses, metrics)
    for kind in vars(module).values()
    if isinstance(kind, type)
    and issubclass(kind, (losses.NamedLoss, metrics.NamedMetric))
    and hasattr(kind, "score_name")
    if not [p for p in inspect.signature(kind).parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD]
]


@pytest.mark.parametrize("kind", WITHOUT_POSITIONAL)
def test_an_argument_without_its_name_is_explained(kind):
    for value in ("argmax", 0.3, AtRecall(0.5), [0.2, 0.4]):
        with pytest.raises(TypeError) as error:
            kind(value)
        assert str(error.value) == (
            f"{kind.__name__} takes no arguments without a name; write {kind.__name__}(threshold={value!r}). "
            f"Received: {value!r}"
        )
    with pytest.raises(TypeError, match=f"^{kind.__name__} takes no arguments without a name; name them all. Received"):
        kind("macro", 0.3)


def test_most_named_losses_and_metrics_have_no_positional_arguments():
    assert {SoftF1, metrics.F1, metrics.MulticlassMCC} <= set(WITHOUT_POSITIONAL)
    assert len(WITHOUT_POSITIONAL) == 22
