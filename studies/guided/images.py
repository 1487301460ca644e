"""Guided losses on CIFAR-10-Frog, a row after every epoch; the report picks the epoch of each trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import keras
import numpy as np

import keras_softsets as kss
from keras_softsets.datasets import Splits
from studies.guided import tables
from studies.harness.store import Line
from studies.harness.study import Job, Study
from studies.images import frog, training
from studies.images.frog import Method

NETWORK, EPOCHS, TRIALS = "small_cnn", 20, 3


def _bce() -> keras.losses.Loss:
    return keras.losses.BinaryCrossentropy(from_logits=True)


def _f1_bce() -> keras.losses.Loss:
    return kss.BlendedLoss({"score": kss.SoftF1(from_logits=True), "bce": _bce()})


METHODS = {
    "bce": Method("BCE", _bce),
    "guided": Method("guided", lambda: kss.GuidedCrossentropy(from_logits=True)),
    "f1_guided_1": Method("SoftF1 + guided", lambda: kss.loss_for(from_logits=True)),
    "f1_bce_1": Method("SoftF1 + BCE", _f1_bce),
}


def _tested(loss: Callable[[], keras.losses.Loss]) -> Callable[[keras.Model, Splits], Line]:
    def tested(model: keras.Model, splits: Splits) -> Line:
        validation, test = training.outputs(model, splits)
        labels, logits = (np.asarray(x, "float32")[:, None] for x in validation)
        return {"validation_loss": float(loss()(labels, logits)), **tables.columns(validation, test)}

    return tested


def _train(job: Job) -> Iterator[Line]:
    return frog.train(job, NETWORK, METHODS, _tested(METHODS[job.key["method"]].loss))


STUDY = Study(
    "guided_images",
    "cross-entropy guided by F1 on CIFAR-10-Frog, a small CNN until cross-entropy has converged",
    ("method", "trial", "epoch"),
    [{"method": name} for name in METHODS],
    _train,
    trials=TRIALS,
    epochs=EPOCHS,
    minutes=25.0,
)
