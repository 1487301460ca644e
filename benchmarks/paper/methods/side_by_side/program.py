"""The compiled program: many epochs of all trials, data and batch orders in memory, in one XLA call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from benchmarks.paper.methods.data import Part, Trials
from benchmarks.paper.methods.objectives import Objective
from benchmarks.paper.methods.side_by_side import adam, network
from benchmarks.paper.methods.side_by_side.settings import Settings
from benchmarks.paper.methods.side_by_side.state import State, keep_best


class Program(NamedTuple):
    """The data as tensors, and what is done with them: a step, and an epoch of steps."""

    train: Part
    validation: Part
    seeds: tf.Tensor
    objective: Objective
    settings: Settings

    def epoch(self, state: State, orders: tf.Tensor, number: tf.Tensor) -> tuple[State, tf.Tensor]:
        """Returns the state after an epoch, and its validation losses (trials,)."""
        _, state = tf.while_loop(
            lambda k, _: k < orders.shape[0], lambda k, state: (k + 1, self.step(state, orders[k])), (0, state)
        )
        outputs = network.logits(state.weights, self.validation.x)
        losses = self.objective(tf.transpose(self.validation.y), outputs, tf.transpose(self.validation.weight))
        return keep_best(state, losses, number, self.settings.patience), losses

    def step(self, state: State, rows: tf.Tensor) -> State:
        """Returns the state after one update of Adam."""
        with tf.GradientTape() as tape:
            tape.watch(state.weights)
            loss = self.batch_loss(state.weights, rows, state.step)
        gradients = tape.gradient(loss, state.weights)
        weights, moments = adam.update(state.weights, gradients, state.moments, state.step + 1)
        return state._replace(weights=weights, moments=moments, step=state.step + 1)

    def batch_loss(self, weights: network.Weights, rows: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        """Returns the sum of the trials' losses: each trial's weights are in one term only."""
        batch = Part(*(tf.gather(array, tf.maximum(rows, 0), axis=1, batch_dims=1) for array in self.train))
        masks = None
        if self.settings.dropout:
            masks = network.dropout_masks(self.seeds, step, self.settings.batch_size)
        # Weight 0 means absent in every objective, so a short last batch needs no separate program.
        weight = batch.weight * tf.cast(rows >= 0, tf.float32)
        outputs = network.logits(weights, batch.x, masks)
        return tf.reduce_sum(self.objective(tf.transpose(batch.y), outputs, tf.transpose(weight)))


def compiled_epochs(trials: Trials, objective: Objective, settings: Settings) -> Callable[..., tuple[State, tf.Tensor]]:
    """Returns (state, batch orders, epochs before) -> (state, validation losses (epochs, trials)), compiled."""
    train, validation = (Part(*map(tf.constant, part)) for part in (trials.train, trials.validation))
    program = Program(train, validation, tf.constant(trials.seeds, tf.int32), objective, settings)

    @tf.function(jit_compile=True, autograph=False)
    def epochs(state: State, orders: tf.Tensor, before: tf.Tensor) -> tuple[State, tf.Tensor]:
        def body(k: tf.Tensor, state: State, history: tf.Tensor) -> tuple[tf.Tensor, State, tf.Tensor]:
            state, losses = program.epoch(state, orders[k], before + k + 1)
            return k + 1, state, tf.tensor_scatter_nd_update(history, [[k]], [losses])

        history = tf.zeros([orders.shape[0], len(trials.seeds)])
        _, state, history = tf.while_loop(lambda k, *_: k < orders.shape[0], body, (0, state, history))
        return state, history

    return epochs
