"""The compiled program: many epochs of all trials, data and batch orders in memory, in one XLA call.

Adam is written on plain tensors, because a Keras optimizer cannot be used inside an XLA loop; it is elementwise, so on
stacked weights it is one Adam for each trial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from studies.engine import network
from studies.engine.data import Part, Trials
from studies.engine.objectives import Batch
from studies.engine.tabular import Method


class Settings(NamedTuple):
    """Batch size, dropout, early stopping, and whose initial weights: `"keras"` or `"pytorch"`."""

    batch_size: int = 1024
    dropout: bool = True
    patience: int = 100
    most_epochs: int = 3000
    start: str = "keras"


LEARNING_RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-7


class Moments(NamedTuple):
    """Running means of gradients and of their squares, one for each weight."""

    first: list[tf.Tensor]
    second: list[tf.Tensor]


def first_moments(weights: list[tf.Tensor]) -> Moments:
    """Returns moments of zero."""
    return Moments([tf.zeros_like(w) for w in weights], [tf.zeros_like(w) for w in weights])


def after_step(
    weights: list[tf.Tensor], gradients: list[tf.Tensor], moments: Moments, step: tf.Tensor
) -> tuple[list[tf.Tensor], Moments]:
    """Returns the weights and moments after the `step`-th update, counted from 1."""
    count = tf.cast(step, tf.float32)
    rate = LEARNING_RATE * tf.sqrt(1 - tf.pow(BETA_2, count)) / (1 - tf.pow(BETA_1, count))
    first = [m + (g - m) * (1 - BETA_1) for m, g in zip(moments.first, gradients, strict=True)]
    second = [v + (tf.square(g) - v) * (1 - BETA_2) for v, g in zip(moments.second, gradients, strict=True)]
    moved = [w - m * rate / (tf.sqrt(v) + EPSILON) for w, m, v in zip(weights, first, second, strict=True)]
    return moved, Moments(first, second)


class State(NamedTuple):
    """Weights, Adam's moments, the best so far, and what the objective remembers.

    Everything but `step` has the trials along its first axis, except the memory, which has them along its last.
    """

    weights: network.Weights
    moments: Moments
    step: tf.Tensor
    best_weights: network.Weights
    best_loss: tf.Tensor
    best_epoch: tf.Tensor
    memory: tf.Tensor


def first_state(trials: Trials, memory: tf.Tensor, start: str = "keras", output_bias: bool = False) -> State:
    """Returns the state before the first epoch, with Keras's or PyTorch's initial weights."""
    weights = network.initial_weights(trials.train.x.shape[-1], trials.seeds, start)
    if output_bias:
        share = trials.train.y.mean(axis=1, keepdims=True)
        weights = [*weights[:-1], tf.constant(np.log(share / (1 - share)), tf.float32)]
    count = len(trials.seeds)
    best = tf.fill([count], np.inf), tf.zeros(count, tf.int32)
    return State(weights, first_moments(weights), tf.constant(0), weights, *best, memory)


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
    without = state._replace(memory=tf.constant(0))
    found = tf.nest.map_structure(lambda x: x if x.shape.rank == 0 else tf.gather(x, trials), without)
    return found._replace(memory=tf.gather(state.memory, trials, axis=-1))


def scatter(state: State, part: State, trials: np.ndarray) -> State:
    """Returns `state` with the state of some trials replaced; what is remembered is not needed any more."""
    rows = np.asarray(trials)[:, None]
    found = tf.nest.map_structure(
        lambda x, y: y if x.shape.rank == 0 else tf.tensor_scatter_nd_update(x, rows, y),
        state._replace(memory=tf.constant(0)),
        part._replace(memory=tf.constant(0)),
    )
    return found._replace(memory=state.memory)


class Program(NamedTuple):
    """The data as tensors, and what is done with them: a step, and an epoch of steps."""

    train: Part
    validation: Part
    seeds: tf.Tensor
    method: Method
    settings: Settings

    def epoch(self, state: State, orders: tf.Tensor, number: tf.Tensor) -> tuple[State, tf.Tensor]:
        """Returns the state after an epoch (counted from 1), and its validation losses (trials,)."""
        _, state = tf.while_loop(
            lambda k, _: k < orders.shape[0], lambda k, state: (k + 1, self.step(state, orders[k], number)), (0, state)
        )
        losses = self.validation_losses(state.weights)
        return keep_best(state, losses, number, self.settings.patience), losses

    def step(self, state: State, rows: tf.Tensor, number: tf.Tensor) -> State:
        """Returns the state after one update of Adam."""
        with tf.GradientTape() as tape:
            tape.watch(state.weights)
            losses, memory = self.method.objective(self.batch(state, rows, number), state.memory)
            total = tf.reduce_sum(losses)  # each trial's weights are in one term only
        gradients = tape.gradient(total, state.weights)
        weights, moments = after_step(state.weights, gradients, state.moments, state.step + 1)
        return state._replace(weights=weights, moments=moments, step=state.step + 1, memory=memory)

    def batch(self, state: State, rows: tf.Tensor, number: tf.Tensor) -> Batch:
        """Returns labels, logits and weights of the samples in `rows`."""
        part = Part(*(tf.gather(array, tf.maximum(rows, 0), axis=1, batch_dims=1) for array in self.train))
        # Row -1 gets weight 0, which means absent in every objective: a short last batch needs no separate program.
        weights = tf.transpose(part.weight * tf.cast(rows >= 0, tf.float32))
        masks = None
        if self.settings.dropout:
            masks = network.dropout_masks(self.seeds, state.step, self.settings.batch_size)
        logits = network.logits(state.weights, part.x, masks)
        return Batch(tf.transpose(part.y), logits, weights, tf.cast(number - 1, tf.float32))

    def validation_losses(self, weights: network.Weights) -> tf.Tensor:
        """Returns the loss of the whole validation part, with the final weights of a schedule."""
        part, objective = self.validation, self.method.validated or self.method.objective
        logits = network.logits(weights, part.x)
        batch = Batch(tf.transpose(part.y), logits, tf.transpose(part.weight), tf.constant(np.inf))
        losses, _ = objective(batch, objective.start(part.y.shape[0]))
        return losses


def compiled_epochs(trials: Trials, method: Method, settings: Settings) -> Callable[..., tuple[State, tf.Tensor]]:
    """Returns (state, batch orders, epochs before) -> (state, validation losses (epochs, trials)), compiled."""
    train, validation = (Part(*map(tf.constant, part)) for part in (trials.train, trials.validation))
    program = Program(train, validation, tf.constant(trials.seeds, tf.int32), method, settings)

    @tf.function(jit_compile=True, autograph=False)
    def epochs(state: State, orders: tf.Tensor, before: tf.Tensor) -> tuple[State, tf.Tensor]:
        def body(k: tf.Tensor, state: State, history: tf.Tensor) -> tuple[tf.Tensor, State, tf.Tensor]:
            state, losses = program.epoch(state, orders[k], before + k + 1)
            return k + 1, state, tf.tensor_scatter_nd_update(history, [[k]], [losses])

        history = tf.zeros([orders.shape[0], len(trials.seeds)])
        _, state, history = tf.while_loop(lambda k, *_: k < orders.shape[0], body, (0, state, history))
        return state, history

    return epochs
