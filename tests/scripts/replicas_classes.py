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

from keras_softsets import Argmax, SoftF1, SoftJaccard, SoftKappa, metrics

IMAGES, BATCH, PIXELS, CLASSES = 17, 8, 6, 3
LOSSES = {
    "f1": lambda: SoftF1(threshold=Argmax(0.5)),
    "kappa": SoftKappa,
    "jaccard of images": lambda: SoftJaccard(
        threshold="argmax", per_sample=True, zero_division="ignore", ignore_class=255
    ),
    "kappa of images": lambda: SoftKappa(per_sample=True, ignore_class=255),
}


def data():
    """Values of pixels, class ids and weights of images; with ids to be ignored, in one image all of them."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(IMAGES, PIXELS, 2)).astype("float32")
    ids = (x[..., 0] + rng.normal(size=x.shape[:2]) > 0).astype(int) + (x[..., 1] > 0.5)
    ignored = np.where(rng.random(ids.shape) < 0.2, 255, ids)
    ignored[2] = 255
    return x, ids, ignored, rng.uniform(0.2, 2, IMAGES).astype("float32")


def train(strategy, name):
    x, ids, ignored, w = data()
    per_sample = name.endswith("images")
    options = {"ignore_class": 255} if per_sample else {}
    keras.utils.set_random_seed(5)
    with strategy.scope():
        model = keras.Sequential([keras.Input((PIXELS, 2)), keras.layers.Dense(CLASSES, "softmax")])
        reported = [metrics.Kappa(**options), metrics.F1(threshold="argmax", average="weighted", **options)]
        if per_sample:
            reported.append(metrics.Jaccard(threshold="argmax", per_sample=True, zero_division="ignore", **options))
        model.compile(keras.optimizers.Adam(0.05), LOSSES[name](), weighted_metrics=reported)
    labels = ignored if per_sample else ids
    logs = model.fit(x, labels, BATCH, epochs=2, sample_weight=w, shuffle=False, verbose=0).history
    report = model.evaluate(x, labels, BATCH, sample_weight=w, verbose=0, return_dict=True)
    found = {f"{name}/fit/{key}": value for key, value in logs.items()}
    found |= {f"{name}/evaluate/{key}": value for key, value in report.items()}
    return found | {f"{name}/weights/{k}": value for k, value in enumerate(model.get_weights())}


def main(path):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    one, two = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    found = {}
    for label, strategy in {"one": one, "two": two}.items():
        for name in LOSSES:
            found |= {f"{key}/{label}": value for key, value in train(strategy, name).items()}
    np.savez(path, **found)


if __name__ == "__main__":
    main(sys.argv[1])
