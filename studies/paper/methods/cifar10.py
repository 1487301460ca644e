"""Trains Tiny Darknet on CIFAR-10, one trial after the other: Adam 1e-4, batches of 128, as in the supplement.

On a GPU the full protocol runs: early stopping on the validation loss, 100 epochs of patience. On a CPU a trial gets
`MINUTES_ON_CPU` of processor time; the page of results shows the epochs that this was enough for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import keras
import tensorflow as tf

import keras_softsets as kss
from keras_softsets.datasets import Splits
from studies.engine import evaluation
from studies.harness.store import Line
from studies.harness.study import Job
from studies.images import training
from studies.images.training import StopAtTime, ValidateWhole
from studies.paper.methods import objectives

LEARNING_RATE = 1e-4


class OneTrial(keras.losses.Loss):
    """An objective of the stacked engine as a Keras loss: one trial, no weights."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, reduction="sum")
        self.objective = objectives.OBJECTIVES[name]

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        labels = tf.reshape(tf.cast(y_true, tf.float32), tf.shape(y_pred))
        return self.objective(labels, y_pred, tf.ones_like(y_pred))


def untrained(loss: str, seed: int, network: str = "tiny_darknet") -> keras.Model:
    """Returns a network, compiled: the same initial weights for all losses."""
    keras.utils.set_random_seed(seed)
    model = training.BUILDERS[network]()
    model.compile(keras.optimizers.Adam(LEARNING_RATE), _loss(loss))
    return model


def _loss(name: str) -> keras.losses.Loss:
    named = {"f1_linear": kss.SoftF1, "accuracy_linear": kss.SoftAccuracy, "bce": keras.losses.BinaryCrossentropy}
    return named[name](from_logits=True) if name in named else OneTrial(name)


PATIENCE = 100
MOST_EPOCHS = 1000
MINUTES_ON_CPU = 15.0  # ten rows of one trial take 75 minutes on two idle cores


def train(job: Job) -> Iterator[Line]:
    """Yields the lines of one trial after the other."""
    loss = job.key["loss"]
    for seed in job.trials:
        splits = training.load(job.key["data"], seed, job.raw_dir)
        model = untrained(loss, seed)
        progress = _fit(model, splits, seed)
        outputs = training.outputs(model, splits)
        yield from evaluation.lines(progress, objectives.readings(loss), *outputs)


def _fit(model: keras.Model, splits: Splits, seed: int) -> evaluation.Progress:
    """Trains the model until it stops improving or its time is used up, and restores its best weights."""
    started = time.process_time()
    stopping = keras.callbacks.EarlyStopping("whole_val_loss", patience=PATIENCE, mode="min", restore_best_weights=True)
    clock = StopAtTime(float("inf") if tf.config.list_physical_devices("GPU") else started + 60 * MINUTES_ON_CPU)
    callbacks = [ValidateWhole(splits.validation, model.loss), stopping, clock]
    model.fit(training.batches(splits.train), epochs=MOST_EPOCHS, shuffle=False, verbose=2, callbacks=callbacks)
    return evaluation.Progress(
        trial=seed,
        best_epoch=stopping.best_epoch + 1,
        epochs=clock.batches * training.BATCH_SIZE / len(splits.train[1]),
        validation_loss=float(stopping.best),
        seconds=time.process_time() - started,
    )
