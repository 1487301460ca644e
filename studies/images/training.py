"""What all studies of images share: the data, the batches, the weights of classes, and the outputs."""

from __future__ import annotations

import functools
import time

import keras
import numpy as np
import tensorflow as tf

from keras_softsets import datasets, models
from keras_softsets.datasets import Splits
from studies.engine.evaluation import Outputs

BATCH_SIZE = 128

load = functools.lru_cache(maxsize=1)(lambda name, seed, raw_dir: datasets.load(name, seed=seed, raw_dir=raw_dir))


def class_weights(labels: np.ndarray, share: float) -> np.ndarray:
    """Returns a weight for each label that makes both classes weigh the same, given the share of positives."""
    return np.where(labels == 1, 0.5 / share, 0.5 / (1 - share)).astype("float32")


def batches(part: tuple[np.ndarray, ...]) -> tf.data.Dataset:
    """Returns a part in batches, in a new order every epoch.

    With arrays, `fit` tunes its pipeline while it reads, and the end of an epoch waits for the tuner to wake up: twenty
    seconds after an epoch of 45, with TensorFlow 2.21.
    """
    arrays = [tf.constant(array) for array in part]
    count = len(part[1])
    order = tf.data.Dataset.range(count).shuffle(count).batch(BATCH_SIZE)
    untuned = tf.data.Options()
    untuned.autotune.enabled = False
    return order.map(lambda rows: tuple(tf.gather(array, rows) for array in arrays)).with_options(untuned)


def outputs(model: keras.Model, splits: Splits) -> list[Outputs]:
    """Returns labels and logits of the validation part, and of the test part."""
    return [(y, model.predict(x, batch_size=500, verbose=0)[:, 0]) for x, y in (splits.validation, splits.test)]


class StopAtTime(keras.callbacks.Callback):
    """Ends training when the process has used its processor time, even in the middle of an epoch."""

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


def tiny_darknet() -> keras.Model:
    """Returns the package's Tiny Darknet, with PyTorch's initial weights."""
    return models.tiny_darknet(logits=True)


def tiny_darknet_keras() -> keras.Model:
    """Returns the same with Keras's initial weights, and Keras's defaults of batch normalisation."""
    model = tiny_darknet()
    for layer in model.layers:
        if isinstance(layer, keras.layers.Conv2D):
            layer.kernel.assign(keras.initializers.GlorotUniform()(layer.kernel.shape))
        elif isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum, layer.epsilon = 0.99, 1e-3
    return model


def yolov3_tiny() -> keras.Model:
    """Returns the backbone of YOLOv3-tiny: the paper cites YOLOv3 for its network, and this is YOLOv3's tiny one."""
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


def _uniform() -> keras.initializers.Initializer:
    return keras.initializers.VarianceScaling(1 / 3, "fan_in", "uniform")


BUILDERS = {network.__name__: network for network in (tiny_darknet, tiny_darknet_keras, yolov3_tiny)}
