"""Warm-up requests for TF Serving: what a server answers before it reports a version as ready.

The file is a TFRecord of `tensorflow.serving.PredictionLog` messages. A request needs only a few of their fields, whose
numbers cannot change without breaking every client. They are written here by hand, so `tensorflow-serving-api` is not
needed. See [SavedModel Warmup](https://www.tensorflow.org/tfx/serving/saved_model_warmup).
"""

import pathlib
from collections.abc import Mapping

import tensorflow as tf

FILE = pathlib.PurePath("assets.extra", "tf_serving_warmup_requests")


def write_warmup(folder: pathlib.Path, model_name: str, inputs: Mapping[str, tf.Tensor]) -> None:
    """Adds a request for `serving_default` to a SavedModel."""
    path = folder / FILE
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(prediction_log(model_name, inputs))


def prediction_log(model_name: str, inputs: Mapping[str, tf.Tensor]) -> bytes:
    """Returns a serialised `PredictionLog` with one `PredictRequest`."""
    model_spec = _field(1, model_name.encode()) + _field(3, b"serving_default")  # ModelSpec: name, signature_name
    request = _field(1, model_spec)  # PredictRequest: model_spec, and a map of inputs with key and value
    for name, tensor in inputs.items():
        value = tf.make_tensor_proto(tensor.numpy()).SerializeToString()
        request += _field(2, _field(1, name.encode()) + _field(2, value))
    return _field(6, _field(1, request))  # PredictionLog: predict_log; PredictLog: request


def _field(number: int, content: bytes) -> bytes:
    """Returns a field of protobuf's wire type 2: its number, the length of the content, the content."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Returns seven bits in each byte, the lowest first; the eighth bit says that more follow."""
    more = b""
    while value >= 128:
        more += bytes([value & 127 | 128])
        value >>= 7
    return more + bytes([value])
