"""The seam between the package and Keras's backends: all other rooms import from here, and know none of them.

Each backend has the same functions, in a module or package of its own, of which one is imported:

* `tensorflow`: kernels that XLA compiles, and tf.distribute;
* `jax` and `torch`: the definitions of `portable`, in `keras.ops`, and what they need from the backend.
"""

import importlib
from typing import TYPE_CHECKING, Any

import keras

from keras_softsets._backend._types import MARGIN as MARGIN
from keras_softsets._backend._types import Boundary as Boundary
from keras_softsets._backend._types import Tensor as Tensor

BACKENDS = ("tensorflow", "jax", "torch")

if keras.config.backend() not in BACKENDS:
    raise ImportError(
        f"keras_softsets needs a backend of Keras that can train, one of {', '.join(BACKENDS)}. "
        f"Received: KERAS_BACKEND={keras.config.backend()}"
    )

if TYPE_CHECKING:
    from keras_softsets._backend.jax import products as products
    from keras_softsets._backend.tensorflow import DTYPE_ERRORS as DTYPE_ERRORS
    from keras_softsets._backend.tensorflow import STATE as STATE
    from keras_softsets._backend.tensorflow import add_total as add_total
    from keras_softsets._backend.tensorflow import as_graph as as_graph
    from keras_softsets._backend.tensorflow import assert_in_graph as assert_in_graph
    from keras_softsets._backend.tensorflow import assign_either as assign_either
    from keras_softsets._backend.tensorflow import bin_sums as bin_sums
    from keras_softsets._backend.tensorflow import bit_patterns as bit_patterns
    from keras_softsets._backend.tensorflow import boundary as boundary
    from keras_softsets._backend.tensorflow import clip as clip
    from keras_softsets._backend.tensorflow import compiled as compiled
    from keras_softsets._backend.tensorflow import cond as cond
    from keras_softsets._backend.tensorflow import constant as constant
    from keras_softsets._backend.tensorflow import cumsum as cumsum
    from keras_softsets._backend.tensorflow import derivative as derivative
    from keras_softsets._backend.tensorflow import gather_samples as gather_samples
    from keras_softsets._backend.tensorflow import is_dense as is_dense
    from keras_softsets._backend.tensorflow import is_differentiated as is_differentiated
    from keras_softsets._backend.tensorflow import is_eager as is_eager
    from keras_softsets._backend.tensorflow import keep_nan as keep_nan
    from keras_softsets._backend.tensorflow import keras_scales as keras_scales
    from keras_softsets._backend.tensorflow import logits_behind as logits_behind
    from keras_softsets._backend.tensorflow import make_variable as make_variable
    from keras_softsets._backend.tensorflow import mask_of as mask_of
    from keras_softsets._backend.tensorflow import matmul as matmul
    from keras_softsets._backend.tensorflow import maximum as maximum
    from keras_softsets._backend.tensorflow import mean as mean
    from keras_softsets._backend.tensorflow import one_hot as one_hot
    from keras_softsets._backend.tensorflow import outside_of_graphs as outside_of_graphs
    from keras_softsets._backend.tensorflow import replica_count as replica_count
    from keras_softsets._backend.tensorflow import replica_index as replica_index
    from keras_softsets._backend.tensorflow import replicas_in_sync as replicas_in_sync
    from keras_softsets._backend.tensorflow import sum_cells as sum_cells
    from keras_softsets._backend.tensorflow import sum_moving_cells as sum_moving_cells
    from keras_softsets._backend.tensorflow import sum_over_replicas as sum_over_replicas
    from keras_softsets._backend.tensorflow import sum_samples as sum_samples
    from keras_softsets._backend.tensorflow import sum_sides as sum_sides
    from keras_softsets._backend.tensorflow import total as total
    from keras_softsets._backend.tensorflow import try_out as try_out
    from keras_softsets._backend.tensorflow import untraced as untraced
    from keras_softsets._backend.tensorflow import value_of as value_of
    from keras_softsets._backend.tensorflow import wide as wide
    from keras_softsets._backend.tensorflow import with_mask as with_mask
    from keras_softsets._backend.tensorflow import without_nan_gradient as without_nan_gradient

    # What `portable` needs besides.
    from keras_softsets._backend.torch import FEW_ROWS as FEW_ROWS
    from keras_softsets._backend.torch import cleaned as cleaned
    from keras_softsets._backend.torch import count_below as count_below
    from keras_softsets._backend.torch import faster as faster
    from keras_softsets._backend.torch import from_bit_patterns as from_bit_patterns
    from keras_softsets._backend.torch import gradient as gradient
    from keras_softsets._backend.torch import look_up as look_up
    from keras_softsets._backend.torch import or_zero as or_zero
    from keras_softsets._backend.torch import with_gradient as with_gradient

_chosen = importlib.import_module(f"{__name__}.{keras.config.backend()}")


WRITES_SAVED_MODELS = keras.config.backend() == "tensorflow"


def require_tensorflow(what: str) -> None:
    """Raises an `ImportError` that says what to install, if Keras does not run on TensorFlow."""
    if keras.config.backend() != "tensorflow":
        raise ImportError(
            f'{what} needs Keras on TensorFlow: pip install "keras-softsets[tensorflow]" and set KERAS_BACKEND. '
            f"Received: KERAS_BACKEND={keras.config.backend()}"
        )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_chosen, name)
