"""Prints how much the gradient of two replicas, padded, differs from that of one unpadded batch, and its size.

python replicas_padded.py
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from keras_softsets import SoftF1

FIRST, N = 300, 457
NINE = [k / 10 for k in range(1, 10)]


def data():
    random = np.random.default_rng(0)
    y = (random.random((N, 3)) < 0.3).astype("float32")
    p = np.clip(0.3 * y + 0.7 * random.random(y.shape), 0, 1).astype("float32")
    return y, p, random.uniform(0.1, 2, N).astype("float32")


def gradient(y, p, w):
    with tf.GradientTape() as tape:
        tape.watch(p)
        loss = SoftF1(threshold=NINE)(y, p, w)
    return tape.gradient(loss, p)


def main():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    arrays = data()
    one = tf.function(gradient).get_concrete_function(*map(tf.constant, arrays))(*map(tf.constant, arrays)).numpy()
    parts = (slice(0, FIRST), slice(FIRST, N))

    def share(x):
        return strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(x[parts[context.replica_id_in_sync_group]])
        )

    step = tf.function(lambda *shares: strategy.run(gradient, args=shares))  # replicas of two sizes: any size
    two = strategy.experimental_local_results(step(*map(share, arrays)))
    print(np.abs(np.concatenate(two) - one).max(), np.abs(one).max())


if __name__ == "__main__":
    main()
