"""Makes sure that Keras runs on TensorFlow, and names the type of its tensors."""

import contextlib
from collections.abc import Callable
from typing import Any

import keras

if keras.config.backend() != "tensorflow":  # the kernels and tf.distribute are TensorFlow's
    raise ImportError(
        f"keras_softsets needs Keras's TensorFlow backend. Received: KERAS_BACKEND={keras.config.backend()}"
    )

import tensorflow as tf
from keras import ops
from tensorflow.autograph.experimental import do_not_convert
from tensorflow.errors import OpError as OpError

# All conditions here are plain Python. Converting the whole package, as tf.function does by default, takes 2 seconds.
without_autograph = do_not_convert
Tensor = Any  # keras.ops accepts and returns backend tensors, which carry no useful static type
TENSORFLOW = tuple(int(number) for number in tf.__version__.split(".")[:2])


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


def as_graph(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function that is traced once for all sizes of the first axis, for code that is slow to trace."""
    return tf.function(function, autograph=False, reduce_retracing=True)


def bit_patterns(x: Tensor) -> Tensor:
    """The bit patterns of float32 numbers, as int32; older versions of `keras.ops` have no function for this."""
    return tf.bitcast(x, tf.int32)


def outside_of_graphs() -> contextlib.AbstractContextManager[Any]:
    """A scope in which variables have values, even while a step is being traced."""
    return tf.init_scope()


def is_dense(x: Any) -> bool:
    """Whether it is a dense tensor; ragged and sparse tensors also have shapes and types, but are refused."""
    return isinstance(x, (tf.Tensor, tf.Variable))


def scratch_graph() -> contextlib.AbstractContextManager[Any]:
    """A graph in which to try operations without running them: running one would fix the list of devices."""
    return tf.Graph().as_default()
