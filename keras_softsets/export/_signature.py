"""The inputs of an exported model: the structure it is called with, and the name of each tensor in requests."""

from __future__ import annotations

import dataclasses
import inspect
import keyword
import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

if TYPE_CHECKING:
    import tensorflow as tf

_NAMED_BY_KERAS = re.compile(r"(keras_tensor|input_layer)(_\d+)?")


@dataclasses.dataclass(frozen=True)
class Inputs:
    """KerasTensors in the structure a model is called with, and their names in the order of `keras.tree`."""

    structure: Any
    names: list[str]

    def specs(self, *, any_batch_size: bool) -> dict[str, tf.TensorSpec]:
        """Returns what the signature accepts: batches of any size, or of the sizes that the model declares."""
        import tensorflow as tf

        tensors = zip(self.names, keras.tree.flatten(self.structure), strict=True)
        shapes = {name: ((None, *t.shape[1:]) if any_batch_size else t.shape, t.dtype) for name, t in tensors}
        return {name: tf.TensorSpec(shape, dtype, name) for name, (shape, dtype) in shapes.items()}

    def declare_batch_size(self) -> bool:
        """Returns whether an input was declared with a fixed batch size."""
        return any(tensor.shape[0] is not None for tensor in keras.tree.flatten(self.structure))

    def packed(self, tensors: Mapping[str, tf.Tensor]) -> Any:
        """Returns named tensors in the structure that the model takes."""
        return keras.tree.pack_sequence_as(self.structure, [tensors[name] for name in self.names])

    def unpacked(self, batch: Any, specs: Mapping[str, tf.TensorSpec]) -> dict[str, tf.Tensor]:
        """Returns a batch in the structure that the model takes as named tensors."""
        import tensorflow as tf

        leaves: list[Any] = []
        try:
            keras.tree.map_structure_up_to(self.structure, leaves.append, batch)
            values = zip(self.names, leaves, strict=True)
            tensors = {name: tf.constant(np.asarray(value), specs[name].dtype) for name, value in values}
        except (ValueError, TypeError) as error:
            raise ValueError(f"`warmup` must be a batch of inputs as the model takes them, but {error}") from error
        fits = all(specs[name].shape.is_compatible_with(tensor.shape) for name, tensor in tensors.items())
        rows = {tensor.shape[0] for tensor in tensors.values()} if fits else set()
        if len(rows) != 1 or rows == {0}:
            shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
            expected = {name: tuple(spec.shape) for name, spec in specs.items()}
            raise ValueError(
                f"`warmup` must have one or more rows, the same number for each input, and the shapes {expected}. "
                f"Received: arrays of shapes {shapes}"
            )
        return tensors


def inputs_of(model: keras.Model) -> Inputs:
    """Returns the inputs of a built model."""
    structure = _structure(model)
    return Inputs(structure, _names(structure))


def _structure(model: keras.Model) -> Any:
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
        return keras.KerasTensor((None, *shapes[1:]), "float32")  # the batch size at build time is not a requirement
    return type(shapes)(_as_tensors(shape) for shape in shapes)


def _names(structure: Any) -> list[str]:
    leaves = keras.tree.flatten_with_path(structure)
    keys = ["_".join(key for key in path if isinstance(key, str)) for path, _ in leaves]
    names = []
    for index, (key, (path, tensor)) in enumerate(zip(keys, leaves, strict=True)):
        name = key or tensor.name
        if key and Counter(keys)[key] > 1:  # a list under a key
            name = tensor.name if not _NAMED_BY_KERAS.fullmatch(tensor.name) else "_".join(map(str, path))
        if _NAMED_BY_KERAS.fullmatch(name):
            name = "inputs" if len(leaves) == 1 else f"inputs_{index}"
        names.append(_argument(re.sub(r"\W", "_", name, flags=re.ASCII)))
    if len(set(names)) < len(names):
        raise ValueError(f"`model` must have inputs that differ in letters, digits and '_'. Received: {names}")
    return names


def _argument(name: str) -> str:
    """Returns a valid name: TensorFlow makes names into arguments of a Python function, and refuses some."""
    usable = name.isidentifier() and not keyword.iskeyword(name) and name != "self" and not name.startswith("_")
    return name if usable else f"input_{name}"
