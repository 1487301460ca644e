"""A classifier for production: the model, its threshold and its label in one SavedModel, laid out for TF Serving."""

import inspect
import keyword
import math
import numbers
import os
import pathlib
import re
import tempfile
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

_NAMED_BY_KERAS = re.compile(r"(keras_tensor|input_layer)(_\d+)?")


def export_classifier(
    model: keras.Model,
    path: str | os.PathLike[str],
    threshold: float | Sequence[float] | np.ndarray = 0.5,
    version: int | None = None,
    *,
    from_logits: bool = False,
) -> pathlib.Path:
    """Writes `path/<version>/`, a SavedModel that answers with probabilities and with labels.

    Its signature `serving_default` returns `probability` (float32) and `label` (int32), both of the shape of the
    model's output, where `label` is 1 if `probability >= threshold` in float32, as in `keras_softsets.metrics`. Neither
    Keras nor keras_softsets is needed to load it.

    The inputs keep their names: those of the model's `Input` layers, or the keys if it takes a dictionary. What only
    Keras has named (`keras_tensor_3`) is called `inputs`, or `inputs_0`, `inputs_1` and so on where there are several.
    Characters other than letters, digits and `_` become `_`, and what Python refuses as the name of an argument
    (`class`, `1x`), or TensorFlow does (`_x`), gets `input_` in front. A subclassed model declares no inputs: it gets
    float32 of the shapes it was built with. Wrap it to say more: `keras.Model(inputs, model(inputs))`.

    The version appears by a single rename of a finished and flushed folder. A server that watches `path` never sees
    half of it, and of several exports at the same time each gets a version of its own. A crash can leave a hidden
    folder `.export-*` in `path`, which servers ignore and which may be deleted.

    Args:
        model: A functional, sequential or subclassed model with one output; it must be built.
        path: Local folder that holds the versions, created if needed.
        threshold: A number in [0, 1], or one for each class (the last axis of the output); `inf` is never reached.
            Defaults to `0.5`.
        version: Number of the version. Defaults to `None`: one more than the highest that exists, and 1 at first.
        from_logits: Whether the model's output needs a sigmoid to become a probability. Defaults to `False`.

    Returns:
        The folder of the new version.

    Raises:
        ValueError: If an argument is not as described.
        FileExistsError: If `version` exists. Nothing is ever overwritten.

    Examples:
        >>> model = keras.Sequential([keras.Input((2,), name="x"), keras.layers.Dense(1, kernel_initializer="ones")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     served = tf.saved_model.load(export_classifier(model, folder, threshold=0.7, from_logits=True))
        >>> answer = served.signatures["serving_default"](x=tf.constant([[0.0, 0.0], [1.0, 0.0]]))
        >>> [f"{p:.4f}" for p in answer["probability"].numpy().ravel()], answer["label"].numpy().ravel().tolist()
        (['0.5000', '0.7311'], [0, 1])

    Reference:
        [TF Serving's REST API](https://www.tensorflow.org/tfx/serving/api_rest).
    """
    folder = _checked_folder(path)
    _check_version(version)
    serve = _serving_function(model, _checked_threshold(threshold), from_logits)
    archive = keras.export.ExportArchive()
    archive.track(model)  # for the lookup tables; variables would be found without it
    archive.add_endpoint("serving_default", serve)  # traces, so that errors in the model come before any file
    folder.mkdir(parents=True, exist_ok=True)
    if version in _versions(folder):
        raise _exists(folder, version)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as temporary:
        finished = pathlib.Path(temporary) / "model"  # not the temporary folder itself: that one is private (0700)
        archive.write_out(finished, verbose=False)
        _flush(finished)
        return _publish(finished, folder, version)


def _serving_function(model: keras.Model, threshold: np.ndarray, from_logits: bool) -> Any:
    structure = _input_structure(model)
    names = _input_names(structure)

    def serve(inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        output = model(keras.tree.pack_sequence_as(structure, [inputs[name] for name in names]), training=False)
        _check_output(output, threshold)
        output = tf.cast(output, tf.float32)  # before the sigmoid: a float16 one is 1.0 from logits of 8.3 on
        probability = tf.sigmoid(output) if from_logits else output
        return {"probability": probability, "label": tf.cast(probability >= threshold, tf.int32)}

    tensors = dict(zip(names, keras.tree.flatten(structure), strict=True))
    specs = {name: tf.TensorSpec((None, *t.shape[1:]), t.dtype, name) for name, t in tensors.items()}
    return tf.function(serve, input_signature=[specs], autograph=False)


def _input_structure(model: keras.Model) -> Any:
    """Returns KerasTensors in the structure that the model is called with."""
    if not model.built:
        raise ValueError(
            f"`model` must be built: call it on a batch of data first. Received: model={model.name!r}, unbuilt"
        )
    if isinstance(model, keras.Sequential):
        return model.inputs[0]  # Sequential.input does not exist before the model is called on a KerasTensor (3.15.1)
    if hasattr(model, "inputs"):
        return model.input
    shapes = (model.get_build_config() or {}).get("input_shape")
    if shapes is None or _required_arguments(model) > 1:
        raise ValueError(
            "`model` must take its inputs as one argument and know their shapes: wrap it as "
            f"keras.Model(inputs, model(inputs)). Received: model={model.name!r}"
        )
    return _as_tensors(shapes)


def _required_arguments(model: keras.Model) -> int:
    parameters = inspect.signature(model.call).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty and p.name not in ("training", "mask") for p in positional)


def _as_tensors(shapes: Any) -> Any:
    if isinstance(shapes, dict):
        return {key: _as_tensors(shape) for key, shape in shapes.items()}
    if all(size is None or isinstance(size, int) for size in shapes):
        return keras.KerasTensor(tuple(shapes), "float32")
    return type(shapes)(_as_tensors(shape) for shape in shapes)


def _input_names(structure: Any) -> list[str]:
    leaves = keras.tree.flatten_with_path(structure)
    names = []
    for index, (path, tensor) in enumerate(leaves):
        name = "_".join(key for key in path if isinstance(key, str)) or tensor.name
        if _NAMED_BY_KERAS.fullmatch(name):
            name = "inputs" if len(leaves) == 1 else f"inputs_{index}"
        names.append(_argument(re.sub(r"\W", "_", name, flags=re.ASCII)))
    if len(set(names)) < len(names):
        raise ValueError(f"`model` must have inputs that differ in letters, digits and '_'. Received: {names}")
    return names


def _argument(name: str) -> str:
    """TensorFlow makes the names arguments of a Python function, and refuses some."""
    usable = name.isidentifier() and not keyword.iskeyword(name) and name != "self" and not name.startswith("_")
    return name if usable else f"input_{name}"


def _check_output(output: Any, threshold: np.ndarray) -> None:
    if not tf.is_tensor(output):
        raise ValueError(f"`model` must have one output tensor. Received: {type(output).__name__} of {len(output)}")
    if threshold.ndim and (len(output.shape) < 2 or output.shape[-1] != len(threshold)):
        raise ValueError(
            f"`threshold` must be a number, or one for each of the output's classes. "
            f"Received: {len(threshold)} thresholds for an output of shape {tuple(output.shape)}"
        )


def _checked_threshold(threshold: Any) -> np.ndarray:
    values = np.asarray(threshold)
    values = values.astype("float32") if values.dtype.kind in "fiu" else np.array([math.nan])
    if values.ndim > 1 or not np.all((values >= 0) & ((values <= 1) | (values == math.inf))):
        raise ValueError(
            f"`threshold` must be a number in [0, 1] or inf, or a sequence of such. Received: threshold={threshold}"
        )
    return values


def _checked_folder(path: str | os.PathLike[str]) -> pathlib.Path:
    if not os.fspath(path) or "://" in os.fspath(path):  # elsewhere a rename is not atomic
        raise ValueError(f"`path` must be a local folder. Received: path={os.fspath(path)!r}")
    return pathlib.Path(path).expanduser()


def _check_version(version: int | None) -> None:
    is_whole = isinstance(version, numbers.Integral) and not isinstance(version, bool)
    if version is not None and not (is_whole and 0 <= version < 2**63):
        raise ValueError(f"`version` must be a whole number of 64 bits from 0 on. Received: version={version!r}")


def _versions(folder: pathlib.Path) -> set[int]:
    return {int(child.name) for child in folder.iterdir() if re.fullmatch(r"[0-9]+", child.name)}


def _flush(folder: pathlib.Path) -> None:
    """Brings a folder's files to the disk, lest a power cut after the rename leaves a version of empty files."""
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb+") as opened:
                os.fsync(opened.fileno())


def _publish(finished: pathlib.Path, folder: pathlib.Path, version: int | None) -> pathlib.Path:
    while True:
        target = folder / str(max(_versions(folder), default=0) + 1 if version is None else version)
        try:
            # Fails if another export has been faster: no system renames a folder onto one with files in it.
            finished.rename(target)
        except OSError as error:
            if not target.exists():
                raise
            if version is not None:
                raise _exists(folder, version) from error
        else:
            return target


def _exists(folder: pathlib.Path, version: int) -> FileExistsError:
    return FileExistsError(f"`version` must be new, but is in {str(folder)!r} already. Received: version={version}")
