"""Trains blends on one device and on two, and writes losses, logs and weights to an .npz.

    python replicas_blend.py OUT.npz

The parts are also trained on their own, so that the blend can be compared with their weighted sum.
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

from keras_softsets import BlendedLoss, SoftF1  # noqa: E402 - after tf.function is replaced

SAMPLES, BATCH, TIME, FEATURES = 41, 12, 4, 3  # the last batch has 5 samples: 3 and 2 on two devices
WEIGHTS = {"f1": 0.7, "bce": 1.3, "mean": 0.4, "sum": 0.01}


def parts(**options):
    crossentropy = keras.losses.BinaryCrossentropy
    return {
        "f1": SoftF1(**options),
        "bce": crossentropy(**options),
        "mean": crossentropy(reduction="mean_with_sample_weight", **options),
        "sum": crossentropy(reduction="sum", **options),
    }


def data():
    random = np.random.default_rng(3)
    x = random.normal(size=(SAMPLES, TIME, FEATURES)).astype("float32")
    x[random.random((SAMPLES, TIME)) < 0.3] = 0  # what the masking layer removes
    y = (x[..., :1] + random.normal(size=(SAMPLES, TIME, 1)) > 0.5).astype("float32")
    return x, y, random.uniform(0.2, 3, size=(SAMPLES, TIME)).astype("float32")


def masked_model(policy="float32"):
    keras.utils.set_random_seed(5)
    inputs = keras.Input((TIME, FEATURES))
    x = keras.layers.Masking()(inputs)
    return keras.Model(inputs, keras.layers.Dense(1, "sigmoid", dtype=policy)(keras.layers.Dense(4, dtype=policy)(x)))


def gradients(strategy, losses, sizes):
    """Losses and gradients of batches of these sizes, summed over replicas; all in one step, which is traced once."""
    with strategy.scope():
        model = masked_model()

    def replica_step(x, y, w):
        found = {}
        for name, loss in losses.items():
            with tf.GradientTape() as tape:
                value = loss(y, model(x), w)
            slopes = tape.gradient(value, [v.value for v in model.trainable_variables])
            found[name] = {"value": value, "gradient": tf.concat([tf.reshape(x, [-1]) for x in slopes], 0)}
        return found

    @tf.function
    def step(iterator):
        found = strategy.run(replica_step, args=next(iterator))
        return tf.nest.map_structure(lambda x: strategy.reduce("SUM", x, axis=None), found)

    for size in sizes:
        batch = tf.data.Dataset.from_tensor_slices(tuple(array[:size] for array in data())).batch(size)
        for name, found in step(iter(strategy.experimental_distribute_dataset(batch))).items():
            yield from ((f"batch {size}/{name}/{key}", value) for key, value in found.items())


def fit(strategy, policy="float32"):
    x, y, w = data()
    with strategy.scope():
        model, blend = masked_model(policy), BlendedLoss(parts(), WEIGHTS)
        model.compile(keras.optimizers.Adam(0.05), blend, weighted_metrics=blend.metrics())
    history = model.fit(x, y, BATCH, epochs=1, sample_weight=w, shuffle=False, verbose=0).history
    blend.set_weights(dict.fromkeys(WEIGHTS, 0.5))  # without tracing again
    second = model.fit(x, y, BATCH, epochs=1, sample_weight=w, shuffle=False, verbose=0).history
    found = {f"log/{name}": history[name] + second[name] for name in history}
    return found | {"weights": np.concatenate([np.ravel(v) for v in model.get_weights()])}


def contexts(strategy):
    """The whole batch at once, outside of replicas, where Keras divides its own losses all the same."""
    _, y, w = data()
    p = np.random.default_rng(4).random(y.shape).astype("float32")
    blend = BlendedLoss(parts(), WEIGHTS)
    found = {"outside": blend(y, p, w)}
    with strategy.scope():
        return found | {"scope": BlendedLoss(parts(), WEIGHTS)(y, p, w)}


def everything(strategy):
    found = {
        f"fit {policy}/{key}": value
        for policy in ("float32", "mixed_bfloat16")
        for key, value in fit(strategy, policy).items()
    }
    losses = {**parts(), "blend": BlendedLoss(parts(), WEIGHTS)}
    found |= dict(gradients(strategy, losses, (BATCH, 5, 1)))
    return found | contexts(strategy)


if __name__ == "__main__":
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it costs more than the training
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategies = {"one": tf.distribute.get_strategy(), "two": tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])}
    results = {f"{key}/{name}": v for name, strategy in strategies.items() for key, v in everything(strategy).items()}
    np.savez(sys.argv[1], **results)
