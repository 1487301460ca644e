"""Sums over the replicas of a tf.distribute strategy; the only file that knows about tf.distribute.

The score of a sum is not the mean of scores, so the cells are summed over replicas before they are scored. Every
replica then holds the loss L of the global batch. The gradient of `all_reduce` adds up the gradients of all N replicas,
which are equal; with L / N as the loss of each replica, the summed gradients are exactly those of L on the global
batch, and the summed loss is L. On one device, and outside `strategy.run`, these functions do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from keras_softsets._backend._types import Tensor

if TYPE_CHECKING:
    from keras_softsets.samples import Samples


def replica_count() -> int:
    """The number of replicas that run this code side by side, on all workers; 1 outside `strategy.run`."""
    if not tf.distribute.has_strategy() or tf.distribute.in_cross_replica_context():
        return 1
    return replicas_in_sync()


def replicas_in_sync() -> int:
    """The number of replicas of the strategy in whose scope this runs, inside and outside `strategy.run`."""
    return int(tf.distribute.get_strategy().num_replicas_in_sync)


def replica_index() -> Tensor:
    """Which of the replicas this is; 0 outside `strategy.run`."""
    if replica_count() == 1:
        return tf.constant(0)
    return tf.convert_to_tensor(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.int32)


def keras_scales() -> bool:
    """Whether Keras (3.15.1) divides its own losses by the number of replicas here.

    It does so in a scope as well as inside `strategy.run`, but never if `call` returns a single number (`Dice`).
    """
    return replicas_in_sync() > 1


def sum_over_replicas(totals: Tensor) -> Tensor:
    """The differentiable sum over replicas; like every collective, call it outside XLA-compiled functions."""
    if replica_count() == 1:
        return totals
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, totals)


def gather(x: Tensor) -> Tensor:
    """The samples of all replicas, along the first axis; like the sum, call it outside XLA-compiled functions."""
    if replica_count() == 1:
        return x
    return tf.distribute.get_replica_context().all_gather(x, axis=0)


def gather_samples(samples: Samples) -> Samples:
    """The samples of all replicas, without gradients; on one device, they are returned as they are."""
    if replica_count() == 1:
        return samples
    label, prediction = (gather(tf.stop_gradient(x)) for x in (samples.label, samples.prediction))
    weight = None if samples.weight is None else gather(samples.weight)
    return samples._replace(label=label, prediction=prediction, weight=weight)


def make_variable(make: Callable[[], Any]) -> Any:
    """Makes a variable of the whole strategy, even if it is first needed inside `strategy.run`.

    A variable created while a step is traced makes tf.function wrap the step in a `tf.cond`, in which MirroredStrategy
    (TF 2.21) loses its inputs ("You must feed a value for placeholder"; keras.metrics.F1Score has the same problem).
    The variable is therefore made in a new thread, which has neither the graph nor the replica of this one.
    """
    if replica_count() == 1:
        return make()
    strategy = tf.distribute.get_strategy()

    def make_in_scope() -> Any:
        with strategy.scope():
            return make()

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(make_in_scope).result()


def add_total(metric: Any, shape: tuple[int, ...], name: str) -> Any:
    """A variable of a metric for exact totals."""
    return make_variable(lambda: metric.add_variable(shape, "zeros", dtype="float64", name=name))
