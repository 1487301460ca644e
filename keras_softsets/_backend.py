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
from tensorflow.autograph.experimental import do_not_convert
from tensorflow.errors import OpError as OpError

# All conditions here are plain Python. Converting the whole package, as tf.function does by default, takes 2 seconds.
without_autograph = do_not_convert
Tensor = Any  # keras.ops accepts and returns backend tensors, which carry no useful static type


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
