"""Uses a set loss and its metrics in every way Keras offers on N devices and writes what it finds to an .npz.

    python replicas_fit.py DEVICES OUT.npz

With two devices it does so on one, too, and the kernels are compiled, as users have them; with more that would take
long, for XLA compiles for each device and shape. The current folder receives a model saved under each strategy.
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

if int(sys.argv[1]) > 2:
    traced = tf.function
    tf.function = lambda *args, jit_compile=None, **options: traced(*args, **options)

import keras_softsets
from keras_softsets import metrics

NINE = tuple(k / 10 for k in range(1, 10))
SAMPLES, BATCH, FEATURES = 97, 32, 3  # the last batch has one sample: the other replicas get nothing


def data():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(SAMPLES, FEATURES)).astype("float32")
    y = (x[:, :1] + rng.normal(size=(SAMPLES, 1)) > 0.8).astype("float32")
    return x, y, rng.uniform(0.5, 2, size=SAMPLES).astype("float32")


def compiled_model(strategy, loss=None, **options):
    keras.utils.set_random_seed(5)
    with strategy.scope():
        inputs = keras.Input((FEATURES,), name="features")
        outputs = keras.layers.Dense(1, activation="sigmoid", dtype="float32")(keras.layers.Dense(4)(inputs))
        model = keras.Model(inputs, outputs)
        model.compile(keras.optimizers.Adam(0.05), loss or keras_softsets.SoftF1(), **options)
    return model


def scores(strategy):
    with strategy.scope():
        plain = [metrics.F1(), metrics.MCC(), metrics.AUROC(threshold=NINE), metrics.Confusion()]
        return {"metrics": plain, "weighted_metrics": [metrics.BalancedAccuracy()]}


def fit(strategy, label):
    """Two epochs; what they report, evaluate and predict, and the model as a file."""
    x, y, w = data()
    model = compiled_model(strategy, **scores(strategy))
    history = model.fit(x, y, BATCH, epochs=2, sample_weight=w, shuffle=False, verbose=0).history
    found = {f"fit/{name}": history[name] for name in ("loss", "f1", "balanced_accuracy")}
    found |= {f"fit/weights/{k}": value for k, value in enumerate(model.get_weights())}
    report = model.evaluate(x, y, BATCH, sample_weight=w, verbose=0, return_dict=True)
    found |= {f"evaluate/{name}": value for name, value in report.items()}
    found |= {"predict": model.predict(x, BATCH, verbose=0), "labels": y, "sample_weights": w}
    model.save(f"{label}.keras")
    return found


def load(strategy, label):
    """The model that the other strategy saved, trained on."""
    x, y, w = data()
    with strategy.scope():
        model = keras.saving.load_model(f"{label}.keras")
    found = {"load/loss": model.fit(x, y, BATCH, sample_weight=w, shuffle=False, verbose=0).history["loss"]}
    return found | {f"load/weights/{k}": value for k, value in enumerate(model.get_weights())}


def variations(strategy):
    """Keras's eager mode, and a loss that is made of two."""
    x, y, _ = data()

    class Sum(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return keras.losses.BinaryCrossentropy()(y_true, y_pred) + 0.5 * keras_softsets.SoftRecall()(y_true, y_pred)

    found = {}
    for name, options in {"run_eagerly": {"run_eagerly": True}, "sum of losses": {"loss": Sum()}}.items():
        model = compiled_model(strategy, **options)
        # Keras's cross-entropy is the mean of the replicas' means, so the batches have to be even here.
        history = model.fit(x[:64], y[:64], BATCH, shuffle=False, verbose=0).history
        found |= {f"{name}/loss": history["loss"], f"{name}/weights": model.get_weights()[0]}
    return found


def custom_loop(strategy, graph):
    """A step on `strategy.run`, called as a graph or eagerly; metrics made on their first use inside of it."""
    loss, (x, y, w) = keras_softsets.SoftJaccard(), data()
    with strategy.scope():
        kernel, score, cells = tf.Variable(tf.zeros([FEATURES, 1])), metrics.F1(), metrics.Confusion()

    def replica_step(x, y, w):
        with tf.GradientTape() as tape:
            p = tf.sigmoid(x @ kernel)
            value = loss(y, p, w)
        score.update_state(y, p)
        cells.update_state(y, p)
        gradient = tape.gradient(value, kernel)
        if strategy.num_replicas_in_sync > 1:
            gradient = tf.distribute.get_replica_context().all_reduce("SUM", gradient)
        kernel.assign_sub(gradient)
        return value

    def step(*batch):
        return strategy.reduce("SUM", strategy.run(replica_step, args=batch), axis=None)

    step = tf.function(step, reduce_retracing=True) if graph else step
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y, w)).batch(BATCH))
    values = [float(step(*batch)) for batch in batches]
    return {"loss": values, "kernel": kernel.numpy(), "f1": score.result(), "cells": list(cells.result().values())}


def contexts(strategy):
    """The whole batch given at once: eagerly and in a graph, inside and outside the scope; a metric likewise."""
    _, y, w = data()
    p = np.random.default_rng(4).random(y.shape).astype("float32")
    loss = keras_softsets.SoftF1()
    found = {"outside": loss(y, p, w)}
    with strategy.scope():
        score, merged = metrics.Confusion(), metrics.Confusion()
        found["cross-replica"] = loss(y, p, w)
        found["cross-replica graph"] = tf.function(lambda: loss(y, p, w))()
        score.update_state(y, p, w)
        merged.merge_state([score])
    score.update_state(y, p, w)
    merged.update_state(y, p, w)
    found["metric"] = list(score.result().values())
    found["merged"] = list(merged.result().values())
    return found


def main(devices, path):
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it costs more than the training
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * devices)
    one, many = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy([f"CPU:{k}" for k in range(devices)])
    found = {}
    strategies = {"one": one, "many": many} if devices == 2 else {"many": many}
    for label, strategy in strategies.items():
        parts = fit(strategy, label) | contexts(strategy)
        if devices == 2:
            parts |= variations(strategy)
            for graph in (True, False):
                parts |= {f"loop {graph=}/{name}": value for name, value in custom_loop(strategy, graph).items()}
        found |= {f"{name}/{label}": value for name, value in parts.items()}
    if devices == 2:  # each loads the other's model; both had the same weights
        found |= {f"{name}/many": value for name, value in load(many, "one").items()}
        found |= {f"{name}/one": value for name, value in load(one, "many").items()}
    np.savez(path, **found)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
