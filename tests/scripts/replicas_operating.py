"""Losses, gradients and metrics at operating points on one device and on two, of uneven batches with weights.

python replicas_operating.py OUT.npz
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

# XLA compiles for each device and shape, and changes nothing about what is summed or gathered over replicas.
traced = tf.function
tf.function = lambda *args, jit_compile=None, **options: traced(*args, **options)

from keras_softsets import losses, metrics  # noqa: E402 - after tf.function is replaced
from keras_softsets._backend.tensorflow import _replicas  # noqa: E402

NAMES = [
    "SoftPrecisionAtRecall",
    "SoftRecallAtPrecision",
    "SoftSensitivityAtSpecificity",
    "SoftSpecificityAtSensitivity",
]


def data():
    rng = np.random.default_rng(3)
    y = (rng.random((45, 2)) < 0.4).astype("float32")
    p = np.clip(0.3 * y + 0.7 * rng.random((45, 2)), 0, 1).astype("float32")
    return y, p, rng.uniform(0.2, 2, (45, 1)).astype("float32")


def run(strategy, parts, name):
    """The loss and gradient of the global batch, and the metric of it."""
    loss = getattr(losses, name)([0.6, 0.8])
    with strategy.scope():
        metric = getattr(metrics, name.removeprefix("Soft"))([0.6, 0.8])

    def step(y, p, w):
        with tf.GradientTape() as tape:
            tape.watch(p)
            value = loss(y, p, w)
        metric.update_state(y, p, w)
        return value, tape.gradient(value, p)

    def batch(context):
        return tuple(x[parts[context.replica_id_in_sync_group]] for x in map(tf.constant, data()))

    values = strategy.experimental_distribute_values_from_function
    arrays = [values(lambda context, k=k: batch(context)[k]) for k in range(3)]
    value, gradient = strategy.run(tf.function(step), args=arrays)
    return {
        "loss": strategy.reduce("SUM", value, axis=None).numpy(),
        "gradient": np.concatenate([g.numpy() for g in strategy.experimental_local_results(gradient)]),
        "metric": float(metric.result()),
    }


def main(path):
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it costs more than the training
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    one, two = tf.distribute.OneDeviceStrategy("CPU:0"), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    found = {"names": NAMES}
    for name in NAMES:
        for label, strategy, parts in (("one", one, [slice(0, 45)]), ("two", two, [slice(0, 30), slice(30, 45)])):
            found |= {f"{name}/{key}/{label}": value for key, value in run(strategy, parts, name).items()}
    _replicas.gather = lambda x: x  # each replica with a threshold of its own
    alone = run(two, [slice(0, 30), slice(30, 45)], NAMES[0])
    np.savez(path, **found, **{f"{NAMES[0]}/gradient/alone": alone["gradient"]})


if __name__ == "__main__":
    main(sys.argv[1])
