"""Trains losses of several classes on one device and on two, and writes what they and their metrics say to an .npz.

    python replicas_classes.py OUT.npz

Images are sets of their own for some. The last batch has one image, so that the second replica gets nothing.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

# XLA compiles for each device and shape, and changes nothing about what is summed over replicas; replicas_fit.py runs
# the compiled kernels.
traced = tf.function
tf.function = lambda *args, jit_compile=None, **options: traced(*args, **options)

from keras_softsets import Argmax, SoftF1, SoftJaccard, SoftKappa, metrics  # noqa: E402 - after tf.function is replaced

IMAGES, BATCH, PIXELS, CLASSES = 17, 8, 6, 3
IGNORED = {"ignore_class": 255}
LOSSES = {
    "f1": SoftF1(threshold=Argmax(0.5)),
    "kappa": SoftKappa(),
    "jaccard_of_images": SoftJaccard(threshold="argmax", per_sample=True, zero_division="ignore", **IGNORED),
    "kappa_of_images": SoftKappa(per_sample=True, **IGNORED),
}
OF_IMAGES = [name for name, loss in LOSSES.items() if loss.evaluation.per_sample]


def data():
    """Values of pixels, class ids and weights of images; with ids to be ignored, in one image all of them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(IMAGES, PIXELS, 2)).astype("float32")
    ids = (x[..., 0] + rng.normal(size=x.shape[:2]) > 0).astype(int) + (x[..., 1] > 0.5)
    ignored = np.where(rng.random(ids.shape) < 0.2, 255, ids)
    ignored[2] = 255
    return x, ids, ignored, rng.uniform(0.2, 2, IMAGES).astype("float32")


def metrics_of(name):
    if name not in OF_IMAGES:
        return [metrics.Kappa(), metrics.F1(threshold="argmax", average="weighted")]
    jaccard = metrics.Jaccard(threshold="argmax", per_sample=True, zero_division="ignore", **IGNORED)
    return [metrics.Kappa(**IGNORED), metrics.F1(threshold="argmax", average="weighted", **IGNORED), jaccard]


def train(strategy):
    """Each loss trains a layer of its own, all in one model, which Keras traces once."""
    x, ids, ignored, w = data()
    keras.utils.set_random_seed(5)
    with strategy.scope():
        inputs = keras.Input((PIXELS, 2))
        outputs = {name: keras.layers.Dense(CLASSES, "softmax", name=name)(inputs) for name in LOSSES}
        model = keras.Model(inputs, outputs)
        reported = {name: metrics_of(name) for name in LOSSES}
        model.compile(keras.optimizers.Adam(0.05), dict(LOSSES), weighted_metrics=reported)
    labels = {name: ignored if name in OF_IMAGES else ids for name in LOSSES}
    weights = dict.fromkeys(LOSSES, w)
    logs = model.fit(x, labels, BATCH, epochs=2, sample_weight=weights, shuffle=False, verbose=0).history
    report = model.evaluate(x, labels, BATCH, sample_weight=weights, verbose=0, return_dict=True)
    found = {f"fit/{key}": value for key, value in logs.items()}
    found |= {f"evaluate/{key}": value for key, value in report.items()}
    return found | {f"weights/{variable.path}": variable.numpy() for variable in model.weights}


def main(path):
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it costs more than the training
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    one, two = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    found = {}
    for label, strategy in {"one": one, "two": two}.items():
        found |= {f"{key}/{label}": value for key, value in train(strategy).items()}
    np.savez(path, **found)


if __name__ == "__main__":
    main(sys.argv[1])
