"""Makes sure that Keras runs on TensorFlow, and names the type of its tensors."""

from typing import Any

import keras

if keras.config.backend() != "tensorflow":  # the kernels and tf.distribute are TensorFlow's
    raise ImportError(
        f"keras_softsets needs Keras's TensorFlow backend. Received: KERAS_BACKEND={keras.config.backend()}"
    )

from tensorflow.autograph.experimental import do_not_convert
from tensorflow.errors import OpError as OpError

# Conditions here are Python's. To translate the whole package, as tf.function does by default, takes two seconds.
without_autograph = do_not_convert
Tensor = Any  # keras.ops accepts and returns backend tensors, which carry no useful static type
