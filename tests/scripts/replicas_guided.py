"""Trains guided cross-entropy on one device and on two, and writes losses, running matrices and weights to an .npz.

    python replicas_guided.py OUT.npz [kappa]

`fit` trains a blend with guided F1, and a custom loop guided kappa; with the last argument, `fit` trains that, too.
`without` is training on two devices in which the totals are not summed over replicas.
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

from keras_softsets import GuidedCrossentropy, _backend, loss_for  # noqa: E402 - after tf.function is replaced

SAMPLES, BATCH = 41, 12  # the last batch has 5 samples: 3 and 2 on two devices


def data():
    random = np.random.default_rng(3)
    x = random.normal(size=(SAMPLES, 4)).astype("float32")
    y = (x[:, :1] + random.normal(size=(SAMPLES, 1)) > 0.9).astype("float32")
    return x, y, random.uniform(0.2, 3, SAMPLES).astype("float32")


def model(units, activation):
    keras.utils.set_random_seed(5)
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(units, activation)])


def fit(strategy, name):
    x, y, w = data()
    with strategy.scope():
        made, loss = (ordered if name == "kappa" else blend)()
        made.compile(keras.optimizers.Adam(0.05), loss)
    labels = grades(x, y) if name == "kappa" else y
    given = {"batch_size": BATCH, "sample_weight": w, "shuffle": False, "verbose": 0}
    history = made.fit(x, labels, epochs=3, validation_data=(x, labels, w), validation_batch_size=BATCH, **given)
    guided = loss.parts["guided"] if name == "blend" else loss
    return {
        **{f"log/{key}": values for key, values in history.history.items()},
        "matrix": guided._running.value,
        "weights": np.concatenate([np.ravel(v) for v in made.get_weights()]),
    }


def blend():
    return model(1, "sigmoid"), loss_for()


def ordered():
    return model(3, "softmax"), GuidedCrossentropy("kappa", weights="quadratic", window=60)


def grades(x, y):
    return (y[:, 0] + (x[:, 1] > 0)).astype("int32")


def custom_loop(strategy):
    x, y, w = data()
    with strategy.scope():
        made, loss = ordered()
        optimizer = keras.optimizers.SGD(0.5)
        optimizer.build(made.trainable_variables)

    def replica_step(x, y, w):
        with tf.GradientTape() as tape:
            value = loss(y, made(x), w)
        slopes = tape.gradient(value, made.trainable_variables)
        optimizer.apply_gradients(zip(slopes, made.trainable_variables))
        return value

    @tf.function
    def step(x, y, w):
        return strategy.reduce("SUM", strategy.run(replica_step, args=(x, y, w)), axis=None)

    batches = tf.data.Dataset.from_tensor_slices((x, grades(x, y), w)).batch(BATCH)
    values = [step(*batch) for batch in strategy.experimental_distribute_dataset(batches)]
    return {"log/loss": values, "matrix": loss._running.value, "weights": np.ravel(made.get_weights()[0])}


def everything(strategy, names):
    found = {f"fit {name}/{key}": value for name in names for key, value in fit(strategy, name).items()}
    return found | {f"loop/{key}": value for key, value in custom_loop(strategy).items()}


if __name__ == "__main__":
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it costs more than the training
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    one, two = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    names = ("blend", *sys.argv[2:])
    results = {f"one/{key}": value for key, value in everything(one, names).items()}
    results |= {f"two/{key}": value for key, value in everything(two, names).items()}
    _backend.sum_over_replicas = lambda totals: totals
    results |= {f"without/fit blend/{key}": value for key, value in fit(two, "blend").items()}
    np.savez(sys.argv[1], **results)
