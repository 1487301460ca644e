"""Mistakes that people make in their first `fit`: a sentence where the step is a graph, and no harm where it is not."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_softsets import (
    BlendedLoss,
    GuidedCrossentropy,
    SoftF1,
    SoftKappa,
    SoftPrecisionAtRecall,
    SoftRecallAtPrecision,
    loss_for,
    metrics,
)

X = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
POSITIVE = X[:, 0] > 0


def model_of(units=1, activation="sigmoid", scale=1.0):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units, activation=activation)])
    kernel = scale * np.random.default_rng(1).normal(size=(4, units))
    model.set_weights([kernel, np.zeros(units)])
    return model


SIGMOID, SOFTMAX, LOGITS = {}, {"units": 3, "activation": "softmax"}, {"activation": None, "scale": 20.0}
MISTAKES = {
    "labels of -1 and 1": (
        np.where(POSITIVE, 1, -1),
        SIGMOID,
        SoftF1(),
        r"`y_true` must be in \[0, 1\].*\[-1\] \[to\] \[1\]",
    ),
    "labels of 1 and 2": (POSITIVE + 1, SIGMOID, SoftF1(), r"`y_true` must be in \[0, 1\].*\[1\] \[to\] \[2\]"),
    "masks of 0 and 255": (255 * POSITIVE, SIGMOID, SoftF1(), r"`y_true` must be in \[0, 1\].*\[255\]"),
    "class ids on one sigmoid": (np.arange(64) % 4, SIGMOID, SoftF1(), r"`y_true` must be in \[0, 1\]"),
    "ids beyond the outputs": (
        np.arange(64) % 4,
        SOFTMAX,
        SoftF1(threshold="argmax"),
        "class ids, these must be below the number",
    ),
    "ids beyond the outputs of kappa": (
        np.arange(64) % 4,
        SOFTMAX,
        SoftKappa(),
        "class ids, these must be below the number",
    ),
    "logits": (POSITIVE, LOGITS, SoftF1(), "`y_pred` must hold probabilities; for logits pass from_logits=True"),
    "logits of classes": (np.arange(64) % 3, LOGITS | {"units": 3}, SoftKappa(), "`y_pred` must hold probabilities"),
    "logits at an operating point": (POSITIVE, LOGITS, SoftPrecisionAtRecall(0.9), "`y_pred` must hold probabilities"),
    "logits at a precision": (POSITIVE, LOGITS, SoftRecallAtPrecision(0.9), "`y_pred` must hold probabilities"),
    "the recommended loss": (POSITIVE + 1, SIGMOID, loss_for(), r"`y_true` must be in \[0, 1\]"),
    "ids beyond the outputs of guided cross-entropy": (
        np.arange(64) % 4,
        SOFTMAX,
        GuidedCrossentropy("kappa"),
        "class ids, these must be below the number",
    ),
    "sets": (POSITIVE + 1, SIGMOID, SoftF1(per_sample=True), r"`y_true` must be in \[0, 1\]"),
    "missing labels": (np.where(POSITIVE, 1, np.nan), SIGMOID, SoftF1(), r"`y_true` must be in \[0, 1\]"),
    "a blend": (
        POSITIVE + 1,
        SIGMOID,
        BlendedLoss({"f1": SoftF1(), "mse": keras.losses.MeanSquaredError()}),
        "`y_true`",
    ),
}


def check_unchanged(name, before, model):
    """Valid sets, and the other part of a blend, still move the weights a little."""
    tolerance = 0.01 if name in ("sets", "a blend") else 0
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_allclose(old, new, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", MISTAKES)
def test_fit_says_what_is_wrong(name):
    labels, head, loss, message = MISTAKES[name]
    model = model_of(**head)
    model.compile("sgd", loss=loss, jit_compile=False)
    before = model.get_weights()
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        model.fit(X, labels, batch_size=64, verbose=0)
    check_unchanged(name, before, model)


@pytest.mark.parametrize(
    "name",
    [
        "labels of -1 and 1",
        "ids beyond the outputs of kappa",
        "logits at an operating point",
        "logits at a precision",
        "the recommended loss",
        "sets",
        # The same sums as above; that each of these is noticed, the test before shows.
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("logits", "logits of classes", "missing labels")),
    ],
)
def test_a_compiled_step_is_nan_but_leaves_the_weights_alone(name):
    labels, head, loss, _ = MISTAKES[name]
    model = model_of(**head)
    model.compile("sgd", loss=loss, jit_compile=True)
    before = model.get_weights()
    assert np.isnan(model.fit(X, labels, batch_size=64, verbose=0).history["loss"]).all()
    check_unchanged(name, before, model)


def test_a_metric_shows_nan_but_does_not_stop_a_training_whose_loss_is_right():
    model = model_of()
    model.compile("sgd", loss=SoftF1(), metrics=[metrics.F1(), metrics.AUROC()], jit_compile=False)
    labels = np.where(POSITIVE, 255, 0)  # Keras passes weights to `weighted_metrics` only
    history = model.fit(X, labels, sample_weight=np.where(POSITIVE, 0.0, 1.0), verbose=0).history
    assert np.isfinite(history["loss"]).all()
    assert np.isnan(history["f1"] + history["auroc"]).all()


@pytest.mark.parametrize("per_sample", [False, True])
def test_negative_weights_are_named(per_sample):
    model = model_of()
    model.compile("sgd", loss=SoftF1(per_sample=per_sample), jit_compile=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"`sample_weight` must be finite and non-negative"):
        model.fit(X, POSITIVE, sample_weight=-np.ones(64), batch_size=64, verbose=0)


def test_what_does_not_count_and_a_diverged_model_are_not_mistakes():
    model = model_of()
    model.compile("sgd", loss=SoftF1(), weighted_metrics=[metrics.F1()], jit_compile=False)
    labels, weights = np.where(POSITIVE, 1, -1), np.where(POSITIVE, 1.0, 0.0)
    expected = SoftF1()(np.ones(POSITIVE.sum()), model.predict(X[POSITIVE], verbose=0))
    loss = model.fit(X, labels, batch_size=64, sample_weight=weights, verbose=0).history["loss"]
    np.testing.assert_allclose(loss, [expected], rtol=1e-5)
    model.set_weights([np.full((4, 1), np.nan), np.zeros(1)])
    assert np.isnan(model.fit(X, POSITIVE, verbose=0).history["loss"]).all()
