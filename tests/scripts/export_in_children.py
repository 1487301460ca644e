"""Exports from child processes: from a strategy, killed on the last step, and several at the same time.

Usage: python export_in_children.py FOLDER; prints as JSON which child got which versions of FOLDER/shared.
The parent has imported TensorFlow but never run it, so that a child starts in a moment and can choose its devices.
"""

import json
import os
import pathlib
import signal
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_softsets.export import _export as export

CHILDREN, EXPORTS = 3, 3


def model_with_bias(bias):
    head = keras.layers.Dense(1, bias_initializer=keras.initializers.Constant(bias))
    return keras.Sequential([keras.Input((2,), name="x"), head])


def from_strategy(folder):
    """Exports a model trained on two devices, and the same model after saving and loading."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    x = np.random.default_rng(0).normal(size=(16, 3)).astype("float32")
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        inputs = keras.Input((3,), name="features")
        model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(keras.layers.LayerNormalization()(inputs)))
        model.compile("sgd", "binary_crossentropy")
    model.fit(x, (x[:, :1] > 0).astype("float32"), epochs=2, verbose=0)
    export.export_classifier(model, folder / "strategy")
    model.save(folder / "model.keras")
    export.export_classifier(keras.models.load_model(folder / "model.keras"), folder / "strategy")
    np.savez(folder / "strategy.npz", features=x, expected=model.predict(x, verbose=0))


def killed(folder):
    """Dies when everything is written, just before the rename."""
    export.publish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    export.export_classifier(model_with_bias(0.0), folder / "killed", from_logits=True)


def several(folder, child):
    versions = []
    for _ in range(EXPORTS):
        version = export.export_classifier(model_with_bias(float(child)), folder / "shared", from_logits=True)
        versions.append(int(version.name))
    (folder / f"child{child}.json").write_text(json.dumps(versions))


def start(work, *arguments):
    pid = os.fork()
    if pid == 0:
        work(*arguments)
        os._exit(0)
    return pid


def wait(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    alone = [wait(start(from_strategy, folder)), wait(start(killed, folder))]
    together = [wait(pid) for pid in [start(several, folder, child) for child in range(CHILDREN)]]
    if alone != [0, -signal.SIGKILL] or any(together):
        sys.exit(f"children ended with {alone} and {together}")
    print(json.dumps([json.loads((folder / f"child{child}.json").read_text()) for child in range(CHILDREN)]))
