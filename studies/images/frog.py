"""Networks on CIFAR-10-Frog, epoch by epoch, written as a user would: Keras losses, `BlendSchedule` and `fit`.

A trial that was killed resumes after its last complete epoch: the order of the images and the weights of a blend depend
on the epoch alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

import keras_softsets as kss
from keras_softsets import models
from keras_softsets.datasets import Splits
from studies.harness.store import Line, Store
from studies.harness.study import Job
from studies.images import by_epoch, training

DATA, BATCH_SIZE = "cifar10_frog", 128
SCHEDULED_EPOCHS = 3


class Method(NamedTuple):
    """The loss, what is done to the data, and whether the score's weight grows with the epochs."""

    label: str
    loss: Callable[[], keras.losses.Loss]
    balance: str = "none"
    scheduled: bool = False


def small_cnn() -> keras.Model:
    """Returns four convolutions and two dense layers, with one logit."""
    inputs = x = keras.Input((32, 32, 3), name="image")
    for filters in ((32, 32), (64, 64)):
        for number in filters:
            x = keras.layers.Conv2D(number, 3, padding="same", activation="relu")(x)
        x = keras.layers.Dropout(0.25)(keras.layers.MaxPooling2D(2)(x))
    x = keras.layers.Dense(128, activation="relu")(keras.layers.Flatten()(x))
    return keras.Model(inputs, keras.layers.Dense(1, name="logits")(keras.layers.Dropout(0.5)(x)), name="small_cnn")


def tiny_darknet() -> keras.Model:
    """Returns the paper's network, with one logit."""
    return models.tiny_darknet(logits=True)


VARIANTS = {"small_cnn": (small_cnn, 1e-3), "tiny_darknet": (tiny_darknet, 1e-4)}


def train(
    job: Job,
    network: str,
    methods: Mapping[str, Method],
    tested: Callable[[keras.Model, Splits], Line],
) -> Iterator[Line]:
    """Yields a row for each epoch that is missing; `tested` says what is written down after each."""
    name = job.key["method"]
    method = methods[name]
    for trial in job.trials:
        splits = training.load(DATA, trial, job.raw_dir)
        data, model = balanced(splits.train, method.balance, trial), _compiled(network, method, trial)

        def fit(epoch: int, model=model, data=data, trial=trial) -> Line:
            _seed_dropout(model, trial, epoch)
            _fit_epoch(model, method, epoch, batches(data, trial, epoch))
            return {}

        rows = by_epoch.train(
            model,
            job.scratch / f"{network}-{name}-trial{trial}.weights.h5",
            [line for line in job.done if line["trial"] == trial],
            job.epochs,
            -(-len(data[1]) // BATCH_SIZE),
            fit,
            lambda model=model, splits=splits: tested(model, splits),
        )
        yield from ({"trial": trial, **row} for row in rows)


def finished(store: Store, epochs: int, **key: str) -> dict[int, list[Line]]:
    """Returns the rows of the trials that have all their epochs."""
    trials: dict[int, list[Line]] = {}
    for line in store.grouped(*key).get(tuple(key.values()), []):
        trials.setdefault(line["trial"], []).append(line)
    return {trial: lines for trial, lines in sorted(trials.items()) if len(lines) == epochs}


def _compiled(network: str, method: Method, trial: int) -> keras.Model:
    keras.utils.set_random_seed(trial)
    build, rate = VARIANTS[network]
    model = build()
    model.compile(keras.optimizers.Adam(rate), method.loss())
    return model


def _seed_dropout(model: keras.Model, trial: int, epoch: int) -> None:
    """Makes dropout depend on trial and epoch alone: a weights file does not restore the state of its seeds."""
    for number, layer in enumerate(model.layers):
        if isinstance(layer, keras.layers.Dropout):
            layer.seed_generator.state.assign([1000 * trial + epoch, number])


def balanced(part: tuple[np.ndarray, np.ndarray], balance: str, trial: int) -> tuple[np.ndarray, ...]:
    """Returns images, labels and weights, by the same rules as the tabular data."""
    images, labels = part[0], np.asarray(part[1], "float32")
    weights, share = np.ones_like(labels), labels.mean()
    if balance == "weighted":
        weights = training.class_weights(labels, share)
    if balance == "oversampled":
        missing = int(len(labels) - 2 * labels.sum())
        more = np.random.default_rng([trial, 1]).choice(np.flatnonzero(labels), missing)
        rows = np.concatenate([np.arange(len(labels)), more])
        images, labels, weights = images[rows], labels[rows], weights[rows]
    return images, labels, weights


def batches(data: tuple[np.ndarray, ...], trial: int, epoch: int) -> tf.data.Dataset:
    """Returns images, labels and weights, ordered by trial and epoch; with arrays, `fit` would wait for a tuner."""
    order = np.random.default_rng([trial, epoch]).permutation(len(data[1]))
    untuned = tf.data.Options()
    untuned.autotune.enabled = False
    rows = tf.data.Dataset.from_tensor_slices(order).batch(BATCH_SIZE)
    arrays = [tf.constant(array) for array in data]
    return rows.map(lambda index: tuple(tf.gather(array, index) for array in arrays)).with_options(untuned)


def _fit_epoch(model: keras.Model, method: Method, epoch: int, data: tf.data.Dataset) -> None:
    callbacks = []
    if method.scheduled:
        start, end = {"score": 0.0, "bce": 1.0}, {"score": 1.0, "bce": 1.0}
        callbacks = [kss.BlendSchedule(model.loss, start, end, epochs=SCHEDULED_EPOCHS)]
    model.fit(data, initial_epoch=epoch, epochs=epoch + 1, shuffle=False, verbose=0, callbacks=callbacks)
