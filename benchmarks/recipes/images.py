"""The same methods on CIFAR-10-Frog, written as a user would: Keras losses, `BlendedLoss`, `BlendSchedule` and `fit`.

One file for each trial, one line for each epoch; `report` picks the epoch. A trial that was killed is resumed after its
last whole epoch: order of the images and weights of the blend depend on the epoch alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

import keras_softsets as kss
from benchmarks.paper.methods.cifar10 import training
from benchmarks.paper.records.store import Line, read_lines, write_lines
from benchmarks.recipes.evaluation import columns
from keras_softsets import models
from keras_softsets.datasets import Splits
from keras_softsets.losses import PAPER_THRESHOLDS

DATA, EPOCHS, TRIALS, BATCH_SIZE = "cifar10_frog", 8, 3, 128
SCHEDULED_EPOCHS = 3
MINUTES_PER_EPOCH = {"small_cnn": 1.0, "tiny_darknet": 2.0}  # on two cores; only until a line on disk says better


class Method(NamedTuple):
    """What is compiled, what is done to the data, and whether the score's weight grows with the epochs."""

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


def _bce() -> keras.losses.Loss:
    return keras.losses.BinaryCrossentropy(from_logits=True)


def _soft(kind: Callable[..., Any] = kss.SoftF1, **options: Any) -> Callable[[], keras.losses.Loss]:
    return lambda: kind(from_logits=True, **options)


def _blend(bce: float, score: Callable[[], keras.losses.Loss]) -> Callable[[], keras.losses.Loss]:
    return lambda: kss.BlendedLoss({"score": score(), "bce": _bce()}, {"score": 1.0, "bce": bce})


class _DiceOfLogits(keras.losses.Loss):
    """`keras.losses.Dice`, which has no `from_logits`."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return keras.losses.dice(y_true, keras.ops.sigmoid(y_pred))


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


def run(
    methods: list[str], networks: list[str], trials: int, raw_dir: str | None, folder: Path, only_list: bool = False
) -> None:
    """Trains what is missing, seed by seed, so that all methods have the first seed before any has the second."""
    wanted = [(network, name, trial) for network in networks for trial in range(trials) for name in methods]
    left = [each for each in wanted if len(read_lines(folder / path(*each))) < EPOCHS]
    for each in left:
        print(f"about {_minutes(*each, folder):5.1f} min  {path(*each)}", flush=True)
    print(f"{len(left)} trials, about {sum(_minutes(*each, folder) for each in left) / 60:.1f} hours", flush=True)
    for number, (network, name, trial) in enumerate([] if only_list else left, 1):
        print(f"[{number}/{len(left)}] {path(network, name, trial)}", flush=True)
        train(network, name, trial, training.load(DATA, trial, raw_dir), folder)


def path(network: str, name: str, trial: int) -> str:
    """Returns the file of a trial, relative to the folder of results."""
    return f"{DATA}-{network}/{name}-trial{trial}.csv"


def _minutes(network: str, name: str, trial: int, folder: Path) -> float:
    """Returns how long the rest of a trial takes, by the epochs of that network that are on disk."""
    seconds = [float(line["seconds"]) for file in folder.glob(f"{DATA}-{network}/*.csv") for line in read_lines(file)]
    each = float(np.median(seconds)) / 60 if seconds else MINUTES_PER_EPOCH[network]
    return each * (EPOCHS - len(read_lines(folder / path(network, name, trial))))


def train(network: str, name: str, trial: int, splits: Splits, folder: Path) -> None:
    """Trains one trial until it has a line for each epoch."""
    file = folder / path(network, name, trial)
    weights = file.with_suffix(".weights.h5")
    method, model = METHODS[name], _compiled(network, METHODS[name], trial)
    lines = _resume(model, weights, read_lines(file))
    data = _balanced(splits.train, method.balance, trial)
    for epoch in range(len(lines), EPOCHS):
        started = time.perf_counter()
        _seed_dropout(model, trial, epoch)
        _fit_epoch(model, method, epoch, batches(data, trial, epoch))
        lines.append({"epoch": epoch + 1, "seconds": time.perf_counter() - started, **tested(model, splits)})
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
    """Makes dropout depend on trial and epoch alone: a weights file does not bring back where its seeds were."""
    for number, layer in enumerate(model.layers):
        if isinstance(layer, keras.layers.Dropout):
            layer.seed_generator.state.assign([1000 * trial + epoch, number])


def _resume(model: keras.Model, weights: Path, lines: list[Line]) -> list[Line]:
    """Returns the lines of the epochs that the saved weights have seen; without weights, none."""
    if not weights.exists():
        return []
    model.load_weights(weights)
    return lines


def _balanced(part: tuple[np.ndarray, np.ndarray], balance: str, trial: int) -> tuple[np.ndarray, ...]:
    """Returns images, labels and weights, by the same rules as the tabular data."""
    images, labels = part[0], np.asarray(part[1], "float32")
    weights, share = np.ones_like(labels), labels.mean()
    if balance == "weighted":
        weights = np.where(labels == 1, 0.5 / share, 0.5 / (1 - share)).astype("float32")
    if balance == "oversampled":
        missing = int(len(labels) - 2 * labels.sum())
        more = np.random.default_rng([trial, 1]).choice(np.flatnonzero(labels), missing)
        rows = np.concatenate([np.arange(len(labels)), more])
        images, labels, weights = images[rows], labels[rows], weights[rows]
    return images, labels, weights


def batches(data: tuple[np.ndarray, ...], trial: int, epoch: int) -> tf.data.Dataset:
    """Returns images, labels and weights in an order that trial and epoch decide; `fit` would wait for a tuner."""
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


def tested(model: keras.Model, splits: Splits) -> dict[str, float]:
    """Returns the columns of the test part, and the best F1 of the validation part, which picks the epoch."""
    validation, test = training.outputs(model, splits)
    labels, logits = validation
    best = kss.tune_threshold(labels, keras.ops.convert_to_numpy(keras.ops.sigmoid(logits))).score
    return {"validation_f1": float(best), **columns(validation, test)}
