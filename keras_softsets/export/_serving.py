"""What a server runs: the model, and the rules that turn probabilities into labels."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_softsets._backend import clip
from keras_softsets._samples import Samples
from keras_softsets.decisions import Argmax
from keras_softsets.export._signature import Inputs
from keras_softsets.heaviside import StepHeaviside


def answer(output: tf.Tensor, threshold: np.ndarray | Argmax, from_logits: bool) -> dict[str, tf.Tensor]:
    """Returns what the classifier answers for the model's output, in float32; the rules are only here.

    The label is 1 where `probability >= threshold`, or the id of the class that wins.
    """
    if isinstance(threshold, Argmax):
        probability = tf.nn.softmax(output) if from_logits else output
        prediction = output if from_logits else clip(output, 0.0, 1.0)  # as metrics decide
        label = threshold.winner(Samples(None, prediction, None, logits=from_logits))
    else:
        probability = tf.sigmoid(output) if from_logits else output
        label = probability >= threshold
    return {"probability": probability, "label": tf.cast(label, tf.int32)}


def check_threshold(threshold: Any) -> np.ndarray | Argmax:
    """Returns one threshold, or one for each class, as float32, from anything NumPy can convert; or the argmax."""
    if isinstance(threshold, Argmax) or (isinstance(threshold, str) and threshold == "argmax"):
        return threshold if isinstance(threshold, Argmax) else Argmax()
    try:
        values = np.asarray(threshold)
    except ValueError:  # ragged
        values = np.array("")
    values = values.astype("float32") if values.dtype.kind in "fiu" else np.array([math.nan])
    if values.ndim > 1 or not np.all((values >= 0) & ((values <= 1) | (values == math.inf))):
        raise ValueError(
            "`threshold` must be a number in [0, 1] or inf, a sequence of such, 'argmax' or Argmax(...). "
            f"Received: threshold={threshold}"
        )
    return values


def trace(model: keras.Model, inputs: Inputs, threshold: np.ndarray | Argmax, from_logits: bool) -> Any:
    """Returns the function from named tensors to `probability` and `label`; raises errors of the model at once."""

    def serve(tensors: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        output = model(inputs.packed(tensors), training=False)
        _check_output(output, threshold)
        output = tf.cast(output, tf.float32)  # before the sigmoid, which in float16 is 1.0 for logits of 8.3 or more
        return answer(output, threshold, from_logits)

    def traced(any_batch_size: bool) -> Any:
        specs = inputs.specs(any_batch_size=any_batch_size)
        function = tf.function(serve, input_signature=[specs], autograph=False)
        function.get_concrete_function()
        return function

    if is_stateful(model):  # it would accept any batch size and fail on most
        return traced(any_batch_size=False)
    try:
        return traced(any_batch_size=True)
    except Exception:
        if not inputs.declare_batch_size():
            raise
        return traced(any_batch_size=False)


def is_stateful(model: keras.Model) -> bool:
    """Returns whether a layer keeps a state with a fixed number of rows from one batch to the next."""
    # Keras 3 has no public name for all layers, including those in wrappers and in models.
    return any(getattr(layer, "stateful", False) for layer in model._flatten_layers())


def check_probabilities(probability: tf.Tensor) -> None:
    """Raises if the model's answers to an example cannot be probabilities."""
    values = probability.numpy()
    if not np.all((values >= -1e-6) & (values <= 1 + 1e-6)):  # an average of probabilities can be 1.0000001
        raise ValueError(
            "`model` must answer `warmup` with probabilities; for logits, pass from_logits=True. "
            f"Received: outputs from {values.min():g} to {values.max():g}"
        )


def _check_output(output: Any, threshold: np.ndarray | Argmax) -> None:
    if not tf.is_tensor(output):
        raise ValueError(f"`model` must have one output tensor. Received: {type(output).__name__} of {len(output)}")
    if isinstance(threshold, Argmax):
        threshold.check(StepHeaviside(), output.shape[-1] if len(output.shape) > 1 else 1)
    elif threshold.ndim and (len(output.shape) < 2 or output.shape[-1] != len(threshold)):
        raise ValueError(
            f"`threshold` must be a number, or one for each of the output's classes. "
            f"Received: {len(threshold)} thresholds for an output of shape {tuple(output.shape)}"
        )
