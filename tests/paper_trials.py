"""Two small trials, as the reproduction of the paper stacks them, with made-up data."""

import numpy as np

import keras_softsets as kss
from studies.engine import data

FEATURES, SAMPLES = 4, 150


def two_trials() -> data.Trials:
    parts = [(made_up(seed), made_up(seed + 10, 80), made_up(seed + 20, 80)) for seed in (3, 5)]
    return data.stack([kss.datasets.Splits(*each) for each in parts], [3, 5])


def made_up(seed: int, samples: int = SAMPLES) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    y = (np.arange(samples) % 4 == 0).astype("float32")
    x = random.normal(size=(samples, FEATURES)).astype("float32") + y[:, None]
    return x, y
