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

# Conditions here are Python's. To translate the whole package, as tf.function does by default, takes two seconds.
without_autograph = do_not_convert
Tensor = Any  # keras.ops accepts and returns backend tensors, which carry no useful static type


def as_graph(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function that is traced once for all sizes of the first axis, for what is slow when it is traced each time."""
    return tf.function(function, autograph=False, reduce_retracing=True)


def bit_patterns(x: Tensor) -> Tensor:
    """The bit patterns of float32 numbers, as int32; `keras.ops` has had none for long."""
    return tf.bitcast(x, tf.int32)


def outside_of_graphs() -> contextlib.AbstractContextManager[Any]:
    """Where variables have numbers, also while a step is traced."""
    return tf.init_scope()


def is_dense(x: Any) -> bool:
    """Whether it is a tensor in which every place is filled; ragged and sparse ones have shapes and types, too."""
    return isinstance(x, (tf.Tensor, tf.Variable))


def scratch_graph() -> contextlib.AbstractContextManager[Any]:
    """A graph to try operations in without running them: the first that runs settles which devices there are."""
    return tf.Graph().as_default()
