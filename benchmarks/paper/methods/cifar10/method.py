"""Trains Tiny Darknet on CIFAR-10, one trial after the other: Adam 1e-4, batches of 128, as in the supplement.

On a GPU the full protocol runs: early stopping on the validation loss, 100 epochs of patience. On a CPU a trial gets
`MINUTES_ON_CPU` of processor time; the page of results shows the epochs that this was enough for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import keras
import tensorflow as tf

from benchmarks.paper.methods import evaluation, objectives
from benchmarks.paper.methods.cifar10 import training
from benchmarks.paper.methods.cifar10.callbacks import StopAtTime, ValidateWhole
from benchmarks.paper.methods.protocol import Job
from benchmarks.paper.records.store import Line
from keras_softsets.datasets import Splits

PATIENCE = 100
MOST_EPOCHS = 1000
MINUTES_ON_CPU = 15.0  # ten rows of one trial take 75 minutes on two idle cores


def train(job: Job) -> Iterator[list[Line]]:
    """Yields the lines of one trial after the other."""
    loss = job.configuration.loss
    for seed in job.seeds:
        splits = training.load(job.configuration.dataset, seed, job.raw_dir)
        model = training.untrained(loss, seed)
        progress = _fit(model, splits, seed)
        outputs = training.outputs(model, splits)
        yield evaluation.lines(progress, objectives.readings(loss), *outputs)


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
