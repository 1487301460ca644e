"""Trains all trials of a row side by side: the engine of `paper`, with objectives that know the epoch or remember."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from benchmarks.paper.methods.data import Part, Trials
from benchmarks.paper.methods.side_by_side import adam, network
from benchmarks.paper.methods.side_by_side.engine import batch_orders, epochs_at_once
from benchmarks.paper.methods.side_by_side.settings import Settings
from benchmarks.paper.methods.side_by_side.state import State, first_state, keep_best
from benchmarks.recipes.methods import Method
from benchmarks.recipes.objectives import Batch
from benchmarks.recipes.orders import stratified
from benchmarks.recipes.plan import Budget

Carry = tuple[State, tf.Tensor]  # the second is the objective's memory


class Trained(NamedTuple):
    """The best weights of every trial, their epoch (from 1), and what all trials together took."""

    weights: network.Weights
    best_epoch: np.ndarray
    epochs: int
    updates: int
    seconds: float


class Program(NamedTuple):
    """The data as tensors, and what is done with them."""

    train: Part
    validation: Part
    seeds: tf.Tensor
    method: Method
    settings: Settings

    def epoch(self, carry: Carry, orders: tf.Tensor, number: tf.Tensor) -> tuple[Carry, tf.Tensor]:
        """Returns what an epoch (counted from 1) leaves, and its validation losses (trials,)."""
        _, carry = tf.while_loop(
            lambda k, _: k < orders.shape[0], lambda k, carry: (k + 1, self.step(carry, orders[k], number)), (0, carry)
        )
        state, memory = carry
        losses = self.validation_losses(state.weights)
        return (keep_best(state, losses, number, self.settings.patience), memory), losses

    def step(self, carry: Carry, rows: tf.Tensor, number: tf.Tensor) -> Carry:
        """Returns what one update of Adam leaves."""
        state, memory = carry
        with tf.GradientTape() as tape:
            tape.watch(state.weights)
            losses, memory = self.method.objective(self.batch(state, rows, number), memory)
            total = tf.reduce_sum(losses)  # each trial's weights are in one term only
        gradients = tape.gradient(total, state.weights)
        weights, moments = adam.update(state.weights, gradients, state.moments, state.step + 1)
        return state._replace(weights=weights, moments=moments, step=state.step + 1), memory

    def batch(self, state: State, rows: tf.Tensor, number: tf.Tensor) -> Batch:
        """Returns labels, logits and weights of the samples in `rows`; -1 gets weight 0, which means absent."""
        part = Part(*(tf.gather(array, tf.maximum(rows, 0), axis=1, batch_dims=1) for array in self.train))
        weights = tf.transpose(part.weight * tf.cast(rows >= 0, tf.float32))
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


def train(trials: Trials, method: Method, batch_size: int, budget: Budget, say: Callable[[str], None]) -> Trained:
    """Trains one network for each trial until all have stopped; `say` shows the progress."""
    started = time.perf_counter()
    settings = Settings(batch_size, patience=budget.patience, most_epochs=budget.epochs)
    state = first_state(trials)
    state = _with_output_bias(state, trials.train.y) if method.output_bias else state
    carry, epoch = (state, method.objective.start(len(trials.seeds))), 0
    run = _compiled(trials, method, settings)
    going = len(trials.seeds)
    while going and epoch < budget.epochs:
        count = epochs_at_once(trials, settings, epoch)
        orders = stratified(trials, batch_size, epoch, count) if method.stratified else None
        orders = batch_orders(trials, settings, epoch, count) if orders is None else orders
        carry, losses = run(carry, orders, tf.constant(epoch))
        _check_finite(losses.numpy(), trials.seeds)
        epoch += count
        going = int(np.sum(epoch - carry[0].best_epoch.numpy() < budget.patience))
        say(f"epoch {epoch} of {budget.epochs}, {going} trials in training")
    seconds, final = time.perf_counter() - started, carry[0]
    return Trained(final.best_weights, final.best_epoch.numpy(), epoch, int(final.step), seconds)


def _compiled(trials: Trials, method: Method, settings: Settings) -> Callable[..., tuple[Carry, tf.Tensor]]:
    """Returns (carry, batch orders, epochs before) -> (carry, validation losses (epochs, trials)), compiled."""
    train, validation = (Part(*map(tf.constant, part)) for part in (trials.train, trials.validation))
    program = Program(train, validation, tf.constant(trials.seeds, tf.int32), method, settings)

    @tf.function(jit_compile=True, autograph=False)
    def epochs(carry: Carry, orders: tf.Tensor, before: tf.Tensor) -> tuple[Carry, tf.Tensor]:
        def body(k: tf.Tensor, carry: Carry, history: tf.Tensor) -> tuple[tf.Tensor, Carry, tf.Tensor]:
            carry, losses = program.epoch(carry, orders[k], before + k + 1)
            return k + 1, carry, tf.tensor_scatter_nd_update(history, [[k]], [losses])

        history = tf.zeros([orders.shape[0], len(trials.seeds)])
        _, carry, history = tf.while_loop(lambda k, *_: k < orders.shape[0], body, (0, carry, history))
        return carry, history

    return epochs


def _with_output_bias(state: State, labels: np.ndarray) -> State:
    share = labels.mean(axis=1, keepdims=True)
    weights = [*state.weights[:-1], tf.constant(np.log(share / (1 - share)), tf.float32)]
    return state._replace(weights=weights, best_weights=weights)


def _check_finite(losses: np.ndarray, seeds: np.ndarray) -> None:
    diverged = seeds[~np.isfinite(losses).all(axis=0)]
    if len(diverged):
        raise FloatingPointError(f"The validation loss is not a finite number in the trials {diverged.tolist()}.")
