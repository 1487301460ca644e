"""CIFAR-10 with Tiny Darknet, through plain `fit`: Adam 1e-4, batches of 128, as in the supplement.

On a GPU the full protocol runs: early stopping on the validation loss, 100 epochs of patience. On a CPU a trial gets
`MINUTES_ON_CPU` of processor time; the page of results shows the epochs that this was enough for.
"""

from __future__ import annotations

import functools
import time

import keras
import numpy as np
import tensorflow as tf

import keras_softsets as kss
from benchmarks.paper import evaluation, objectives
from benchmarks.paper.configurations import Configuration
from keras_softsets import datasets, models

BATCH_SIZE = 128
LEARNING_RATE = 1e-4
PATIENCE = 100
MOST_EPOCHS = 1000
MINUTES_ON_CPU = 15.0  # ten rows of one trial take two cores 75 minutes, if nobody else uses them

load = functools.lru_cache(maxsize=1)(lambda name, seed, raw_dir: datasets.load(name, seed=seed, raw_dir=raw_dir))


class OneTrial(keras.losses.Loss):
    """An objective of the stacked engine as a Keras loss: one trial, no weights."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, reduction="sum")
        self.objective = objectives.OBJECTIVES[name]

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        labels = tf.reshape(tf.cast(y_true, tf.float32), tf.shape(y_pred))
        return self.objective(labels, y_pred, tf.ones_like(y_pred))


class StopAtTime(keras.callbacks.Callback):
    """Ends training when the process has used its time, also in the middle of an epoch; others cannot use it up."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self.deadline, self.batches = deadline, 0

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self.batches += 1
        if time.process_time() > self.deadline:
            self.model.stop_training = True


class ValidateWhole(keras.callbacks.Callback):
    """Puts the loss of the whole validation part into the logs: the mean of batch losses is not the loss of a set."""

    def __init__(self, part: tuple[np.ndarray, np.ndarray], loss: keras.losses.Loss) -> None:
        super().__init__()
        self.part, self.loss = part, loss

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        outputs = self.model.predict(self.part[0], batch_size=500, verbose=0)
        logs["whole_val_loss"] = float(self.loss(self.part[1], outputs))


def run_trial(configuration: Configuration, seed: int, raw_dir: str | None) -> list[dict[str, str | int | float]]:
    """Trains one network and returns its lines."""
    splits = load(configuration.dataset, seed, raw_dir)
    model = untrained(configuration.loss, seed)
    started = time.process_time()
    stopping = keras.callbacks.EarlyStopping("whole_val_loss", patience=PATIENCE, mode="min", restore_best_weights=True)
    clock = StopAtTime(float("inf") if tf.config.list_physical_devices("GPU") else started + 60 * MINUTES_ON_CPU)
    callbacks = [ValidateWhole(splits.validation, model.loss), stopping, clock]
    model.fit(batches(splits.train), epochs=MOST_EPOCHS, shuffle=False, verbose=2, callbacks=callbacks)
    if stopping.best_weights is not None:
        model.set_weights(stopping.best_weights)
    progress = {
        "trial": seed,
        "best_epoch": stopping.best_epoch + 1,
        "epochs": clock.batches * BATCH_SIZE / len(splits.train[1]),
        "validation_loss": float(stopping.best),
        "seconds": time.process_time() - started,
    }
    validation, test = (model.predict(part[0], batch_size=500, verbose=0)[:, 0] for part in splits[1:])
    return [
        {"reading": reading}
        | progress
        | evaluation.read(reading, splits.validation[1], validation, splits.test[1], test)
        for reading in objectives.readings(configuration.loss)
    ]


def batches(part: tuple[np.ndarray, np.ndarray]) -> tf.data.Dataset:
    """Returns a part in batches, in another order every epoch.

    Arrays given to `fit` are tuned while they are read, and the end of an epoch waits for the tuner to wake up: twenty
    seconds after an epoch of 45, with TensorFlow 2.21.
    """
    arrays = [tf.constant(array) for array in part]
    count = len(part[1])
    order = tf.data.Dataset.range(count).shuffle(count).batch(BATCH_SIZE)
    untuned = tf.data.Options()
    untuned.autotune.enabled = False
    return order.map(lambda rows: tuple(tf.gather(array, rows) for array in arrays)).with_options(untuned)


def untrained(loss: str, seed: int, network: str = "tiny_darknet") -> keras.Model:
    """Returns a network, compiled: the same initial weights for all losses."""
    keras.utils.set_random_seed(seed)
    model = yolov3_tiny() if network == "yolov3_tiny" else models.tiny_darknet(logits=True)
    if network == "tiny_darknet_keras":
        _use_defaults_of_keras(model)
    model.compile(keras.optimizers.Adam(LEARNING_RATE), _loss(loss))
    return model


def yolov3_tiny() -> keras.Model:
    """Returns the backbone of YOLOv3-tiny: the paper cites YOLOv3 for its network, and that is what is tiny there."""
    inputs = x = keras.Input((32, 32, 3), name="image")
    for index, filters in enumerate((16, 32, 64, 128, 256, 512, 1024)):
        x = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False, kernel_initializer=_uniform())(x)
        x = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
        x = keras.layers.LeakyReLU(negative_slope=0.1)(x)
        if index < 5:
            x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(
        inputs, keras.layers.Dense(1, kernel_initializer=_uniform(), name="logits")(x), name="yolov3_tiny"
    )


def _use_defaults_of_keras(model: keras.Model) -> None:
    for layer in model.layers:
        if isinstance(layer, keras.layers.Conv2D):
            layer.kernel.assign(keras.initializers.GlorotUniform()(layer.kernel.shape))
        elif isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum, layer.epsilon = 0.99, 1e-3


def _uniform() -> keras.initializers.Initializer:
    return keras.initializers.VarianceScaling(1 / 3, "fan_in", "uniform")


def _loss(name: str) -> keras.losses.Loss:
    named = {"f1_linear": kss.SoftF1, "accuracy_linear": kss.SoftAccuracy, "bce": keras.losses.BinaryCrossentropy}
    return named[name](from_logits=True) if name in named else OneTrial(name)
