"""The backend that the package is made for: sums compiled by XLA, tf.distribute, and TensorFlow's graphs.

* `_cells`: cells at thresholds, by `_direct` or `_binned`; `_moving`: cells at thresholds that are tensors;
  `_boundary`: thresholds where a rate is just met; `_sides`: cells and cross-entropies in one pass.
* `_replicas`: sums over the replicas of a strategy.
* `_graphs`: what else differs between eager tensors, graphs and XLA.
"""

from keras_softsets._backend.tensorflow._blocks import sum_samples as sum_samples
from keras_softsets._backend.tensorflow._boundary import boundary as boundary
from keras_softsets._backend.tensorflow._cells import sum_cells as sum_cells
from keras_softsets._backend.tensorflow._cells import sum_moving_cells as sum_moving_cells
from keras_softsets._backend.tensorflow._graphs import DTYPE_ERRORS as DTYPE_ERRORS
from keras_softsets._backend.tensorflow._graphs import STATE as STATE
from keras_softsets._backend.tensorflow._graphs import as_graph as as_graph
from keras_softsets._backend.tensorflow._graphs import assert_in_graph as assert_in_graph
from keras_softsets._backend.tensorflow._graphs import assign_either as assign_either
from keras_softsets._backend.tensorflow._graphs import bin_sums as bin_sums
from keras_softsets._backend.tensorflow._graphs import bit_patterns as bit_patterns
from keras_softsets._backend.tensorflow._graphs import clip as clip
from keras_softsets._backend.tensorflow._graphs import compiled as compiled
from keras_softsets._backend.tensorflow._graphs import cond as cond
from keras_softsets._backend.tensorflow._graphs import constant as constant
from keras_softsets._backend.tensorflow._graphs import cumsum as cumsum
from keras_softsets._backend.tensorflow._graphs import derivative as derivative
from keras_softsets._backend.tensorflow._graphs import is_dense as is_dense
from keras_softsets._backend.tensorflow._graphs import is_differentiated as is_differentiated
from keras_softsets._backend.tensorflow._graphs import is_eager as is_eager
from keras_softsets._backend.tensorflow._graphs import keep_nan as keep_nan
from keras_softsets._backend.tensorflow._graphs import logits_behind as logits_behind
from keras_softsets._backend.tensorflow._graphs import mask_of as mask_of
from keras_softsets._backend.tensorflow._graphs import matmul as matmul
from keras_softsets._backend.tensorflow._graphs import maximum as maximum
from keras_softsets._backend.tensorflow._graphs import mean as mean
from keras_softsets._backend.tensorflow._graphs import one_hot as one_hot
from keras_softsets._backend.tensorflow._graphs import outside_of_graphs as outside_of_graphs
from keras_softsets._backend.tensorflow._graphs import total as total
from keras_softsets._backend.tensorflow._graphs import try_out as try_out
from keras_softsets._backend.tensorflow._graphs import untraced as untraced
from keras_softsets._backend.tensorflow._graphs import value_of as value_of
from keras_softsets._backend.tensorflow._graphs import wide as wide
from keras_softsets._backend.tensorflow._graphs import with_mask as with_mask
from keras_softsets._backend.tensorflow._graphs import without_nan_gradient as without_nan_gradient
from keras_softsets._backend.tensorflow._replicas import add_total as add_total
from keras_softsets._backend.tensorflow._replicas import gather_samples as gather_samples
from keras_softsets._backend.tensorflow._replicas import keras_scales as keras_scales
from keras_softsets._backend.tensorflow._replicas import make_variable as make_variable
from keras_softsets._backend.tensorflow._replicas import replica_count as replica_count
from keras_softsets._backend.tensorflow._replicas import replica_index as replica_index
from keras_softsets._backend.tensorflow._replicas import replicas_in_sync as replicas_in_sync
from keras_softsets._backend.tensorflow._replicas import sum_over_replicas as sum_over_replicas
from keras_softsets._backend.tensorflow._sides import sum_sides as sum_sides
