"""The trials of a data set, stacked as the side-by-side engine needs them."""

from __future__ import annotations

import functools

import numpy as np

from benchmarks.paper.methods.data import Trials, stack
from keras_softsets import datasets

LETTER_U = 20  # its place in the alphabet, from 0


@functools.lru_cache(maxsize=1)  # the methods of a data set follow one another
def load(name: str, seeds: tuple[int, ...], raw_dir: str | None = None) -> Trials:
    """Loads one stratified split for each seed."""
    return stack([_binary(name, datasets.load(name, seed=seed, raw_dir=raw_dir)) for seed in seeds], seeds)


def _binary(name: str, splits: datasets.Splits) -> datasets.Splits:
    if name != "letter":
        return splits
    return datasets.Splits(*((x, (y == LETTER_U).astype(np.float32)) for x, y in splits))
