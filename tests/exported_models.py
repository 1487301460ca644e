"""Models of all kinds to export, each with named inputs for a request and arguments for `export_classifier`."""

import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import tensorflow as tf

from keras_softsets import PerClass

Dense = keras.layers.Dense
SCRIPTS = pathlib.Path(__file__).parent / "scripts"


def serve_without_keras(folder):
    """Answers the requests of a folder in a process that imports nothing but TensorFlow."""
    command = [sys.executable, str(SCRIPTS / "serve_without_keras.py"), str(folder)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def served(version, **inputs):
    """Answers with a SavedModel's signature, as arrays."""
    answer = tf.saved_model.load(version).signatures["serving_default"](**inputs)
    return {name: tensor.numpy() for name, tensor in answer.items()}


@keras.saving.register_keras_serializable("keras_softsets_tests")
class Subclassed(keras.Model):
    """Weighs its inputs by their order, which an export must not change; drops out in training only."""

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.head, self.dropout = Dense(1, "sigmoid"), keras.layers.Dropout(0.9)

    def call(self, inputs, training=False):
        parts = list(inputs.values()) if isinstance(inputs, dict) else inputs
        parts = list(parts) if isinstance(parts, (list, tuple)) else [parts]
        return self.dropout(self.head(keras.ops.concatenate(parts, axis=-1)), training=training)


def features(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def functional():
    x = keras.Input((3,), name="features")
    return keras.Model(x, Dense(1, "sigmoid")(x)), {"features": features(7, 3)}, {}


def unnamed_sequential():
    model = keras.Sequential([Dense(4, "relu"), keras.layers.Dropout(0.5), Dense(1, "sigmoid")])
    model(features(2, 3))
    return model, {"inputs": features(7, 3)}, {}


def loaded_sequential(tmp_path):
    model = keras.Sequential([keras.Input((3,)), Dense(1, "sigmoid")])
    model.save(tmp_path / "model.keras")  # Keras then calls the input "input_layer_<n>"
    return keras.models.load_model(tmp_path / "model.keras"), {"inputs": features(7, 3)}, {}


def two_named_inputs():
    age, dose = keras.Input((1,), name="Age"), keras.Input((2, 2), name="dose")
    hidden = keras.layers.Concatenate()([age, keras.layers.Flatten()(dose)])
    model = keras.Model([age, dose], Dense(1, "sigmoid")(hidden))
    return model, {"Age": features(7, 1), "dose": features(7, 2, 2, seed=1)}, {}


def two_unnamed_inputs():
    left, right = keras.Input((2,)), keras.Input((3,), dtype="int32")
    hidden = keras.layers.Concatenate()([left, keras.layers.Flatten()(keras.layers.Embedding(5, 2)(right))])
    ids = np.random.default_rng(2).integers(0, 5, (7, 3)).astype("int32")
    return keras.Model([left, right], Dense(1, "sigmoid")(hidden)), {"inputs_0": features(7, 2), "inputs_1": ids}, {}


def dictionary_with_strings():
    color, size = keras.Input((1,), dtype="string", name="the color"), keras.Input((1,), name="size")
    one_hot = keras.layers.StringLookup(vocabulary=["red", "blue"], output_mode="one_hot")(color)
    output = Dense(1, "sigmoid")(keras.layers.Concatenate()([one_hot, size]))
    colors = np.array([["red"], ["blue"], ["pink"], ["red"]])
    model = keras.Model({"the color": color, "size": size}, output)
    return model, {"the_color": colors, "size": features(4, 1)}, {}


def subclassed():
    model = Subclassed()
    model(features(2, 3))
    return model, {"inputs": features(7, 3)}, {}


def subclassed_dictionary():
    model = Subclassed()
    inputs = {"b": features(7, 2), "a": features(7, 3, seed=1)}
    model(inputs)
    return model, inputs, {}


def subclassed_list_loaded(tmp_path):
    model = Subclassed()
    inputs = [features(7, 2), features(7, 3, seed=1)]
    model(inputs)
    model.save(tmp_path / "model.keras")
    model = keras.models.load_model(tmp_path / "model.keras")
    return model, {"inputs_0": inputs[0], "inputs_1": inputs[1]}, {}


def logits():
    x = keras.Input((3,), name="x")
    return keras.Model(x, Dense(1)(x)), {"x": features(7, 3)}, {"from_logits": True, "threshold": 0.6}


def half_precision_logits():
    x = keras.Input((3,), name="x")
    return keras.Model(x, Dense(1, dtype="mixed_float16")(x)), {"x": features(7, 3) * 9}, {"from_logits": True}


def multi_label():
    x = keras.Input((3,), name="x")
    return keras.Model(x, Dense(3, "sigmoid")(x)), {"x": features(7, 3)}, {"threshold": PerClass([0.3, np.inf, 0.0])}


def segmentation():
    x = keras.Input((None, 4, 1), name="image")
    return (
        keras.Model(x, keras.layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x)),
        {"image": features(2, 5, 4, 1)},
        {},
    )


def list_under_a_key():
    left, right, plain = keras.Input((1,), name="left"), keras.Input((2,), name="right"), keras.Input((3,), name="v")
    output = Dense(1, "sigmoid")(keras.layers.Concatenate()([left, right, plain]))
    inputs = {"left": features(7, 1), "right": features(7, 2, seed=1), "v": features(7, 3, seed=2)}
    return keras.Model({"u": [left, right], "v": plain}, output), inputs, {}


def unnamed_list_under_a_key():
    left, right = keras.Input((1,)), keras.Input((2,))
    model = keras.Model({"u": [left, right]}, Dense(1, "sigmoid")(keras.layers.Concatenate()([left, right])))
    return model, {"u_0": features(7, 1), "u_1": features(7, 2, seed=1)}, {}


def fixed_batch_size():
    x = keras.Input((3,), batch_size=7, name="x")  # a layer that must know the number of rows
    shifted = keras.layers.Lambda(
        lambda t: t + keras.ops.reshape(keras.ops.arange(t.shape[0], dtype="float32"), (-1, 1))
    )
    return keras.Model(x, Dense(1, "sigmoid")(shifted(x))), {"x": features(7, 3)}, {}


def declared_batch_size_not_needed():
    x = keras.Input((3,), batch_size=4, name="x")
    return keras.Model(x, Dense(1, "sigmoid")(x)), {"x": features(7, 3)}, {}


def stateful():
    model = keras.Sequential(
        [keras.Input((4, 3), batch_size=7, name="x"), keras.layers.GRU(5, stateful=True), Dense(1, "sigmoid")]
    )
    return model, {"x": features(7, 4, 3)}, {}


def preprocessing():
    """Takes raw rows: text, and numbers that are not scaled."""
    job, age = keras.Input((1,), dtype="string", name="job"), keras.Input((1,), name="age")
    known = keras.layers.StringLookup(output_mode="one_hot")
    known.adapt(np.array(["nurse", "clerk", "nurse"]))
    scaled = keras.layers.Normalization()
    scaled.adapt(np.array([[20.0], [40.0], [75.0]]))
    output = Dense(1, "sigmoid")(keras.layers.Concatenate()([known(job), scaled(age)]))
    rows = {"job": np.array([["clerk"], ["nurse"], ["diver"]]), "age": np.array([[18.0], [81.0], [44.0]], "float32")}
    return keras.Model({"job": job, "age": age}, output), rows, {}


def thresholds_of_a_value():
    x = keras.Input((3,), name="x")
    return keras.Model(x, Dense(2, "sigmoid")(x)), {"x": features(7, 3)}, {"threshold": PerClass(np.array([0.4, 0.6]))}


KINDS = [
    functional,
    unnamed_sequential,
    loaded_sequential,
    two_named_inputs,
    two_unnamed_inputs,
    dictionary_with_strings,
    subclassed,
    subclassed_dictionary,
    subclassed_list_loaded,
    logits,
    half_precision_logits,
    multi_label,
    segmentation,
    list_under_a_key,
    unnamed_list_under_a_key,
    fixed_batch_size,
    declared_batch_size_not_needed,
    stateful,
    preprocessing,
    thresholds_of_a_value,
]


def as_the_model_takes_them(model, inputs):
    """Returns named arrays in the structure of the model's own inputs."""
    if "the_color" in inputs:
        return {"the color": tf.constant(inputs["the_color"]), "size": tf.constant(inputs["size"])}
    if "v" in inputs:
        return {"u": [inputs["left"], inputs["right"]], "v": inputs["v"]}
    if "u_0" in inputs:
        return {"u": [inputs["u_0"], inputs["u_1"]]}
    if "b" in inputs or "job" in inputs:
        return {name: tf.constant(array) for name, array in inputs.items()}
    return next(iter(inputs.values())) if len(inputs) == 1 else list(inputs.values())


def fresh_answer(model, inputs):
    """Returns what the model says to the first batch that it sees."""
    answer = model.predict(as_the_model_takes_them(model, inputs), batch_size=7, verbose=0).astype("float32")
    for layer in model.layers:
        if getattr(layer, "stateful", False):
            layer.reset_state()
    return answer
