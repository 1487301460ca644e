"""Sums over the replicas of a tf.distribute strategy; the only file that knows about tf.distribute.

A score of a sum is not the mean of scores, so the cells are summed over replicas before the score. Every replica then
holds the loss L of the global batch. The gradient of `all_reduce` adds up what all replicas ask for, which is the same
N times; with L / N as the loss of each of the N replicas, the summed gradients are exactly those of L on the global
batch, and so is the summed loss. On one device, and outside `strategy.run`, nothing happens at all.
"""

from __future__ import annotations

import tensorflow as tf

from keras_softsets._inputs import Tensor


def count() -> int:
    """The number of replicas that run this code side by side; 1 outside `strategy.run`."""
    if not tf.distribute.has_strategy() or tf.distribute.in_cross_replica_context():
        return 1
    return int(tf.distribute.get_strategy().num_replicas_in_sync)


def sum_over(cells: Tensor) -> Tensor:
    """The sum over replicas, differentiably; it stands outside every XLA-compiled function, as collectives must."""
    if count() == 1:
        return cells
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, cells)
