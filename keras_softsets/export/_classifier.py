"""A model that decides, so that every format to which Keras can save or export it carries the decision.

The rules that turn a model's output into a probability and a label are in one layer, `Decide`, and only there.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets import decisions
from keras_softsets._backend import Tensor, clip, constant
from keras_softsets._checks import as_floats, check_flag, shown
from keras_softsets.decisions._decision import TINY, DecisionLike
from keras_softsets.export._signature import inputs_of
from keras_softsets.heaviside import StepHeaviside
from keras_softsets.samples import Samples

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


def check_from_logits(model: keras.Model, from_logits: bool) -> None:
    """Raises if a model that ends in logits is said to answer with probabilities."""
    if not from_logits and (layer := linear_head(model)) is not None:
        raise ValueError(
            "`from_logits` must be True for a model that ends in a linear layer, because its outputs are logits; if "
            "they are probabilities, end it in keras.layers.ReLU(max_value=1.0), which leaves them unchanged. "
            f"Received: from_logits=False, last layer {layer.name!r}"
        )


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


_SPAN = 40.0  # of offsets whose exponentials are far from the smallest float32


def _with_offsets(output: Tensor, offsets: np.ndarray, from_logits: bool) -> Tensor:
    """Numbers in the order of log p + offsets of float64, found in float32: LiteRT has no logarithm of float64.

    Each is the sum of two: the second is what the first lost by rounding.

    Reference:
        [Dekker, 1971](https://doi.org/10.1007/BF01397083)
    """
    numbers = offsets if from_logits else np.exp(offsets - offsets.max())
    high = numbers.astype("float32")
    low = constant((numbers - high).astype("float32"))
    if from_logits:
        high = constant(high)
        total = output + high
        part = total - output
        one = ops.cast(ops.equal(output, output), output.dtype)  # else TensorFlow adds high and low, which is high
        lost = (output - (total - part)) + (high - part) + low * one
    else:
        p = ops.maximum(output, TINY)
        total = p * constant(high)
        (a, b), (c, d) = _halves(p), map(constant, _halves(high))
        lost = b * d - (((total - a * c) - a * d) - b * c) + p * low  # a sum would be added in another order
    return (total - ops.max(total, -1, keepdims=True)) + lost


def _halves(x: Any) -> tuple[Any, Any]:
    """The upper and the lower twelve bits: products of such halves are exact."""
    scaled = x * np.float32(4097)
    upper = scaled - (scaled - x)
    return upper, x - upper


@keras.saving.register_keras_serializable(package="keras_softsets")
class Decide(keras.layers.Layer):
    """Turns a model's output into `probability` and `label`.

    The label is 1 where the probability is at least the threshold, or the id of the class that wins. Both are computed
    in float32: a float16 sigmoid is 1.0 for logits of 8.3 or more.

    Args:
        threshold: One decision.
        shift: What is taken off the logit of the probability, one number or one for each class; the label does not
            depend on it. Defaults to `0.0`.
        from_logits: Whether the output is logits, of a sigmoid or with an argmax of a softmax. Defaults to `False`.
        **options: Those of `keras.layers.Layer` except `dtype`.
    """

    def __init__(
        self, threshold: DecisionLike, shift: float | Sequence[float] = 0.0, from_logits: bool = False, **options: Any
    ) -> None:
        super().__init__(**{**options, "dtype": "float32"})  # Keras casts what the layer is called on
        self._decision = check_threshold(threshold)
        self._shift = _check_shift(shift)
        self._from_logits = check_flag("from_logits", from_logits)

    def call(self, output: Tensor) -> dict[str, Tensor]:
        """Returns both, by name."""
        if self._decision.argmax:
            return {"probability": self._of_softmax(output), "label": ops.cast(self._winner(output), "int32")}
        p = ops.sigmoid(output) if self._from_logits else output
        label = p >= constant(np.asarray(self._decision.written(), "float32"))
        return {"probability": self._of_sigmoids(output), "label": ops.cast(label, "int32")}

    def _winner(self, output: Tensor) -> Tensor:
        prediction = output if self._from_logits else clip(output, 0.0, 1.0)  # as metrics decide
        offsets = np.asarray(getattr(self._decision, "offsets", None) or 0.0)
        if 0 < np.ptp(offsets) < _SPAN:
            strengths = _with_offsets(prediction, offsets, self._from_logits)
        else:
            strengths = self._decision.strengths(Samples(None, prediction, None, logits=self._from_logits))
        # The first of the largest, as by `argmax`, of which Keras (3.15.1) makes operations that ONNX does not have.
        return ops.top_k(strengths, 1)[1][..., 0]

    def _of_sigmoids(self, output: Tensor) -> Tensor:
        """Probabilities of a sigmoid, shifted."""
        if self._from_logits:
            return ops.sigmoid(output - constant(self._shift) if self._shift.any() else output)
        if not self._shift.any():
            return output
        odds = constant(np.exp(np.clip(self._shift, -80, 80)))  # within float32, lest 0 or 1 become NaN
        return output / (output + odds * (1 - output))

    def _of_softmax(self, output: Tensor) -> Tensor:
        """Probabilities of a softmax, shifted."""
        if self._from_logits:
            return ops.softmax(output - constant(self._shift) if self._shift.any() else output)
        if not self._shift.any():
            return output
        shares = output * constant(np.exp(np.maximum(self._shift.min() - self._shift, -80)))  # within float32
        total = ops.sum(shares, -1, keepdims=True)
        return shares / ops.where(total > 0, total, 1.0)

    def check(self, output: Any) -> None:
        """Raises a `ValueError` unless the output is one tensor with as many classes as the decision and the shift."""
        if not hasattr(output, "shape"):
            raise ValueError(f"`model` must have one output tensor. Received: {type(output).__name__} of {len(output)}")
        classes, shape = output.shape[-1] if len(output.shape) > 1 else 1, tuple(output.shape)
        if self._decision.argmax:
            self._decision.check(StepHeaviside(), classes)
        elif self._decision.per_class and (len(shape) < 2 or classes != len(self._decision)):
            raise ValueError(
                f"`threshold` must be a number, or one for each of the output's classes. "
                f"Received: {len(self._decision)} thresholds for an output of shape {shape}"
            )
        if self._shift.size > 1 and self._shift.size != classes:
            raise ValueError(
                f"`shift` must be a number, or one for each of the output's classes. "
                f"Received: {self._shift.size} numbers for an output of shape {shape}"
            )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        ours = {"threshold": self._decision.config(), "shift": self._shift.tolist(), "from_logits": self._from_logits}
        return {**super().get_config(), **ours}


def check_threshold(threshold: DecisionLike) -> Any:
    """Returns a decision that a server can make: one threshold, one for each class, or the argmax."""
    decision = decisions.get(threshold)
    if decision.rates:
        raise ValueError(
            "`threshold` must not depend on data that a server does not have; pass `metric.threshold()` of a metric at "
            f"this operating point, or what `tune_threshold(..., at_least=...)` finds. Received: threshold={decision!r}"
        )
    if decision.rows != 1:
        raise ValueError(
            "`threshold` must be one decision, not a sweep; for one threshold for each class pass PerClass([...]). "
            f"Received: threshold={decision.written()}"
        )
    return decision


def _check_shift(shift: Any) -> np.ndarray:
    numbers = as_floats(shift)
    if not numbers or not np.isfinite(numbers).all():
        raise ValueError(f"`shift` must be a finite number, or one for each class. Received: shift={shown(shift)}")
    return np.asarray(numbers, "float32")


def as_classifier(
    model: keras.Model,
    threshold: DecisionLike = 0.5,
    shift: float | Sequence[float] = 0.0,
    *,
    from_logits: bool = False,
) -> keras.Model:
    """Returns a model that answers with probabilities and with labels.

    Its outputs are `probability` (float32) and `label` (int32), both of the shape of the model's output, where `label`
    is 1 if the model's probability is at least the threshold. With `"argmax"`, or an `Argmax` with offsets, the label
    is the id of the class that wins, without the output's last axis. It shares its weights with the model, and can be
    saved as a `.keras` file and exported to every format that Keras has (`classifier.export(...)`).

    Args:
        model: A functional, sequential or subclassed model with one output; it must be built.
        threshold: A number in [0, 1], or inf, which is never reached; `PerClass([...])` for each class (the last axis
            of the output); `"argmax"`, or an `Argmax` with offsets; or what `tune_threshold` returns. Defaults to
            `0.5`.
        shift: A number, or one for each class, that is taken off the logit of `probability`: what
            `GuidedCrossentropy.shift()` returns, so that the probability is calibrated. The label stays as it is.
            Defaults to `0.0`.
        from_logits: Whether the model's output needs a sigmoid, or with the argmax a softmax, to become a probability.
            Defaults to `False`, which is refused for a functional or sequential model that ends in a linear layer.

    Examples:
        >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
        >>> classifier = as_classifier(model, threshold=0.7, shift=1.0, from_logits=True)
        >>> answer = classifier(ops.array([[0.0, 0.0], [1.0, 0.0]]))
        >>> [f"{p:.4f}" for p in answer["probability"][:, 0]], [int(label) for label in answer["label"][:, 0]]
        (['0.2689', '0.5000'], [0, 1])
    """
    decide, inputs = Decide(threshold, shift, from_logits, name="decision"), inputs_of(model)
    check_from_logits(model, from_logits)
    named = zip(inputs.names, keras.tree.flatten(inputs.structure), strict=True)
    tensors = [keras.Input(batch_shape=t.shape, dtype=t.dtype, name=name) for name, t in named]
    packed = keras.tree.pack_sequence_as(inputs.structure, tensors)
    output = model(packed)
    decide.check(output)
    with warnings.catch_warnings():  # Keras wants the key "the color" to be the input's name, which it cannot be
        warnings.filterwarnings("ignore", "When providing `inputs` as a dict", UserWarning)
        return keras.Model(packed, decide(output), name=f"{model.name}_classifier")
