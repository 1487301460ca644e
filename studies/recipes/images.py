"""The same methods on CIFAR-10-Frog; `report` picks the epoch of each trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras

import keras_softsets as kss
from keras_softsets.datasets import Splits
from keras_softsets.losses import PAPER_THRESHOLDS
from studies.engine.evaluation import columns
from studies.harness.store import Line
from studies.harness.study import Job, Study, product
from studies.images import frog, training
from studies.images.frog import Method

TRIALS = 3
VARIANTS = frog.VARIANTS


def _bce() -> keras.losses.Loss:
    return keras.losses.BinaryCrossentropy(from_logits=True)


def _soft(kind: Callable[..., Any] = kss.SoftF1, **options: Any) -> Callable[[], keras.losses.Loss]:
    return lambda: kind(from_logits=True, **options)


def _blend(bce: float, score: Callable[[], keras.losses.Loss]) -> Callable[[], keras.losses.Loss]:
    return lambda: kss.BlendedLoss({"score": score(), "bce": _bce()}, {"score": 1.0, "bce": bce})


class _DiceOfLogits(keras.losses.Loss):
    """`keras.losses.Dice`, which has no `from_logits`. Its function needs labels in the shape of the predictions."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return keras.losses.dice(keras.ops.reshape(y_true, keras.ops.shape(y_pred)), keras.ops.sigmoid(y_pred))


METHODS = {
    "bce": Method("BCE", _bce),
    "bce_weighted": Method("balanced BCE", _bce, "weighted"),
    "bce_oversampled": Method("BCE, oversampled", _bce, "oversampled"),
    "focal": Method("BinaryFocalCrossentropy", lambda: keras.losses.BinaryFocalCrossentropy(from_logits=True)),
    "dice": Method("Keras Dice", _DiceOfLogits),
    "f1": Method("SoftF1", _soft()),
    "f1_nine": Method("SoftF1, nine thresholds", _soft(threshold=PAPER_THRESHOLDS)),
    "f1_sigmoid": Method("SoftF1, sigmoid", _soft(heaviside="sigmoid")),
    "f1_bce_0.3": Method("SoftF1 + 0.3 BCE", _blend(0.3, _soft())),
    "f1_bce_1": Method("SoftF1 + BCE", _blend(1.0, _soft())),
    "f1_bce_3": Method("SoftF1 + 3 BCE", _blend(3.0, _soft())),
    "f1_nine_bce_0.3": Method("SoftF1, nine thresholds + 0.3 BCE", _blend(0.3, _soft(threshold=PAPER_THRESHOLDS))),
    "f1_bce_scheduled": Method("SoftF1 + BCE, scheduled", _blend(1.0, _soft()), scheduled=True),
    "auroc_bce_1": Method("SoftAUROC + BCE", _blend(1.0, _soft(kss.SoftAUROC))),
}


def tested(model: keras.Model, splits: Splits) -> dict[str, float]:
    """Returns the columns of the test part, and the best F1 of the validation part, which picks the epoch."""
    validation, test = training.outputs(model, splits)
    labels, logits = validation
    best = kss.tune_threshold(labels, keras.ops.convert_to_numpy(keras.ops.sigmoid(logits))).score
    return {"validation_f1": float(best), **columns(validation, test)}


def _train(job: Job) -> Iterator[Line]:
    return frog.train(job, job.key["network"], METHODS, tested)


STUDY = Study(
    "recipes_images",
    "which loss when, on CIFAR-10-Frog with two networks",
    ("network", "method", "trial", "epoch"),
    product(network=VARIANTS, method=METHODS),
    _train,
    trials=TRIALS,
    epochs=8,
    minutes=12.0,
)
