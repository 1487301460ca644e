"""Files of a server: numbered versions of a model, and warm-up requests.

Each version appears in the watched folder by one rename and never changes.

Warm-up requests are what a server answers before it reports a version as ready. The file is a TFRecord of
`tensorflow.serving.PredictionLog` messages. A request needs only a few of their fields, whose numbers cannot change
without breaking every client. They are written here by hand, so `tensorflow-serving-api` is not needed. See
[SavedModel Warmup](https://www.tensorflow.org/tfx/serving/saved_model_warmup).
"""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from keras_softsets._checks import check_whole_number

if TYPE_CHECKING:
    import tensorflow as tf

_HIGHEST = 2**63 - 1  # TF Serving reads the names as int64 and skips those that do not fit


def check_version(folder: pathlib.Path, version: int | None) -> None:
    """Raises unless `version` is a number that the folder does not have yet, or `None`."""
    if version is not None:
        check_whole_number("version", version, 0, _HIGHEST)
        if folder.is_dir() and version in _versions(folder):
            raise _exists(folder, version)


def publish(finished: pathlib.Path, folder: pathlib.Path, version: int | None) -> pathlib.Path:
    """Turns a finished folder into a version, by default the one after the highest, and returns its new path."""
    while True:
        target = folder / str(_next_version(folder) if version is None else version)
        try:
            # Fails if another export was faster: no system renames a folder onto one that contains files.
            finished.rename(target)
        except OSError as error:
            if not target.exists():
                raise
            if version is not None:
                raise _exists(folder, version) from error
        else:
            return target


def flush(folder: pathlib.Path) -> None:
    """Flushes a folder's files to disk, lest a power cut after the rename leave a version of empty files."""
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb+") as opened:
                os.fsync(opened.fileno())


def _versions(folder: pathlib.Path) -> set[int]:
    numbers = {int(child.name) for child in folder.iterdir() if re.fullmatch(r"[0-9]+", child.name)}
    return {number for number in numbers if number <= _HIGHEST}


def _next_version(folder: pathlib.Path) -> int:
    highest = max(_versions(folder), default=0)
    if highest == _HIGHEST:
        raise ValueError(
            f"`version` must be given, because {str(folder)!r} has version {highest} already, the highest that a "
            "server can read. Received: version=None"
        )
    return highest + 1


def _exists(folder: pathlib.Path, version: int) -> FileExistsError:
    return FileExistsError(f"`version` must be new, but is in {str(folder)!r} already. Received: version={version}")


FILE = pathlib.PurePath("assets.extra", "tf_serving_warmup_requests")


def write_warmup(folder: pathlib.Path, model_name: str, inputs: Mapping[str, tf.Tensor]) -> None:
    """Adds a request for `serving_default` to a SavedModel."""
    import tensorflow as tf

    path = folder / FILE
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(prediction_log(model_name, inputs))


def prediction_log(model_name: str, inputs: Mapping[str, tf.Tensor]) -> bytes:
    """Returns a serialised `PredictionLog` with one `PredictRequest`."""
    import tensorflow as tf

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
