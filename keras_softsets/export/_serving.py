"""What a server runs: the model, and the rule that makes a label of each probability."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_softsets.export._signature import Inputs


def label(probability: tf.Tensor, threshold: np.ndarray) -> tf.Tensor:
    """Returns what the classifier decides, 1 where `probability >= threshold` in float32; the rule is only here."""
    return tf.cast(probability >= threshold, tf.int32)


def check_threshold(threshold: Any) -> np.ndarray:
    """Returns a number, or one for each class, as float32; accepts all that NumPy takes for such an array."""
    try:
        values = np.asarray(threshold)
    except ValueError:  # ragged
        values = np.array("")
    values = values.astype("float32") if values.dtype.kind in "fiu" else np.array([math.nan])
    if values.ndim > 1 or not np.all((values >= 0) & ((values <= 1) | (values == math.inf))):
        raise ValueError(
            f"`threshold` must be a number in [0, 1] or inf, or a sequence of such. Received: threshold={threshold}"
        )
    return values


def trace(model: keras.Model, inputs: Inputs, threshold: np.ndarray, from_logits: bool) -> Any:
    """Returns the function from named tensors to `probability` and `label`; errors of the model are raised here."""

    def serve(tensors: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        output = model(inputs.packed(tensors), training=False)
        _check_output(output, threshold)
        output = tf.cast(output, tf.float32)  # before the sigmoid: a float16 one is 1.0 from logits of 8.3 on
        probability = tf.sigmoid(output) if from_logits else output
        return {"probability": probability, "label": label(probability, threshold)}

    def traced(any_batch_size: bool) -> Any:
        specs = inputs.specs(any_batch_size=any_batch_size)
        function = tf.function(serve, input_signature=[specs], autograph=False)
        function.get_concrete_function()
        return function

    if is_stateful(model):  # would accept any batch and fail on most
        return traced(any_batch_size=False)
    try:
        return traced(any_batch_size=True)
    except Exception:
        if not inputs.declare_batch_size():
            raise
        return traced(any_batch_size=False)


def is_stateful(model: keras.Model) -> bool:
    """Returns whether a layer keeps a state, of a fixed number of rows, from one batch to the next."""
    # Keras 3 has no public name for all layers, including those in wrappers and in models.
    return any(getattr(layer, "stateful", False) for layer in model._flatten_layers())


def check_probabilities(probability: tf.Tensor) -> None:
    """Raises if what the model answered to an example cannot be probabilities."""
    values = probability.numpy()
    if not np.all((values >= -1e-6) & (values <= 1 + 1e-6)):  # an average of probabilities can be 1.0000001
        raise ValueError(
            "`model` must answer `warmup` with probabilities; for logits, pass from_logits=True. "
            f"Received: outputs from {values.min():g} to {values.max():g}"
        )


def _check_output(output: Any, threshold: np.ndarray) -> None:
    if not tf.is_tensor(output):
        raise ValueError(f"`model` must have one output tensor. Received: {type(output).__name__} of {len(output)}")
    if threshold.ndim and (len(output.shape) < 2 or output.shape[-1] != len(threshold)):
        raise ValueError(
            f"`threshold` must be a number, or one for each of the output's classes. "
            f"Received: {len(threshold)} thresholds for an output of shape {tuple(output.shape)}"
        )
