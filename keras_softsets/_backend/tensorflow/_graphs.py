"""What graphs and tensors of TensorFlow need, besides sums: values, masks, gradients, logits behind an activation."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops
from tensorflow.autograph.experimental import do_not_convert
from tensorflow.errors import OpError
from tensorflow.python.eager.record import should_record_backprop  # TF (2.21) has no public name for it

from keras_softsets._backend._types import Tensor

# All conditions here are plain Python. Converting the whole package, as tf.function does by default, takes 2 seconds.
untraced = do_not_convert
DTYPE_ERRORS = (TypeError, ValueError, OpError)  # what an operation raises for tensors of different dtypes
TENSORFLOW = tuple(int(number) for number in tf.__version__.split(".")[:2])


STATE = "float64"  # the type of variables in losses


def wide() -> str:
    """The type of totals."""
    return "float64"


def total(x: Tensor, axis: int = 0) -> Tensor:
    """The sum along an axis, in the type of totals."""
    return ops.sum(ops.cast(x, "float64"), axis)


def bin_sums(index: Tensor, values: list[Tensor], size: int) -> Tensor:
    """Sums numbers by bin, (values, size)."""
    place = ops.reshape(index, (-1,))
    flat = [ops.reshape(ops.cast(x, "float64"), (-1,)) for x in values]
    return ops.stack([ops.segment_sum(x, place, num_segments=size) for x in flat])


def cond(condition: Tensor, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """One of two values."""
    return ops.cond(condition, yes, no)


def assign_either(condition: Tensor, yes: Callable[[], Any], no: Callable[[], Any], totals: list[Any]) -> None:
    """Calls one of two functions that assign to variables of a metric."""
    ops.cond(condition, yes, no)


def value_of(total: Any) -> Tensor:
    """The value of a variable of `add_total`."""
    return tf.convert_to_tensor(ops.convert_to_tensor(total))  # Keras returns the variable, which each use would read


def one_hot(ids: Tensor, classes: int, dtype: str) -> Tensor:
    """One-hot vectors along a new last axis; 0 for ids that do not exist."""
    return ops.one_hot(ids, classes, dtype=dtype)


def cumsum(x: Tensor, axis: int) -> Tensor:
    """Running sums, in the type of the numbers."""
    return ops.cumsum(x, axis)


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """The matrix product, in the type of the numbers."""
    return ops.matmul(x, y)


def maximum(x: Tensor, low: float) -> Tensor:
    """The larger of a tensor and a number, in the type of the tensor."""
    return ops.maximum(x, low)


def mean(x: Tensor, axis: int | None = None) -> Tensor:
    """The mean, in the type of the numbers."""
    return ops.mean(x, axis)


def constant(x: np.ndarray) -> Any:
    """An array as operations with tensors take it."""
    return x


def clip(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """`ops.clip`, in which NaN stays NaN.

    XLA of TensorFlow 2.18 to 2.20 makes a clamp of it (`tf.clip_by_value` in Keras 3.8 to 3.15), and of a minimum of a
    maximum alike, and a clamp turns NaN into `low`. Two choices have the same values and gradients, but are slower
    without XLA.
    """
    if TENSORFLOW >= (2, 21):
        return ops.clip(x, low, high)
    low, high = ops.cast(low, x.dtype), ops.cast(high, x.dtype)
    return ops.where(x < low, low, ops.where(x > high, high, x))


def keep_nan(x: Tensor, y: Tensor) -> Tensor:
    """A user's function `y` of `x`, with NaN where `x` is NaN: an `ops.clip` inside may have hidden it (see `clip`)."""
    return y if TENSORFLOW >= (2, 21) else ops.where(ops.isnan(x), ops.cast(x, y.dtype), y)


@tf.custom_gradient
def without_nan_gradient(x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Returns `x`, with a gradient of 0 where it would be NaN: one invalid batch must not make all weights NaN."""
    return tf.identity(x), lambda upstream: tf.where(tf.math.is_nan(upstream), tf.zeros_like(upstream), upstream)


def as_graph(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function that is traced once for all sizes of the first axis, for code that is slow to trace."""
    return tf.function(function, autograph=False, reduce_retracing=True)


def compiled(function: Callable[..., Tensor]) -> list[Callable[..., Tensor]]:
    """The function in every way in which this backend runs it, besides eagerly: as a graph, and by XLA."""
    return [tf.function(function, jit_compile=jit) for jit in (False, True)]


def assert_in_graph(suspicious: Tensor, rules: Callable[[], list[tuple[Tensor, str, Tensor]]]) -> None:
    """If `suspicious`, raises the message of the first rule that does not hold, with the range of its values.

    For graphs, where Python cannot look at values. XLA, which cannot raise errors, leaves it out.
    """

    def explain() -> Tensor:
        for holds, message, values in rules():
            received = [tf.reduce_min(values), "to", tf.reduce_max(values)]
            # `tf.debugging.Assert` would add another `tf.cond` for each rule.
            data = [f"{message} Received: values from", *received]
            tf.raw_ops.Assert(condition=holds, data=data, summarize=1)
        return tf.constant(False)

    tf.cond(suspicious, explain, lambda: tf.constant(False))


def bit_patterns(x: Tensor) -> Tensor:
    """The bit patterns of float32 numbers, as int32; older versions of `keras.ops` have no function for this."""
    return tf.bitcast(x, tf.int32)


def outside_of_graphs() -> contextlib.AbstractContextManager[Any]:
    """A scope in which variables have values, even while a step is being traced."""
    return tf.init_scope()


def is_eager(x: Any) -> bool:
    """Whether a tensor has values that Python can look at."""
    return hasattr(x, "numpy")


def mask_of(x: Any) -> Tensor | None:
    """The mask that a layer attached to a tensor."""
    return getattr(x, "_keras_mask", None)


def with_mask(x: Tensor, mask: Tensor) -> Tensor:
    """Attaches a mask to a tensor."""
    x._keras_mask = mask
    return x


def is_dense(x: Any) -> bool:
    """Whether it is a dense tensor; ragged and sparse tensors also have shapes and types, but are refused."""
    return isinstance(x, (tf.Tensor, tf.Variable))


def try_out(function: Callable[[], Any]) -> None:
    """Calls a function to see whether it raises; in a graph where it can, because running an operation fixes devices.

    A function that holds a tensor or a variable cannot be read by a graph of its own, and runs.
    """
    try:
        with tf.Graph().as_default():
            function()
    except RuntimeError:
        function()


def derivative(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The gradient of a function of one tensor, as a constant; 0 where it does not depend on the tensor."""
    x = tf.stop_gradient(x)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = function(x)
    return tf.stop_gradient(tape.gradient(y, x, unconnected_gradients="zero"))


def is_differentiated(x: Tensor) -> bool:
    """Whether a gradient with respect to what `x` was computed from is being recorded: in a training step."""
    return bool(should_record_backprop([x])) if tf.is_tensor(x) else False


def logits_behind(p: Tensor, activation: str) -> Tensor | None:
    """The logits from which Keras has just computed `p`, by `"sigmoid"` or `"softmax"`; `None` if it has not.

    Keras's cross-entropies look for them, too, because a saturated probability has lost its digits. In graphs the
    operation tells which activation it was; in eager mode, where Keras only attaches the logits, the values do.
    """
    logits = _attached_logits(p, activation) if isinstance(p, tf.Tensor) else None
    if logits is None:
        return None
    found = tf.identity(logits)  # with the mask of `p`, which the model's own tensor must not have
    return with_mask(found, mask_of(p))


def _attached_logits(p: Tensor, activation: str) -> Tensor | None:
    if not is_eager(p):
        return p.op.inputs[0] if p.op.type.lower() == activation else None
    logits = getattr(p, "_keras_logits", None)
    if logits is None:
        return None
    again = tf.sigmoid(logits) if activation == "sigmoid" else tf.nn.softmax(logits)
    return logits if again.shape == p.shape and bool(tf.reduce_all(tf.abs(again - p) < 1e-2)) else None
