"""The data of the study: class ids, and the recipe that makes letters imbalanced."""

import numpy as np

from keras_softsets import datasets

Part = tuple[np.ndarray, np.ndarray]


def load(name: str, seed: int) -> datasets.Splits:
    parts = datasets.load(name, seed=seed)
    if name != "letter":
        return parts
    return datasets.Splits(*(thinned(part, (seed, number)) for number, part in enumerate(parts)))


def thinned(part: Part, seed: tuple[int, int]) -> Part:
    """Keeps 1/k of the rows of the k-th class, at least one, in their order."""
    x, ids = part
    random = np.random.default_rng(seed)
    kept = []
    for k, name in enumerate(np.unique(ids), start=1):
        rows = np.flatnonzero(ids == name)
        kept.append(random.choice(rows, max(1, round(len(rows) / k)), replace=False))
    rows = np.sort(np.concatenate(kept))
    return x[rows], ids[rows]


def made_up(seed: int, classes: int = 4, features: int = 6) -> datasets.Splits:
    """Small ordinal data without a download, to check that everything runs."""
    parts = []
    for number, samples in enumerate((300, 100, 100)):
        random = np.random.default_rng((seed, number))
        x = random.normal(size=(samples, features)).astype("float32")
        place = x[:, 0] + 0.5 * random.normal(size=samples)
        parts.append((x, np.digitize(place, np.linspace(-1, 1.5, classes - 1)).astype("int32")))
    return datasets.Splits(*parts)
