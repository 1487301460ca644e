"""The ten splits of a data set, stacked: trial i always has split i, whatever the loss."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from keras_softsets import datasets

LETTER_U = 20  # its place in the alphabet, from 0
FEW, FEW_ROWS = "_few", (1000, 250)  # at the end of a name: this many rows for training and for validation


class Part(NamedTuple):
    """Features (trials, samples, features), labels and weights (trials, samples)."""

    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    def of(self, trials: np.ndarray) -> Part:
        """Returns the part of some trials."""
        return Part(*(array[trials] for array in self))


class Trials(NamedTuple):
    """Train, validation and test parts of all trials; `seeds` names the trials."""

    train: Part
    validation: Part
    test: Part
    seeds: np.ndarray

    def of(self, trials: np.ndarray) -> Trials:
        """Returns some of the trials."""
        return Trials(self.train.of(trials), self.validation.of(trials), self.test.of(trials), self.seeds[trials])


@functools.lru_cache(maxsize=1)  # the methods of a data set follow one another
def load_trials(name: str, seeds: tuple[int, ...], raw_dir: str | None = None) -> Trials:
    """Loads one stratified split for each seed, each standardised on its own training part; Letter is `U` or not.

    With `FEW` at the end of the name, only some rows of the training and the validation part are kept.
    """
    original = name.removesuffix(FEW)
    trials = stack([_binary(original, datasets.load(original, seed=seed, raw_dir=raw_dir)) for seed in seeds], seeds)
    return trials if name == original else _few(trials)


def _binary(name: str, splits: datasets.Splits) -> datasets.Splits:
    if name != "letter":
        return splits
    return datasets.Splits(*((x, (y == LETTER_U).astype(np.float32)) for x, y in splits))


def _few(trials: Trials) -> Trials:
    """Keeps some rows of each class, chosen at random by the seed of the trial, in the shares of the whole."""
    rows = zip(trials[:2], FEW_ROWS, strict=True)
    train, validation = (_thinned(part, count, trials.seeds, number) for number, (part, count) in enumerate(rows))
    return trials._replace(train=train, validation=validation)


def _thinned(part: Part, count: int, seeds: np.ndarray, number: int) -> Part:
    positives, kept = round(count * float(part.y.mean())), []
    for y, seed in zip(part.y, seeds, strict=True):
        random = np.random.default_rng([int(seed), number, 2])
        sizes = {1: positives, 0: count - positives}
        rows = [random.choice(np.flatnonzero(y == label), size, replace=False) for label, size in sizes.items()]
        kept.append(np.sort(np.concatenate(rows)))
    return Part(*(np.stack([a[r] for a, r in zip(array, kept, strict=True)]) for array in part))


def stack(splits: list[datasets.Splits], seeds: Sequence[int]) -> Trials:
    """Stacks splits of equal sizes."""
    parts = []
    for rows in zip(*splits, strict=True):
        x, y = (np.stack(arrays) for arrays in zip(*rows, strict=True))
        parts.append(Part(x, y, np.ones_like(y)))
    return Trials(*parts, np.asarray(seeds))


def balanced(trials: Trials, balance: str) -> Trials:
    """Applies the supplement's weights or oversampling.

    Weights enter the training and validation loss: W = (n + p) / (2 n) for negatives and (n + p) / (2 p) for positives.
    Oversampling repeats positives of the training part only, drawn with replacement, until there are as many as
    negatives; the originals are kept.
    """
    if balance == "weighted":
        return trials._replace(train=_weighted(trials.train), validation=_weighted(trials.validation))
    if balance == "oversampled":
        rows = np.stack([_oversampled(y, seed) for y, seed in zip(trials.train.y, trials.seeds, strict=True)])
        train = Part(*(np.stack([a[r] for a, r in zip(array, rows, strict=True)]) for array in trials.train))
        return trials._replace(train=train)
    if balance != "none":
        raise ValueError(f"`balance` must be none, weighted or oversampled. Received: balance={balance!r}")
    return trials


def _weighted(part: Part) -> Part:
    share = part.y.mean(axis=1, keepdims=True)
    return part._replace(weight=np.where(part.y == 1, 0.5 / share, 0.5 / (1 - share)).astype("float32"))


def _oversampled(y: np.ndarray, seed: int) -> np.ndarray:
    positives, missing = np.flatnonzero(y), int(len(y) - 2 * y.sum())
    return np.concatenate([np.arange(len(y)), np.random.default_rng([seed, 1]).choice(positives, missing)])
