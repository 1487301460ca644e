"""Exports, asked by what shares no code with this package: the C API, OpenVINO, ONNX Runtime, TF Serving's messages.

`recorded_serving.json` holds a request and its answer as TF Serving's REST API and gRPC write them, for the committed
classifier: what a real server must answer.
"""

import json
import pathlib

import exported_models
import keras
import numpy as np
import processes
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from keras_softsets import as_classifier

ROOT = pathlib.Path(__file__).parents[2]
MODEL = ROOT / "saved_models/example_classifier"
RECORDED = json.loads(pathlib.Path(__file__).with_name("recorded_serving.json").read_text())
ROWS = np.array(RECORDED["rest"]["request"]["instances"], "float32")
PREDICTIONS = RECORDED["rest"]["response"]["predictions"]
PROBABILITY, LABEL = (np.array([row[name] for row in PREDICTIONS]) for name in ("probability", "label"))


def test_the_c_api_of_tensorflow_loads_and_asks_the_export():
    """In a process that imports no TensorFlow: only the library of its wheel, as servers in C, Go or Rust load it."""
    text = (MODEL / "1/saved_model.pb").read_bytes()
    signature = saved_model_pb2.SavedModel.FromString(text).meta_graphs[0].signature_def["serving_default"]
    names = [signature.inputs["features"].name, *(signature.outputs[key].name for key in ("probability", "label"))]
    script = ROOT / "tests/scripts/ask_by_c_api.py"
    library = pathlib.Path(tf.__file__).with_name("libtensorflow_cc.so.2")
    if not library.exists():
        pytest.skip("this wheel of TensorFlow has no libtensorflow_cc.so.2")
    out = processes.run_well(script, str(MODEL / "1"), names[0], json.dumps(ROWS.tolist()), *names[1:])
    probability, label = json.loads(out.splitlines()[-1])
    np.testing.assert_allclose(probability, PROBABILITY.ravel(), rtol=1e-5)
    assert label == LABEL.ravel().tolist()


def by_openvino(path, x):
    openvino = pytest.importorskip("openvino")
    core = openvino.Core()
    exact = {"INFERENCE_PRECISION_HINT": "f32"}  # its default on some processors is half precision
    answers = core.compile_model(core.read_model(path), "CPU", exact)({0: x})
    return {next(iter(output.names)): value for output, value in answers.items()}


def by_onnx_runtime(path, x):
    session = pytest.importorskip("onnxruntime").InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {session.get_inputs()[0].name: x})))


def test_openvino_reads_the_saved_model():
    answers = by_openvino(MODEL / "1", ROWS)
    np.testing.assert_allclose(answers["probability"], PROBABILITY, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(answers["label"], LABEL)


@pytest.mark.parametrize(
    ("form", "ask", "needed"), [("onnx", by_onnx_runtime, "tf2onnx"), ("openvino", by_openvino, "openvino")]
)
def test_a_classifier_in_other_formats_decides_as_keras_does(form, ask, needed, tmp_path):
    pytest.importorskip(needed)
    keras.utils.set_random_seed(0)
    model, inputs, _ = exported_models.functional()
    x = np.asarray(next(iter(inputs.values())) if isinstance(inputs, dict) else inputs, "float32")
    threshold = float(np.median(model.predict(x, verbose=0)))
    classifier = as_classifier(model, threshold=threshold)
    expected = classifier.predict(x, verbose=0)
    path = str(tmp_path / ("model.onnx" if form == "onnx" else "model.xml"))
    classifier.export(path, format=form, verbose=False)
    answers = ask(path, x)
    np.testing.assert_allclose(answers["probability"], expected["probability"], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(answers["label"], expected["label"])
    assert 0 < answers["label"].mean() < 1


def test_the_recorded_messages_are_those_of_the_committed_classifier():
    predict_pb2 = pytest.importorskip("tensorflow_serving.apis.predict_pb2")
    request = text_format.Parse(RECORDED["grpc"]["request"], predict_pb2.PredictRequest())
    response = text_format.Parse(RECORDED["grpc"]["response"], predict_pb2.PredictResponse())
    np.testing.assert_array_equal(tf.make_ndarray(request.inputs["features"]), ROWS)
    serve = tf.saved_model.load(str(MODEL / "1")).signatures[request.model_spec.signature_name]
    answers = serve(**{name: tf.constant(tf.make_ndarray(tensor)) for name, tensor in request.inputs.items()})
    assert set(answers) == set(response.outputs)
    for name, rest in (("probability", PROBABILITY), ("label", LABEL)):
        recorded = tf.make_ndarray(response.outputs[name])
        assert recorded.dtype == answers[name].numpy().dtype
        np.testing.assert_allclose(answers[name], recorded, rtol=1e-5)
        np.testing.assert_allclose(recorded, rest, rtol=1e-6)
