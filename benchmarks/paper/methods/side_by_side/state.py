"""What training carries from epoch to epoch, for all trials at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from benchmarks.paper.methods.data import Trials
from benchmarks.paper.methods.side_by_side import adam, network


class State(NamedTuple):
    """Weights, Adam's moments, and the best so far; everything but `step` has the trials along its first axis."""

    weights: network.Weights
    moments: adam.Moments
    step: tf.Tensor
    best_weights: network.Weights
    best_loss: tf.Tensor
    best_epoch: tf.Tensor


def first_state(trials: Trials, start: str = "keras") -> State:
    """Returns the state before the first epoch, with Keras's or PyTorch's initial weights."""
    weights = network.initial_weights(trials.train.x.shape[-1], trials.seeds, start)
    count = len(trials.seeds)
    return State(
        weights, adam.start(weights), tf.constant(0), weights, tf.fill([count], np.inf), tf.zeros(count, tf.int32)
    )


def keep_best(state: State, losses: tf.Tensor, epoch: tf.Tensor, patience: int) -> State:
    """Returns the state, with the weights of trials kept if their validation loss is the lowest so far."""
    # A trial that has stopped keeps computing until its call ends, but nothing more is accepted from it.
    better = (losses < state.best_loss) & (epoch - state.best_epoch <= patience)
    chosen = [
        tf.where(tf.reshape(better, [-1] + [1] * (len(new.shape) - 1)), new, old)
        for new, old in zip(state.weights, state.best_weights, strict=True)
    ]
    return state._replace(
        best_weights=chosen,
        best_loss=tf.where(better, losses, state.best_loss),
        best_epoch=tf.where(better, epoch, state.best_epoch),
    )


def gather(state: State, trials: np.ndarray) -> State:
    """Returns the state of some trials."""
    return tf.nest.map_structure(lambda x: x if x.shape.rank == 0 else tf.gather(x, trials), state)


def scatter(state: State, part: State, trials: np.ndarray) -> State:
    """Returns `state` with the state of some trials replaced."""
    rows = np.asarray(trials)[:, None]
    return tf.nest.map_structure(
        lambda x, y: y if x.shape.rank == 0 else tf.tensor_scatter_nd_update(x, rows, y), state, part
    )
