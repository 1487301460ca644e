"""The splits: half of the data for training, a quarter for validation and a quarter for testing."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from keras_softsets import datasets


class Part(NamedTuple):
    """Features (samples, features) and labels (samples, 1), in float32."""

    x: np.ndarray
    y: np.ndarray


class Split(NamedTuple):
    """The three parts, features standardised on the first."""

    train: Part
    validation: Part
    test: Part


def load(name: str, seed: int, raw_dir: str | os.PathLike[str] | None = None) -> Split:
    """Loads a data set and splits it anew, stratified; of several classes, the most frequent is positive."""
    parts = datasets.load(name, seed=0, raw_dir=raw_dir)
    x, y = (np.concatenate([part[k] for part in parts]) for k in range(2))
    y = np.ravel(y).astype(int)
    y = (y == np.argmax(np.bincount(y))) if y.max() > 1 else y.astype(bool)
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]  # shuffled inside each class
    place = np.empty(len(y), int)
    for rows in (order[~y[order]], order[y[order]]):
        place[rows] = np.arange(len(rows)) * 4 // len(rows)  # quarters of each class
    train = place < 2
    mean, spread = x[train].mean(0), x[train].std(0)
    x = ((x - mean) / np.where(spread > 0, spread, 1)).astype("float32")
    chosen = (train, place == 2, place == 3)
    return Split(*(Part(x[rows], y[rows, None].astype("float32")) for rows in chosen))
