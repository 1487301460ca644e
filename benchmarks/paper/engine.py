"""Trains all trials side by side: stacked weights, data in memory, many epochs in one XLA-compiled call.

A trial is the same whatever else is trained beside it: split, initial weights, batch order and dropout come from its
own seed, so losses are compared on pairs. Early stopping is each trial's own: after `patience` epochs without a better
validation loss, computed on the whole validation part at once, its best weights are final. On larger data sets, trials
that have stopped leave the stack when half of it has, for a smaller stack is worth another compilation there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from benchmarks.paper import adam, network
from benchmarks.paper.data import Part, Trials
from benchmarks.paper.objectives import Objective

PATIENCE = 100
MOST_EPOCHS = 3000
_INDICES_AT_ONCE = 20_000_000
_EPOCHS_AT_ONCE = 25
_ROWS_WORTH_COMPILING_FOR = 20_000


class State(NamedTuple):
    """What training carries from epoch to epoch; everything but `step` has the trials along its first axis."""

    weights: network.Weights
    moments: adam.Moments
    step: tf.Tensor
    best_weights: network.Weights
    best_loss: tf.Tensor
    best_epoch: tf.Tensor


class Plan(NamedTuple):
    """How to train: the paper's protocol by default."""

    batch_size: int = 1024
    dropout: bool = True
    patience: int = PATIENCE
    most_epochs: int = MOST_EPOCHS
    start: str = "keras"


class Trained(NamedTuple):
    """The best weights of every trial, the epoch (from 1) that they come from, and their validation loss."""

    weights: network.Weights
    best_epoch: np.ndarray
    best_loss: np.ndarray
    epochs: np.ndarray
    seconds: float


def train(
    trials: Trials, objective: Objective, plan: Plan, report: Callable[[int, int], None] | None = None
) -> Trained:
    """Trains one network for each trial until all have stopped.

    Args:
        trials: The data.
        objective: The loss.
        plan: How to train.
        report: Called with the epoch and the number of trials still in training. Defaults to `None`.
    """
    started = time.perf_counter()
    state = first_state(trials, plan.start)
    final, active, epoch = state, np.arange(len(trials.seeds)), 0
    run = compiled_epochs(trials, objective, plan)
    while len(active) and epoch < plan.most_epochs:
        count = epochs_at_once(trials, plan, epoch)
        state, losses = run(state, batch_orders(trials, plan, epoch, count), tf.constant(epoch))
        _check_finite(losses.numpy(), trials.seeds)
        epoch += count
        final = _scatter(final, state, active)
        going = np.flatnonzero(epoch - state.best_epoch.numpy() < plan.patience)
        if not len(going):
            active = going
        elif len(going) <= len(active) // 2 and trials.train.y.shape[1] > _ROWS_WORTH_COMPILING_FOR:
            active, trials, state = active[going], trials.of(going), _gather(state, going)
            run = compiled_epochs(trials, objective, plan)
        if report:
            report(epoch, len(going))
    best_epoch = final.best_epoch.numpy()
    epochs = np.minimum(best_epoch + plan.patience, epoch)
    return Trained(final.best_weights, best_epoch, final.best_loss.numpy(), epochs, time.perf_counter() - started)


def first_state(trials: Trials, start: str = "keras") -> State:
    """Returns the state before the first epoch, with Keras's or PyTorch's initial weights."""
    weights = network.initial_weights(trials.train.x.shape[-1], trials.seeds, start)
    count = len(trials.seeds)
    return State(
        weights, adam.start(weights), tf.constant(0), weights, tf.fill([count], np.inf), tf.zeros(count, tf.int32)
    )


def epochs_at_once(trials: Trials, plan: Plan, epoch: int) -> int:
    """Returns how many epochs one call trains: few enough for their batch orders to fit in memory."""
    fitting = max(1, _INDICES_AT_ONCE // trials.train.y.size)
    return min(fitting, _EPOCHS_AT_ONCE, plan.most_epochs - epoch)


def batch_orders(trials: Trials, plan: Plan, epoch: int, count: int) -> np.ndarray:
    """Shuffles: indices (epochs, steps, trials, batch), -1 where the last batch has no more samples."""
    samples = trials.train.y.shape[1]
    steps = math.ceil(samples / plan.batch_size)
    orders = np.full((count, len(trials.seeds), steps * plan.batch_size), -1, "int32")
    for number in range(count):
        for trial, seed in enumerate(trials.seeds):
            orders[number, trial, :samples] = np.random.default_rng([int(seed), epoch + number]).permutation(samples)
    return orders.reshape(count, len(trials.seeds), steps, plan.batch_size).swapaxes(1, 2)


def compiled_epochs(trials: Trials, objective: Objective, plan: Plan) -> Callable[..., tuple[State, tf.Tensor]]:
    """Returns (state, batch orders, epochs before) -> (state, validation losses (epochs, trials)), compiled."""
    train, validation = (Part(*map(tf.constant, part)) for part in (trials.train, trials.validation))
    seeds = tf.constant(trials.seeds, tf.int32)

    def batch_loss(weights: network.Weights, rows: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        batch = Part(*(tf.gather(array, tf.maximum(rows, 0), axis=1, batch_dims=1) for array in train))
        masks = network.dropout_masks(seeds, step, plan.batch_size) if plan.dropout else None
        # Weight 0 is absence to every objective, so a short last batch needs no program of its own.
        weight = batch.weight * tf.cast(rows >= 0, tf.float32)
        losses = objective(tf.transpose(batch.y), network.logits(weights, batch.x, masks), tf.transpose(weight))
        return tf.reduce_sum(losses)  # each trial's weights are in one term only

    def step(state: State, rows: tf.Tensor) -> State:
        with tf.GradientTape() as tape:
            tape.watch(state.weights)
            loss = batch_loss(state.weights, rows, state.step)
        gradients = tape.gradient(loss, state.weights)
        weights, moments = adam.update(state.weights, gradients, state.moments, state.step + 1)
        return state._replace(weights=weights, moments=moments, step=state.step + 1)

    def epoch(state: State, orders: tf.Tensor, number: tf.Tensor) -> tuple[State, tf.Tensor]:
        _, state = tf.while_loop(
            lambda k, _: k < orders.shape[0], lambda k, state: (k + 1, step(state, orders[k])), (0, state)
        )
        outputs = network.logits(state.weights, validation.x)
        losses = objective(tf.transpose(validation.y), outputs, tf.transpose(validation.weight))
        return _keep_best(state, losses, number, plan.patience), losses

    @tf.function(jit_compile=True, autograph=False)
    def epochs(state: State, orders: tf.Tensor, before: tf.Tensor) -> tuple[State, tf.Tensor]:
        def body(k: tf.Tensor, state: State, history: tf.Tensor) -> tuple[tf.Tensor, State, tf.Tensor]:
            state, losses = epoch(state, orders[k], before + k + 1)
            return k + 1, state, tf.tensor_scatter_nd_update(history, [[k]], [losses])

        history = tf.zeros([orders.shape[0], len(trials.seeds)])
        _, state, history = tf.while_loop(lambda k, *_: k < orders.shape[0], body, (0, state, history))
        return state, history

    return epochs


def _check_finite(losses: np.ndarray, seeds: np.ndarray) -> None:
    """Raises if a trial went astray: a loss of NaN is never better, so it would pass for early stopping."""
    astray = seeds[~np.isfinite(losses).all(axis=0)]
    if len(astray):
        raise FloatingPointError(f"The validation loss is not a finite number in the trials {astray.tolist()}.")


def _keep_best(state: State, losses: tf.Tensor, epoch: tf.Tensor, patience: int) -> State:
    # A trial that has stopped goes on computing until its call ends, but nothing better is accepted from it.
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


def _gather(state: State, trials: np.ndarray) -> State:
    """Returns the state of some trials."""
    return tf.nest.map_structure(lambda x: x if x.shape.rank == 0 else tf.gather(x, trials), state)


def _scatter(state: State, part: State, trials: np.ndarray) -> State:
    """Returns `state` with the state of some trials replaced."""
    rows = np.asarray(trials)[:, None]
    return tf.nest.map_structure(
        lambda x, y: y if x.shape.rank == 0 else tf.tensor_scatter_nd_update(x, rows, y), state, part
    )
