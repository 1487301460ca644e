"""What both ways of training on images share: the data, the batches, and a compiled network."""

from __future__ import annotations

import functools

import keras
import numpy as np
import tensorflow as tf

import keras_softsets as kss
from benchmarks.paper.methods import evaluation, objectives
from benchmarks.paper.methods.cifar10 import networks
from keras_softsets import datasets
from keras_softsets.datasets import Splits

BATCH_SIZE = 128
LEARNING_RATE = 1e-4

load = functools.lru_cache(maxsize=1)(lambda name, seed, raw_dir: datasets.load(name, seed=seed, raw_dir=raw_dir))


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
    model = networks.BUILDERS[network]()
    model.compile(keras.optimizers.Adam(LEARNING_RATE), _loss(loss))
    return model


def _loss(name: str) -> keras.losses.Loss:
    named = {"f1_linear": kss.SoftF1, "accuracy_linear": kss.SoftAccuracy, "bce": keras.losses.BinaryCrossentropy}
    return named[name](from_logits=True) if name in named else OneTrial(name)


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


def outputs(model: keras.Model, splits: Splits) -> list[evaluation.Outputs]:
    """Returns labels and logits of the validation part, and of the test part."""
    return [(y, model.predict(x, batch_size=500, verbose=0)[:, 0]) for x, y in (splits.validation, splits.test)]
