"""As near to TF Serving as one gets without its binary: its messages, its REST formats and its warm-up file."""

import json
import pathlib
import re
import runpy

import exported_models
import keras
import numpy as np
import pytest
import serving_messages
import tensorflow as tf
from exported_models import Dense, as_the_model_takes_them, fresh_answer, functional, served
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from keras_softsets.export import export_classifier
from keras_softsets.export._files import prediction_log

ROOT = pathlib.Path(__file__).parents[2]
KINDS = [
    "functional",
    "two_named_inputs",
    "two_unnamed_inputs",
    "dictionary_with_strings",
    "list_under_a_key",
    "subclassed_dictionary",
    "multi_label",
    "logits",
    "preprocessing",
]


DECLARED = serving_messages.declared_messages()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Exports models with their own inputs as warm-up, and returns for each: version, inputs, probability, label."""
    folder, results = tmp_path_factory.mktemp("served"), {}
    for kind in KINDS:
        keras.utils.set_random_seed(4)
        model, inputs, arguments = getattr(exported_models, kind)()
        warmup = as_the_model_takes_them(model, inputs)
        version = export_classifier(model, folder / kind, warmup=warmup, **arguments)
        probability = fresh_answer(model, inputs)
        probability = 1 / (1 + np.exp(-probability)) if arguments.get("from_logits") else probability
        results[kind] = version, inputs, probability, probability >= np.float32(arguments.get("threshold", 0.5))
    return results


@pytest.fixture(scope="module", params=["declared", "real"])
def messages(request):
    if request.param == "declared":
        return DECLARED
    pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason="tensorflow-serving-api is not installed")
    return serving_messages.real_messages()


def assert_fits_signature(request, version):
    """Checks a PredictRequest as the server does: names, dtypes and shapes against the SavedModel's signature."""
    saved_model = saved_model_pb2.SavedModel.FromString((version / "saved_model.pb").read_bytes())
    signature = saved_model.meta_graphs[0].signature_def[request.model_spec.signature_name]
    assert signature.method_name == "tensorflow/serving/predict"
    assert set(request.inputs) == set(signature.inputs)
    for name, tensor in request.inputs.items():
        assert tensor.dtype == signature.inputs[name].dtype
        shape = tf.TensorShape(signature.inputs[name].tensor_shape)
        assert shape.is_compatible_with(tf.TensorShape(tensor.tensor_shape))


def answer(request, version):
    arrays = {name: tf.constant(tf.make_ndarray(tensor)) for name, tensor in request.inputs.items()}
    return served(version, **arrays)


def assert_answers(answered, probability, label):
    np.testing.assert_allclose(answered["probability"], probability, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(answered["label"], label)


@pytest.mark.parametrize("kind", KINDS)
def test_warmup_file_is_read_back(exported, messages, kind):
    version, inputs, probability, label = exported[kind]
    path = version / "assets.extra" / "tf_serving_warmup_requests"
    (record,) = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    log = messages.PredictionLog.FromString(record)
    request = log.predict_log.request
    assert (request.model_spec.name, request.model_spec.signature_name) == (kind, "serving_default")
    assert_fits_signature(request, version)
    assert set(request.inputs) == set(inputs)
    assert_answers(answer(request, version), probability, label)
    assert log.ByteSize() == len(record)  # nothing but what the messages know


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_as_a_client_builds_it(exported, messages, kind):
    version, inputs, probability, label = exported[kind]
    request = messages.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = kind, "serving_default"
    for name, array in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
    request = messages.PredictRequest.FromString(request.SerializeToString())
    assert_fits_signature(request, version)
    assert_answers(answer(request, version), probability, label)


def test_a_request_with_the_rows_of_the_example(messages, monkeypatch):
    """examples/serve.py sends JSON; the same rows as a message fit the committed classifier, and get its answers."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    example, model = runpy.run_path(str(ROOT / "examples" / "serve.py")), ROOT / "saved_models" / "example_classifier"
    request = messages.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "example_classifier", "serving_default"
    request.inputs["features"].CopyFrom(tf.make_tensor_proto(example["ROWS"], tf.float32))
    assert_fits_signature(request, model / "1")
    predictions = example["ask_saved_model"](model, {"instances": example["ROWS"]})["predictions"]
    by_row = {name: [row[name] for row in predictions] for name in ("probability", "label")}
    assert_answers(answer(request, model / "1"), by_row["probability"], by_row["label"])


@pytest.mark.parametrize("change", ["name", "dtype", "shape"])
def test_a_request_that_does_not_fit_is_told(exported, messages, change):
    version = exported["functional"][0]
    request = messages.PredictRequest()
    request.model_spec.signature_name = "serving_default"
    array = np.zeros((2, 4 if change == "shape" else 3), "int64" if change == "dtype" else "float32")
    request.inputs["other" if change == "name" else "features"].CopyFrom(tf.make_tensor_proto(array))
    with pytest.raises(AssertionError):
        assert_fits_signature(request, version)


@pytest.mark.parametrize("kind", KINDS)
def test_requests_joined_into_a_batch_get_the_answers_of_each(exported, kind):
    """What a server with --enable_batching does: it joins rows, and splits what comes out."""
    version, inputs, probability, label = exported[kind]
    serve = tf.saved_model.load(version).signatures["serving_default"]
    for rows in (slice(0, 1), slice(1, 3)):
        asked = serve(**{name: tf.constant(array[rows]) for name, array in inputs.items()})
        assert_answers(asked, probability[rows], label[rows])


def test_the_batching_file_of_the_documentation_is_one():
    page = (ROOT / "docs" / "serving.md").read_text()
    (text,) = re.findall(r"^In `batching.txt`.*?^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    read = text_format.Parse(text, DECLARED.BatchingParameters())
    assert {field.name: value.value for field, value in read.ListFields()} == {
        "max_batch_size": 128,
        "batch_timeout_micros": 2000,
        "num_batch_threads": 4,
        "max_enqueued_batches": 1000,
    }


def test_the_written_fields_are_the_real_ones():
    pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2", reason="tensorflow-serving-api is not installed")
    for name, fields in serving_messages.FIELDS.items():
        real = getattr(serving_messages.real_messages(), name).DESCRIPTOR.fields_by_name
        assert {field: real[field].number for field in fields} == {
            field: number for field, (number, _) in fields.items()
        }


@pytest.mark.parametrize("length", [1, 127, 128, 2**14 - 1, 2**14])  # around what one and two bytes can count
def test_messages_of_all_lengths(messages, length):
    values = np.arange(50 * length, dtype="float32").reshape(-1, 1)
    log = messages.PredictionLog.FromString(prediction_log("é" + "a" * (length - 2), {"x": tf.constant(values)}))
    assert len(log.predict_log.request.model_spec.name.encode()) == max(length, 2)
    np.testing.assert_array_equal(tf.make_ndarray(log.predict_log.request.inputs["x"]), values)


def test_without_warmup_there_is_no_file(tmp_path):
    assert not (export_classifier(functional()[0], tmp_path) / "assets.extra").exists()


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["instances", "inputs"])
def test_rest_requests_by_row_and_by_column(exported, kind, form):
    version, inputs, probability, label = exported[kind]
    columns = {name: array.tolist() for name, array in inputs.items()}
    value = rows_of(columns) if form == "instances" else columns
    if len(columns) == 1:  # the only input needs no name
        (value,) = columns.values()
    answered = json.loads(answer_rest(version, json.dumps({"signature_name": "serving_default", form: value})))
    if form == "instances":
        answered = {name: [row[name] for row in answered["predictions"]] for name in ("probability", "label")}
    else:
        answered = answered["outputs"]
    assert_answers(answered, probability, label)


def two_inputs():
    return exported_models.two_named_inputs()[0]


@pytest.mark.parametrize(
    ("make", "warmup", "message"),
    [
        (lambda: functional()[0], np.zeros((2, 4)), r"the shapes \{'features': \(None, 3\)\}. Received: .*\(2, 4\)"),
        (lambda: functional()[0], np.zeros((0, 3)), r"one or more rows.*Received: .*\(0, 3\)"),
        (lambda: functional()[0], 5, r"one or more rows.*Received: arrays of shapes \{'features': \(\)\}"),
        (lambda: functional()[0], [["a", "b", "c"]], "`warmup` must be a batch of inputs as the model takes them"),
        (two_inputs, np.zeros((2, 1)), "`warmup` must be a batch of inputs as the model takes them"),
        (two_inputs, [np.zeros((2, 1)), np.zeros((3, 2, 2))], "the same number for each input"),
        (two_inputs, {"Age": np.zeros((2, 1))}, "`warmup` must be a batch of inputs as the model takes them"),
    ],
)
def test_bad_warmup_writes_nothing(tmp_path, make, warmup, message):
    with pytest.raises(ValueError, match=message):
        export_classifier(make(), tmp_path / "model", warmup=warmup)
    assert not (tmp_path / "model").exists()


def test_warmup_finds_logits_that_layers_do_not_tell(tmp_path):
    x = keras.Input((1,), name="x")
    scaled = keras.layers.Rescaling(4.0)(x)
    with pytest.raises(ValueError, match=r"with probabilities.*from_logits=True. Received: outputs from -2 to 8"):
        export_classifier(keras.Model(x, scaled), tmp_path / "model", warmup=[[-0.5], [2.0]])
    with pytest.raises(ValueError, match="Received: outputs from nan to nan"):
        export_classifier(keras.Model(x, scaled), tmp_path / "model", warmup=[[0.1], [np.nan]])
    for outside in (-0.01, 0.26):
        with pytest.raises(ValueError, match=f"Received: outputs from {outside * 4:g} to"):
            export_classifier(keras.Model(x, scaled), tmp_path / "model", warmup=[[outside]])
    assert not (tmp_path / "model").exists()
    export_classifier(keras.Model(x, scaled), tmp_path / "model", warmup=[[0.0], [0.25]])
    export_classifier(keras.Model(x, Dense(1)(x)), tmp_path / "model", warmup=[[-9.0], [9.0]], from_logits=True)
