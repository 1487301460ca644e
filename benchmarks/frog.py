"""Networks on CIFAR-10-Frog, epoch by epoch, written as a user would: Keras losses, `BlendSchedule` and `fit`.

There is one file for each trial, with one line for each epoch. A trial that was killed resumes after its last complete
epoch: the order of the images and the weights of a blend depend on the epoch alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

import keras_softsets as kss
from benchmarks.paper.methods.cifar10 import training
from benchmarks.paper.records.store import Line, read_lines, write_lines
from keras_softsets import models
from keras_softsets.datasets import Splits

DATA, BATCH_SIZE = "cifar10_frog", 128
SCHEDULED_EPOCHS = 3
MINUTES_PER_EPOCH = {"small_cnn": 1.0, "tiny_darknet": 2.0}  # on two cores; used only until there are lines on disk


class Method(NamedTuple):
    """The loss, what is done to the data, and whether the score's weight grows with the epochs."""

    label: str
    loss: Callable[[], keras.losses.Loss]
    balance: str = "none"
    scheduled: bool = False


class Study(NamedTuple):
    """What is trained, for how long, and what is written down after each epoch."""

    methods: Mapping[str, Method]
    epochs: int
    tested: Callable[[keras.Model, Splits], dict[str, float]]


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


def run(
    study: Study,
    methods: list[str],
    networks: list[str],
    trials: int,
    raw_dir: str | None,
    folder: Path,
    *,
    list_only: bool,
) -> None:
    """Trains the missing trials, seed by seed: all methods get the first seed before any gets the second."""
    wanted = [(network, name, trial) for network in networks for trial in range(trials) for name in methods]
    left = [each for each in wanted if len(read_lines(folder / path(*each))) < study.epochs]
    minutes = [_minutes(study, *each, folder) for each in left]
    for each, about in zip(left, minutes, strict=True):
        print(f"about {about:5.1f} min  {path(*each)}", flush=True)
    print(f"{len(left)} trials, about {sum(minutes) / 60:.1f} hours", flush=True)
    for number, (network, name, trial) in enumerate([] if list_only else left, 1):
        print(f"[{number}/{len(left)}] {path(network, name, trial)}", flush=True)
        train(study, network, name, trial, training.load(DATA, trial, raw_dir), folder)


def path(network: str, name: str, trial: int) -> str:
    """Returns the file of a trial, relative to the folder of results."""
    return f"{DATA}-{network}/{name}-trial{trial}.csv"


def finished(study: Study, network: str, name: str, folder: Path) -> list[Path]:
    """Returns the files of the trials that have all their epochs."""
    files = sorted(folder.glob(path(network, name, 0).replace("trial0", "trial*")))
    return [file for file in files if len(read_lines(file)) == study.epochs]


def _minutes(study: Study, network: str, name: str, trial: int, folder: Path) -> float:
    """Returns how long the rest of a trial takes, by the epochs of that network that are on disk."""
    seconds = [float(line["seconds"]) for file in folder.glob(f"{DATA}-{network}/*.csv") for line in read_lines(file)]
    each = float(np.median(seconds)) / 60 if seconds else MINUTES_PER_EPOCH[network]
    return each * (study.epochs - len(read_lines(folder / path(network, name, trial))))


def train(study: Study, network: str, name: str, trial: int, splits: Splits, folder: Path) -> None:
    """Trains one trial until it has a line for each epoch."""
    file = folder / path(network, name, trial)
    weights = file.with_suffix(".weights.h5")
    method, model = study.methods[name], _compiled(network, study.methods[name], trial)
    lines = _resume(model, weights, read_lines(file))
    data = balanced(splits.train, method.balance, trial)
    for epoch in range(len(lines), study.epochs):
        started = time.perf_counter()
        _seed_dropout(model, trial, epoch)
        _fit_epoch(model, method, epoch, batches(data, trial, epoch))
        lines.append({"epoch": epoch + 1, "seconds": time.perf_counter() - started, **study.tested(model, splits)})
        write_lines(file, lines)
        model.save_weights(unfinished := weights.with_name(f"unfinished.{weights.name}"))
        unfinished.replace(weights)
        print(", ".join(f"{key} {value:.4g}" for key, value in lines[-1].items()), flush=True)
    weights.unlink(missing_ok=True)


def _compiled(network: str, method: Method, trial: int) -> keras.Model:
    keras.utils.set_random_seed(trial)
    build, rate = VARIANTS[network]
    model = build()
    model.compile(keras.optimizers.Adam(rate), method.loss())
    model.optimizer.build(model.trainable_variables)
    return model


def _seed_dropout(model: keras.Model, trial: int, epoch: int) -> None:
    """Makes dropout depend on trial and epoch alone: a weights file does not restore the state of its seeds."""
    for number, layer in enumerate(model.layers):
        if isinstance(layer, keras.layers.Dropout):
            layer.seed_generator.state.assign([1000 * trial + epoch, number])


def _resume(model: keras.Model, weights: Path, lines: list[Line]) -> list[Line]:
    """Returns the lines of the epochs that the saved weights have seen; without weights, none."""
    if not weights.exists():
        return []
    model.load_weights(weights)
    return lines


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
