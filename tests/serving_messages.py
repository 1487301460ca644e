"""TF Serving's messages for a prediction, for tests where `tensorflow-serving-api` is not installed."""

from types import SimpleNamespace

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2
from tensorflow.core.framework import tensor_pb2

PACKAGE = "keras_softsets_tests"
STRING, NUMBER = "string", ".google.protobuf.Int64Value"
FIELDS = {  # message: {field: (number, type)}
    "ModelSpec": {"name": (1, STRING), "signature_name": (3, STRING)},
    "PredictRequest": {"model_spec": (1, "ModelSpec"), "inputs": (2, "map")},
    "PredictLog": {"request": (1, "PredictRequest")},
    "PredictionLog": {"predict_log": (6, "PredictLog")},
}
BATCHING = {  # of servables/tensorflow/session_bundle_config.proto, which `tensorflow-serving-api` does not contain
    "BatchingParameters": {
        "max_batch_size": (1, NUMBER),
        "batch_timeout_micros": (2, NUMBER),
        "max_enqueued_batches": (3, NUMBER),
        "num_batch_threads": (4, NUMBER),
    },
}


def declared_messages():
    """Returns classes for the messages of the tables."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{PACKAGE}.proto", package=PACKAGE, syntax="proto3")
    file.dependency.extend([tensor_pb2.DESCRIPTOR.name, wrappers_pb2.DESCRIPTOR.name])
    messages = {**FIELDS, **BATCHING}
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            declare_map(message, field, number) if kind == "map" else declare(message, field, number, kind)
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    found = {name: pool.FindMessageTypeByName(f"{PACKAGE}.{name}") for name in messages}
    return SimpleNamespace(**{name: message_factory.GetMessageClass(message) for name, message in found.items()})


def declare(message, name, number, kind):
    field = message.field.add(name=name, number=number, label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL)
    if kind == STRING:
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
    else:
        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = kind if kind.startswith(".") else f".{PACKAGE}.{kind}"
    return field


def declare_map(message, name, number):
    """Declares map<string, TensorProto>, which in protobuf is a repeated message with a key and a value."""
    entry = message.nested_type.add(name="InputsEntry")
    entry.options.map_entry = True
    declare(entry, "key", 1, STRING)
    declare(entry, "value", 2, ".tensorflow.TensorProto")
    field = declare(message, name, number, f"{message.name}.InputsEntry")
    field.label = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED


def real_messages():
    """Returns those of `tensorflow-serving-api`; an ImportError if it is not installed."""
    from tensorflow_serving.apis import model_pb2, predict_pb2, prediction_log_pb2

    modules = (model_pb2, predict_pb2, prediction_log_pb2)
    return SimpleNamespace(
        **{name: getattr(module, name) for module in modules for name in FIELDS if hasattr(module, name)}
    )
