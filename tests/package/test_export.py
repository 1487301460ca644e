"""export_classifier: the same numbers and labels outside Keras, and versions that a server can trust."""

import doctest
import json
import os
import pathlib
import re
import stat
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_softsets import export
from keras_softsets.export import export_classifier

SCRIPTS = pathlib.Path(__file__).parents[1] / "scripts"
ENVIRONMENT = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
Dense = keras.layers.Dense


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


def run(*command):
    done = subprocess.run([str(c) for c in command], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


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
    return keras.Model(x, Dense(3, "sigmoid")(x)), {"x": features(7, 3)}, {"threshold": [0.3, np.inf, 0.0]}


def segmentation():
    x = keras.Input((None, 4, 1), name="image")
    return (
        keras.Model(x, keras.layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x)),
        {"image": features(2, 5, 4, 1)},
        {},
    )


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
]


def predict(model, inputs):
    """Calls `model.predict` with the arrays in the order or under the keys of the model's own inputs."""
    if "the_color" in inputs:
        inputs = {"the color": tf.constant(inputs["the_color"]), "size": tf.constant(inputs["size"])}
    elif "b" not in inputs:
        inputs = next(iter(inputs.values())) if len(inputs) == 1 else list(inputs.values())
    return model.predict(inputs, verbose=0).astype("float32")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Exports each kind of model, and lets one fresh process without Keras answer for all."""
    folder, scratch, expected = tmp_path_factory.mktemp("exported"), tmp_path_factory.mktemp("scratch"), {}
    for kind in KINDS:
        keras.utils.set_random_seed(4)
        model, inputs, arguments = kind(scratch) if kind.__code__.co_argcount else kind()
        assert export_classifier(model, folder / kind.__name__, **arguments) == folder / kind.__name__ / "1"
        np.savez(folder / kind.__name__, **inputs)
        probability = predict(model, inputs)
        probability = 1 / (1 + np.exp(-probability)) if arguments.get("from_logits") else probability
        expected[kind.__name__] = probability, np.float32(arguments.get("threshold", 0.5))
    run(sys.executable, SCRIPTS / "serve_without_keras.py", folder)
    return folder, expected


@pytest.mark.parametrize("kind", [kind.__name__ for kind in KINDS])
def test_fresh_process_without_keras_gives_the_same_numbers_and_labels(exported, kind):
    folder, expected = exported
    probability, threshold = expected[kind]
    with np.load(folder / f"{kind}.1.out.npz") as answer:
        assert set(answer) == {"probability", "label"}
        assert (answer["probability"].dtype, answer["label"].dtype) == (np.float32, np.int32)
        np.testing.assert_allclose(answer["probability"], probability, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(answer["label"], (probability >= threshold).astype("int32"))
    assert np.ptp(probability) > 0.01  # a constant answer would prove nothing


@pytest.mark.parametrize("kind", [kind.__name__ for kind in KINDS])
def test_signature_takes_batches_of_any_size(exported, kind):
    folder, _ = exported
    serve = tf.saved_model.load(folder / kind / "1").signatures["serving_default"]
    with np.load(folder / f"{kind}.npz") as file:
        specs = serve.structured_input_signature[1]
        assert {name: len(spec.shape) for name, spec in specs.items()} == {name: file[name].ndim for name in file}
    for spec in [*specs.values(), *serve.structured_outputs.values()]:
        assert spec.shape[0] is None


def test_labels_of_both_classes_occur(exported):
    folder, _ = exported
    with np.load(folder / "functional.1.out.npz") as answer:
        assert set(answer["label"].ravel()) == {0, 1}
    with np.load(folder / "multi_label.1.out.npz") as answer:
        assert answer["label"][:, 1].tolist() == [0] * 7  # a threshold of inf
        assert answer["label"][:, 2].tolist() == [1] * 7  # a threshold of 0


def test_command_line_shows_and_runs_the_signature(exported, tmp_path):
    folder, expected = exported
    cli = pathlib.Path(sys.executable).with_name("saved_model_cli")
    version = folder / "two_named_inputs" / "1"
    shown = run(cli, "show", "--dir", version, "--tag_set", "serve", "--signature_def", "serving_default")
    found = re.findall(r"(inputs|outputs)\['(\w+)'\].*?dtype: (\w+)\s+shape: (\(.*?\))", shown, re.DOTALL)
    assert set(found) == {
        ("inputs", "Age", "DT_FLOAT", "(-1, 1)"),
        ("inputs", "dose", "DT_FLOAT", "(-1, 2, 2)"),
        ("outputs", "label", "DT_INT32", "(-1, 1)"),
        ("outputs", "probability", "DT_FLOAT", "(-1, 1)"),
    }
    npz = folder / "two_named_inputs.npz"
    arguments = ["--tag_set", "serve", "--signature_def", "serving_default", "--outdir", tmp_path]
    run(cli, "run", "--dir", version, *arguments, "--inputs", f"Age={npz}[Age];dose={npz}[dose]")
    probability, threshold = expected["two_named_inputs"]
    np.testing.assert_allclose(np.load(tmp_path / "probability.npy"), probability, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(np.load(tmp_path / "label.npy"), probability >= threshold)


def rows_of(columns):
    """Turns {name: values} into [{name: value}, ...]."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def answer_rest(version, body):
    """Answers a request as TF Serving's REST API does: the signature alone says how the JSON is read."""
    request = json.loads(body)
    assert set(request) <= {"signature_name", "instances", "inputs"}
    serve = tf.saved_model.load(version).signatures[request["signature_name"]]
    specs = serve.structured_input_signature[1]
    columns = request.get("inputs")
    if columns is None:
        rows = [row if isinstance(row, dict) else {next(iter(specs)): row} for row in request["instances"]]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns = columns if isinstance(columns, dict) else {next(iter(specs)): columns}
    assert set(columns) == set(specs)
    tensors = {name: tf.constant(values, specs[name].dtype) for name, values in columns.items()}
    assert all(specs[name].shape.is_compatible_with(tensor.shape) for name, tensor in tensors.items())
    outputs = {name: tensor.numpy().tolist() for name, tensor in serve(**tensors).items()}
    if "inputs" in request:
        return json.dumps({"outputs": outputs})
    return json.dumps({"predictions": rows_of(outputs)})


@pytest.mark.parametrize(
    "kind", ["functional", "two_named_inputs", "two_unnamed_inputs", "dictionary_with_strings", "multi_label"]
)
@pytest.mark.parametrize("form", ["instances", "inputs"])
def test_rest_requests(exported, kind, form):
    folder, expected = exported
    with np.load(folder / f"{kind}.npz") as file:
        columns = {name: file[name].tolist() for name in file}
    value = rows_of(columns) if form == "instances" else columns
    if len(columns) == 1:  # the only input needs no name
        (value,) = columns.values()
    request = {"signature_name": "serving_default", form: value}
    answer = json.loads(answer_rest(folder / kind / "1", json.dumps(request)))
    if form == "instances":
        answer = {name: [row[name] for row in answer["predictions"]] for name in ("probability", "label")}
    else:
        answer = answer["outputs"]
    probability, threshold = expected[kind]
    np.testing.assert_allclose(answer["probability"], probability, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(answer["label"], probability >= threshold)


@pytest.fixture(scope="module")
def children(tmp_path_factory):
    folder = tmp_path_factory.mktemp("children")
    versions = json.loads(run(sys.executable, SCRIPTS / "export_in_children.py", folder).splitlines()[-1])
    return folder, versions


def served(version, **inputs):
    answer = tf.saved_model.load(version).signatures["serving_default"](**inputs)
    return {name: tensor.numpy() for name, tensor in answer.items()}


def test_concurrent_exports_do_not_collide(children):
    folder, versions = children
    assert sorted(v for own in versions for v in own) == list(range(1, 10))
    assert sorted(path.name for path in (folder / "shared").iterdir()) == [str(v) for v in range(1, 10)]
    for child, own in enumerate(versions):
        assert own == sorted(own)
        for version in own:  # each version is whole, and the one that its child wrote
            probability = served(folder / "shared" / str(version), x=tf.zeros((1, 2)))["probability"]
            np.testing.assert_allclose(probability, [[1 / (1 + np.exp(-child))]], atol=1e-6)


def test_killed_export_leaves_no_version(children):
    folder, _ = children
    (left,) = (folder / "killed").iterdir()
    assert left.name.startswith(".export-")
    assert (left / "model" / "saved_model.pb").exists()  # it was killed late, with everything written
    assert export_classifier(functional()[0], folder / "killed").name == "1"


@pytest.mark.parametrize("version", ["1", "2"])  # exported directly, and saved, loaded and exported
def test_model_of_a_strategy(children, version):
    folder, _ = children
    with np.load(folder / "strategy.npz") as file:
        answer = served(folder / "strategy" / version, features=file["features"])
        np.testing.assert_allclose(answer["probability"], file["expected"], rtol=0, atol=1e-6)
        np.testing.assert_array_equal(answer["label"], file["expected"] >= 0.5)


def test_versions_count_on_and_are_never_overwritten(tmp_path):
    model = functional()[0]
    (tmp_path / "notes").mkdir()
    (tmp_path / "7").mkdir()
    assert export_classifier(model, str(tmp_path)) == tmp_path / "8"
    assert export_classifier(model, tmp_path, version=3) == tmp_path / "3"
    before = (tmp_path / "3" / "saved_model.pb").stat().st_mtime_ns
    for version in (3, 7):
        with pytest.raises(FileExistsError, match=f"`version` must be new.*Received: version={version}"):
            export_classifier(model, tmp_path, version=version)
    assert export_classifier(model, tmp_path) == tmp_path / "9"
    assert (tmp_path / "3" / "saved_model.pb").stat().st_mtime_ns == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "7", "8", "9", "notes"]


def test_a_version_taken_in_the_last_moment(tmp_path, monkeypatch):
    finished = [tmp_path / "a", tmp_path / "b"]
    for folder in finished:
        folder.mkdir()
        (folder / "saved_model.pb").write_text(folder.name)
    seen = iter([set(), set(), {1}])  # the second export looks before the first has renamed
    monkeypatch.setattr(export, "_versions", lambda folder: next(seen))
    assert [export._publish(folder, tmp_path, None).name for folder in finished] == ["1", "2"]
    finished[0].mkdir()
    (finished[0] / "saved_model.pb").write_text("c")
    with pytest.raises(FileExistsError, match=r"`version` must be new.*Received: version=2"):
        export._publish(finished[0], tmp_path, 2)
    assert (tmp_path / "2" / "saved_model.pb").read_text() == "b"


def test_failed_export_leaves_nothing(tmp_path, monkeypatch):
    def full_disk(folder):
        raise OSError("No space left on device")

    monkeypatch.setattr(export, "_flush", full_disk)
    with pytest.raises(OSError, match="No space left"):
        export_classifier(functional()[0], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_others_may_read_the_version(tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    version = export_classifier(functional()[0], tmp_path)
    assert stat.S_IMODE(version.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def constant(bias, units=1, **arguments):
    x = keras.Input((1,), name="x")
    initializer = keras.initializers.Constant(bias)
    head = Dense(units, kernel_initializer="zeros", bias_initializer=initializer, **arguments)
    return keras.Model(x, head(x))


def test_label_is_compared_in_float32(tmp_path):
    # As float64, 0.7 is larger than the model's float32 0.7, and the label would be 0.
    answer = served(export_classifier(constant(0.7), tmp_path, threshold=0.7), x=tf.zeros((1, 1)))
    assert answer["label"].tolist() == [[1]]
    assert answer["probability"].tolist() == [[float(np.float32(0.7))]]


def test_half_precision_probabilities_are_not_rounded(tmp_path):
    # The float16 sigmoid of 9 is 1.0.
    answer = served(export_classifier(constant(9.0, dtype="float16"), tmp_path, from_logits=True), x=tf.zeros((1, 1)))
    np.testing.assert_allclose(answer["probability"], [[1 / (1 + np.exp(-9.0))]], atol=1e-7)


def two_outputs():
    x = keras.Input((1,))
    return keras.Model(x, {"a": Dense(1)(x), "b": Dense(1)(x)})


@pytest.mark.parametrize("name", ["class", "self", "1x", "_x", "été"])
def test_names_that_python_or_tensorflow_refuses(name, tmp_path):
    model = keras.Sequential([keras.Input((2,), name=name), Dense(1, "sigmoid")])
    served = tf.saved_model.load(export_classifier(model, tmp_path))
    (argument,) = served.signatures["serving_default"].structured_input_signature[1]
    assert argument.startswith("input_")
    answer = served.signatures["serving_default"](**{argument: tf.ones((1, 2))})
    np.testing.assert_allclose(answer["probability"], model(tf.ones((1, 2))), rtol=1e-6)


def test_the_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    model = keras.Sequential([keras.Input((2,)), Dense(1)])
    assert export_classifier(model, "~/models") == tmp_path / "models" / "1"


class TwoArguments(keras.Model):
    def call(self, left, right):
        return keras.ops.sum(left + right, -1, keepdims=True)


def two_arguments():
    model = TwoArguments()
    model(features(4, 2), features(4, 2))
    return model


def colliding_names():
    a, b = keras.Input((1,), name="a b"), keras.Input((1,), name="a-b")
    return keras.Model({"a b": a, "a-b": b}, Dense(1)(keras.layers.Concatenate()([a, b])))


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (Subclassed, {}, "`model` must be built.* unbuilt"),
        (lambda: keras.Sequential([Dense(1)]), {}, "`model` must be built"),
        (two_outputs, {}, "`model` must have one output tensor. Received: dict of 2"),
        (two_arguments, {}, "`model` must take its inputs as one argument"),
        (lambda: constant(0.0), {"threshold": True}, "Received: threshold=True"),
        (lambda: constant(0.0), {"threshold": "0.5"}, "Received: threshold=0.5"),
        (colliding_names, {}, r"differ in letters, digits and '_'. Received: \['a_b', 'a_b'\]"),
        (lambda: constant(0.0), {"threshold": 50}, "Received: threshold=50"),
        (lambda: constant(0.0), {"threshold": -0.1}, "`threshold` must be a number in"),
        (lambda: constant(0.0), {"threshold": float("nan")}, "Received: threshold=nan"),
        (lambda: constant(0.0), {"threshold": [[0.5]]}, "`threshold` must be a number in"),
        (lambda: constant(0.0, 2), {"threshold": [0.5] * 3}, r"3 thresholds for an output of shape \(None, 2\)"),
        (lambda: constant(0.0), {"version": -1}, "Received: version=-1"),
        (lambda: constant(0.0), {"version": "2"}, "Received: version='2'"),
        (lambda: constant(0.0), {"version": True}, "Received: version=True"),
    ],
)
def test_bad_arguments_write_nothing(tmp_path, make, arguments, message):
    with pytest.raises(ValueError, match=message):
        export_classifier(make(), tmp_path / "model", **arguments)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("path", ["", "gs://bucket/model"])
def test_path_must_be_local(path):
    with pytest.raises(ValueError, match="`path` must be a local folder"):
        export_classifier(functional()[0], path)


def test_docstring_examples():
    results = doctest.testmod(export)
    assert results.attempted > 0
    assert results.failed == 0
