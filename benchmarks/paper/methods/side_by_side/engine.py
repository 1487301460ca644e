"""Trains all trials side by side: stacked weights, data in memory, many epochs in one XLA-compiled call.

A trial is the same whatever else is trained beside it: split, initial weights, batch order and dropout come from its
own seed, so losses are compared on pairs. Each trial has its own early stopping: after `patience` epochs without a
better validation loss, computed on the whole validation part at once, its best weights are final. On larger data sets,
stopped trials leave the stack once half of it has stopped: there, a smaller stack is worth another compilation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from benchmarks.paper.methods.data import Trials
from benchmarks.paper.methods.objectives import Objective
from benchmarks.paper.methods.side_by_side import network
from benchmarks.paper.methods.side_by_side.program import compiled_epochs
from benchmarks.paper.methods.side_by_side.settings import Settings
from benchmarks.paper.methods.side_by_side.state import State, first_state, gather, scatter

_INDICES_AT_ONCE = 20_000_000
_EPOCHS_AT_ONCE = 25
_ROWS_WORTH_COMPILING_FOR = 20_000


class Trained(NamedTuple):
    """The best weights of every trial, the epoch (from 1) that they come from, and their validation loss."""

    weights: network.Weights
    best_epoch: np.ndarray
    best_loss: np.ndarray
    epochs: np.ndarray
    seconds: float


def train(
    trials: Trials, objective: Objective, settings: Settings, report: Callable[[int, int], None] = lambda *_: None
) -> Trained:
    """Trains one network for each trial until all have stopped.

    `report` is called with the epoch and the number of trials still in training.
    """
    started = time.perf_counter()
    state = first_state(trials, settings.start)
    final, active, epoch = state, np.arange(len(trials.seeds)), 0
    run = compiled_epochs(trials, objective, settings)
    while len(active) and epoch < settings.most_epochs:
        count = epochs_at_once(trials, settings, epoch)
        state, losses = run(state, batch_orders(trials, settings, epoch, count), tf.constant(epoch))
        _check_finite(losses.numpy(), trials.seeds)
        epoch += count
        final = scatter(final, state, active)
        going = np.flatnonzero(epoch - state.best_epoch.numpy() < settings.patience)
        if not len(going):
            active = going
        elif len(going) <= len(active) // 2 and trials.train.y.shape[1] > _ROWS_WORTH_COMPILING_FOR:
            active, trials, state = active[going], trials.of(going), gather(state, going)
            run = compiled_epochs(trials, objective, settings)
        report(epoch, len(going))
    return _trained(final, epoch, settings.patience, time.perf_counter() - started)


def _trained(final: State, epoch: int, patience: int, seconds: float) -> Trained:
    best_epoch = final.best_epoch.numpy()
    epochs = np.minimum(best_epoch + patience, epoch)
    return Trained(final.best_weights, best_epoch, final.best_loss.numpy(), epochs, seconds)


def epochs_at_once(trials: Trials, settings: Settings, epoch: int) -> int:
    """Returns how many epochs one call trains: few enough for their batch orders to fit in memory."""
    fitting = max(1, _INDICES_AT_ONCE // trials.train.y.size)
    return min(fitting, _EPOCHS_AT_ONCE, settings.most_epochs - epoch)


def batch_orders(trials: Trials, settings: Settings, epoch: int, count: int) -> np.ndarray:
    """Shuffles: indices (epochs, steps, trials, batch), -1 where the last batch has no more samples."""
    samples, size = trials.train.y.shape[1], settings.batch_size
    steps = math.ceil(samples / size)
    orders = np.full((count, len(trials.seeds), steps * size), -1, "int32")
    for number in range(count):
        for trial, seed in enumerate(trials.seeds):
            orders[number, trial, :samples] = np.random.default_rng([int(seed), epoch + number]).permutation(samples)
    return orders.reshape(count, len(trials.seeds), steps, size).swapaxes(1, 2)


def _check_finite(losses: np.ndarray, seeds: np.ndarray) -> None:
    """Raises if a trial diverged: a loss of NaN is never better, so it would look like early stopping."""
    diverged = seeds[~np.isfinite(losses).all(axis=0)]
    if len(diverged):
        raise FloatingPointError(f"The validation loss is not a finite number in the trials {diverged.tolist()}.")
