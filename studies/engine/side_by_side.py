"""Trains all trials side by side: stacked weights, data in memory, many epochs in one XLA-compiled call.

A trial is the same whatever else is trained beside it: split, initial weights, batch order and dropout come from its
own seed, so losses are compared on pairs. Each trial has its own early stopping: after `patience` epochs without a
better validation loss, computed on the whole validation part at once, its best weights are final. On larger data sets,
stopped trials leave the stack once half of it has stopped: there, a smaller stack is worth another compilation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from studies.engine import network
from studies.engine.data import Trials, balanced, load_trials
from studies.engine.evaluation import Columns
from studies.engine.evaluation import columns as usual
from studies.engine.program import Settings, State, compiled_epochs, first_state, gather, scatter
from studies.engine.tabular import Method
from studies.harness.store import Line
from studies.harness.study import Job, silent

if TYPE_CHECKING:
    from studies.engine.tabular import Budget


def shuffled(trials: Trials, batch_size: int, epoch: int, count: int) -> np.ndarray:
    """Returns indices (epochs, steps, trials, batch), -1 where the last batch has no more samples."""
    samples = trials.train.y.shape[1]
    return _batches(
        trials,
        batch_size,
        count,
        lambda trial, seed, number: np.random.default_rng([seed, epoch + number]).permutation(samples),
    )


def stratified(trials: Trials, batch_size: int, epoch: int, count: int) -> np.ndarray:
    """Returns the same, except that every batch has as many positives as every other, up to one."""
    return _batches(
        trials,
        batch_size,
        count,
        lambda trial, seed, number: _spread(trials.train.y[trial], np.random.default_rng([seed, epoch + number, 1])),
    )


def _batches(trials: Trials, size: int, count: int, order: Callable[[int, int, int], np.ndarray]) -> np.ndarray:
    samples = trials.train.y.shape[1]
    steps = math.ceil(samples / size)
    orders = np.full((count, len(trials.seeds), steps * size), -1, "int32")
    for number in range(count):
        for trial, seed in enumerate(trials.seeds):
            orders[number, trial, :samples] = order(trial, int(seed), number)
    return orders.reshape(count, len(trials.seeds), steps, size).swapaxes(1, 2)


def _spread(labels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Returns all indices; each class is shuffled and put at equal distances, with a random offset."""
    rows, places = [], []
    for value in (0, 1):
        of_class = random.permutation(np.flatnonzero(labels == value))
        rows.append(of_class)
        places.append((np.arange(len(of_class)) + random.random()) / max(len(of_class), 1))
    return np.concatenate(rows)[np.argsort(np.concatenate(places), kind="stable")]


_INDICES_AT_ONCE = 20_000_000
_EPOCHS_AT_ONCE = 25
_ROWS_WORTH_COMPILING_FOR = 20_000


class Trained(NamedTuple):
    """The best weights of every trial, and how they came about.

    Attributes:
        weights: Of the best epoch of each trial.
        best_epoch: Its number, from 1.
        best_loss: Its validation loss.
        epochs: After how many epochs each trial stopped.
        all_epochs: How many epochs the stack of trials was trained for.
        updates: How many updates that was.
        seconds: What all trials together took.
    """

    weights: network.Weights
    best_epoch: np.ndarray
    best_loss: np.ndarray
    epochs: np.ndarray
    all_epochs: int
    updates: int
    seconds: float


def train(trials: Trials, method: Method, settings: Settings, say: Callable[[str], None] = silent) -> Trained:
    """Trains one network for each trial until all have stopped; `say` shows how far they are."""
    started = time.perf_counter()
    memory = method.objective.start(len(trials.seeds))
    state = first_state(trials, memory, settings.start, method.output_bias)
    final, active, epoch = state, np.arange(len(trials.seeds)), 0
    run, ordered = compiled_epochs(trials, method, settings), stratified if method.stratified else shuffled
    while len(active) and epoch < settings.most_epochs:
        count = epochs_at_once(trials, settings, epoch)
        state, losses = run(state, ordered(trials, settings.batch_size, epoch, count), tf.constant(epoch))
        _check_finite(losses.numpy(), trials.seeds)
        epoch += count
        final = scatter(final, state, active)
        going = np.flatnonzero(epoch - state.best_epoch.numpy() < settings.patience)
        if not len(going):
            active = going
        elif len(going) <= len(active) // 2 and trials.train.y.shape[1] > _ROWS_WORTH_COMPILING_FOR:
            active, trials, state = active[going], trials.of(going), gather(state, going)
            run = compiled_epochs(trials, method, settings)
        say(f"epoch {epoch} of {settings.most_epochs}, {len(going)} trials in training")
    return _trained(final, epoch, settings.patience, time.perf_counter() - started)


def _trained(final: State, epoch: int, patience: int, seconds: float) -> Trained:
    best_epoch = final.best_epoch.numpy()
    epochs = np.minimum(best_epoch + patience, epoch)
    return Trained(final.best_weights, best_epoch, final.best_loss.numpy(), epochs, epoch, int(final.step), seconds)


def epochs_at_once(trials: Trials, settings: Settings, epoch: int) -> int:
    """Returns how many epochs one call trains: few enough for their batch orders to fit in memory."""
    fitting = max(1, _INDICES_AT_ONCE // trials.train.y.size)
    return min(fitting, _EPOCHS_AT_ONCE, settings.most_epochs - epoch)


def _check_finite(losses: np.ndarray, seeds: np.ndarray) -> None:
    """Raises if a trial diverged: a loss of NaN is never better, so it would look like early stopping."""
    diverged = seeds[~np.isfinite(losses).all(axis=0)]
    if len(diverged):
        raise FloatingPointError(f"The validation loss is not a finite number in the trials {diverged.tolist()}.")


def rows(job: Job, method: Method, budget: Callable[[int, int], Budget], columns: Columns = usual) -> Iterator[Line]:
    """Trains the trials of a job and yields their rows."""
    original, size = load_trials(job.key["data"], job.trials, job.raw_dir), job.key["batch_size"]
    data, limits = balanced(original, method.balance), budget(original.train.y.shape[1], size)
    settings = Settings(size, patience=limits.patience, most_epochs=limits.epochs)
    trained = train(data, method, settings, job.say)
    validation, test = (network.logits(trained.weights, part.x).numpy().T for part in (data.validation, data.test))
    progress = {"epochs": trained.all_epochs, "updates": trained.updates, "seconds": trained.seconds / len(job.trials)}
    for k, trial in enumerate(job.trials):
        outputs = (data.validation.y[k], validation[k]), (data.test.y[k], test[k])
        yield {"trial": trial, "best_epoch": int(trained.best_epoch[k]), **progress, **columns(*outputs)}
