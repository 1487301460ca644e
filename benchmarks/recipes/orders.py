"""The order of the samples: shuffled, or with the positives spread evenly over the batches."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.paper.methods.data import Trials


def stratified(trials: Trials, batch_size: int, epoch: int, count: int) -> np.ndarray:
    """Returns indices (epochs, steps, trials, batch), -1 where the last batch has no more samples.

    Every batch has as many positives as every other, up to one.
    """
    samples = trials.train.y.shape[1]
    steps = math.ceil(samples / batch_size)
    orders = np.full((count, len(trials.seeds), steps * batch_size), -1, "int32")
    for number in range(count):
        for trial, seed in enumerate(trials.seeds):
            random = np.random.default_rng([int(seed), epoch + number, 1])
            orders[number, trial, :samples] = _spread(trials.train.y[trial], random)
    return orders.reshape(count, len(trials.seeds), steps, batch_size).swapaxes(1, 2)


def _spread(labels: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Returns all indices; each class is shuffled and put at equal distances, with a random offset."""
    rows, places = [], []
    for value in (0, 1):
        of_class = random.permutation(np.flatnonzero(labels == value))
        rows.append(of_class)
        places.append((np.arange(len(of_class)) + random.random()) / max(len(of_class), 1))
    return np.concatenate(rows)[np.argsort(np.concatenate(places), kind="stable")]
