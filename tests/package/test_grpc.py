"""The documentation's gRPC client, with the real service of `tensorflow-serving-api`, against a stand-in server."""

import contextlib
import pathlib
import re
from concurrent import futures

import exported_models
import keras
import numpy as np
import pytest
import tensorflow as tf
from exported_models import fresh_answer

from keras_softsets import export_classifier

MISSING = "tensorflow-serving-api is not installed"
grpc = pytest.importorskip("grpc", reason="grpcio is not installed")
predict_pb2 = pytest.importorskip("tensorflow_serving.apis.predict_pb2", reason=MISSING)
prediction_service_pb2_grpc = pytest.importorskip("tensorflow_serving.apis.prediction_service_pb2_grpc", reason=MISSING)
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "serving.md"
CLIENT = next(
    block
    for block in re.findall(r"^```py\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    if "PredictionServiceStub" in block
)


class Service(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Answers as TF Serving does: the model is found by its name, and its signature has a default."""

    def __init__(self, models):
        self.models, self.requests = models, []

    def Predict(self, request, context):
        self.requests.append(request)
        if request.model_spec.name not in self.models:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Servable not found: {request.model_spec.name}")
        serve = self.models[request.model_spec.name].signatures[request.model_spec.signature_name or "serving_default"]
        outputs = serve(**{name: tf.constant(tf.make_ndarray(tensor)) for name, tensor in request.inputs.items()})
        response = predict_pb2.PredictResponse()
        for name, tensor in outputs.items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(tensor.numpy()))
        return response


@contextlib.contextmanager
def serving(service):
    server = grpc.server(futures.ThreadPoolExecutor(1))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(service, server)
    port = server.add_insecure_port("localhost:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A model that takes raw rows, and its export."""
    keras.utils.set_random_seed(4)
    model, _, _ = exported_models.preprocessing()
    return model, export_classifier(model, tmp_path_factory.mktemp("people"), threshold=0.5)


def test_the_client_gets_the_answers_of_the_model(people):
    model, version = people
    service = Service({"people": tf.saved_model.load(version)})
    names = {}
    with serving(service) as port:
        exec(CLIENT.replace("localhost:8500", f"localhost:{port}"), names)
    expected = fresh_answer(model, {name: column.numpy() for name, column in names["rows"].items()})
    answered = {name: tf.make_ndarray(tensor) for name, tensor in names["answer"].outputs.items()}
    np.testing.assert_allclose(answered["probability"], expected, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(answered["label"], expected >= 0.5)
    assert len(service.requests) == 1


def test_a_model_that_is_not_served_is_an_error_of_the_client(people):
    with serving(Service({"other": None})) as port, pytest.raises(grpc.RpcError, match="Servable not found: people"):
        exec(CLIENT.replace("localhost:8500", f"localhost:{port}"), {})
