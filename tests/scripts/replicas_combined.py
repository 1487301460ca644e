"""Class ids, weights of pixels and soft metrics of images on one device and on three; writes what they say to an .npz.

    python replicas_combined.py OUT.npz

The last batch has one image, so that two replicas get nothing. Predictions after the training are written, too, for an
oracle of one's own.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

from keras_softsets import BlendedLoss, SoftAUROC, SoftF1, SoftJaccard, SoftKappa, metrics

IMAGES, BATCH, PIXELS, CLASSES, IGNORED = 13, 6, 5, 3, 255
IDS = {"ignore_class": IGNORED}


def losses():
    crossentropy = keras.losses.SparseCategoricalCrossentropy(ignore_class=IGNORED, reduction="mean_with_sample_weight")
    return {
        "thresholds": SoftF1(threshold=[0.2, 0.5], **IDS),
        "area": SoftAUROC(average="weighted", **IDS),
        "blend": BlendedLoss({"kappa": SoftKappa(**IDS), "ce": crossentropy}, {"kappa": 1.0, "ce": 0.3}),
        "images": SoftJaccard(threshold=0.4, per_sample=True, zero_division="ignore", **IDS),
    }


def metrics_of(name, loss):
    if name != "images":
        return loss.metrics() if name == "blend" else []
    soft = {"heaviside": "linear", "per_sample": True, **IDS}
    return [
        metrics.F1(threshold=[0.2, 0.5], name="soft_f1_of_images", **soft),
        metrics.F1(threshold=0.4, zero_division="ignore", average="weighted", name="soft_weighted_of_images", **soft),
        metrics.F1(threshold="argmax", name="soft_argmax_of_images", **soft),
        metrics.AUROC(**IDS),
    ]


def data():
    """Values of pixels, class ids, of which one image lacks all, and weights of pixels."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(IMAGES, PIXELS, 2)).astype("float32")
    ids = (x[..., 0] + rng.normal(size=x.shape[:2]) > 0).astype(int) + (x[..., 1] > 0.5)
    ids = np.where(rng.random(ids.shape) < 0.2, IGNORED, ids)
    ids[2] = IGNORED
    return x, ids, rng.uniform(0.2, 2, ids.shape).astype("float32")


def train(strategy):
    """Each loss trains a layer of its own, all in one model, which Keras traces once."""
    x, ids, w = data()
    keras.utils.set_random_seed(5)
    with strategy.scope():
        used = losses()
        inputs = keras.Input((PIXELS, 2))
        outputs = {name: keras.layers.Dense(CLASSES, "softmax", name=name)(inputs) for name in used}
        model = keras.Model(inputs, outputs)
        reported = {name: metrics_of(name, loss) for name, loss in used.items()}
        model.compile(keras.optimizers.Adam(0.05), used, weighted_metrics=reported)
    labels, weights = dict.fromkeys(used, ids), dict.fromkeys(used, w)
    logs = model.fit(x, labels, BATCH, epochs=1, sample_weight=weights, shuffle=False, verbose=0).history
    report = model.evaluate(x, labels, BATCH, sample_weight=weights, verbose=0, return_dict=True)
    found = {f"fit/{key}": value for key, value in logs.items()}
    found |= {f"evaluate/{key}": value for key, value in report.items()}
    found |= {f"predictions/{name}": p for name, p in model.predict(x, BATCH, verbose=0).items()}
    return found | {f"weights/{variable.path}": variable.numpy() for variable in model.weights}


def main(path):
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it costs more than the training
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
    one, three = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1", "CPU:2"])
    found = dict(zip(("x", "ids", "weights"), data()))
    for label, strategy in {"one": one, "three": three}.items():
        found |= {f"{key}/{label}": value for key, value in train(strategy).items()}
    np.savez(path, **found)


if __name__ == "__main__":
    main(sys.argv[1])
