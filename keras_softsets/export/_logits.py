"""Whether a model certainly ends in logits, that is, in a linear layer whose values reach the output unchanged."""

from __future__ import annotations

from typing import Any

import keras

_layers = keras.layers
# Compared by exact type: a subclass may do something else in its `call`.
_WITH_ACTIVATION = (
    *(_layers.Dense, _layers.EinsumDense),
    *(_layers.Conv1D, _layers.Conv2D, _layers.Conv3D),
    *(_layers.Conv1DTranspose, _layers.Conv2DTranspose, _layers.Conv3DTranspose),
    *(_layers.DepthwiseConv1D, _layers.DepthwiseConv2D, _layers.SeparableConv1D, _layers.SeparableConv2D),
)
_VALUES_UNCHANGED = (_layers.Reshape, _layers.Flatten, _layers.Permute, _layers.Identity)


def linear_head(model: keras.Model) -> keras.Layer | None:
    """Returns the linear layer whose values are the model's output; `None` if there is none or it is uncertain."""
    outputs = getattr(model, "outputs", None)
    is_graph = type(model).call.__module__.startswith("keras.")  # functional or sequential, with the `call` of Keras
    return _origin(outputs[0]) if is_graph and outputs and len(outputs) == 1 else None


def _origin(tensor: Any) -> keras.Layer | None:
    history = getattr(tensor, "_keras_history", None)  # Keras 3 has no public name for it
    if history is None:
        return None
    layer = history.operation
    if isinstance(layer, keras.Model):
        return linear_head(layer)
    if type(layer) in _VALUES_UNCHANGED or (type(layer) is _layers.Activation and _is_linear(layer)):
        return _origin(layer._inbound_nodes[history.node_index].input_tensors[0])
    while type(layer) is _layers.TimeDistributed:
        layer = layer.layer
    return layer if type(layer) in _WITH_ACTIVATION and _is_linear(layer) else None


def _is_linear(layer: Any) -> bool:
    return layer.activation is keras.activations.linear
