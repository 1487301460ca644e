"""What is trained: data sets, batch sizes, the number of epochs, and the rows of each study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

DATA = {
    "mammography": "Mammography",
    "adult": "Adult",
    "creditcard_fraud": "Kaggle",
    "cocktail_party": "CocktailParty",
    "synthetic_05": "Synthetic 5 %",
    "synthetic_33": "Synthetic 33 %",
    "letter": "Letter U",
    "spambase": "Spambase",
}
SAMPLES = {  # of the training part, for estimates of time
    "mammography": 7_156,
    "adult": 31_259,
    "creditcard_fraud": 182_277,
    "cocktail_party": 3_072,
    "synthetic_05": 3_360,
    "synthetic_33": 4_800,
    "letter": 12_799,
    "spambase": 2_944,
}
STUCK_DATA = "creditcard_fraud"
BATCH_SIZES = {"tabular": (1024, 128, 16), "memory": (32, 16, 8), "stuck": (1024,)}
TRIALS = 10
MOST_EPOCHS, LEAST_EPOCHS, MOST_UPDATES = 1000, 20, 100_000
LONGEST_PATIENCE, SHORTEST_PATIENCE = 100, 5


class Row(NamedTuple):
    """One method on one data set at one batch size, trained over all trials."""

    data: str
    method: str
    batch_size: int

    @property
    def path(self) -> str:
        """Name of the file of its results, relative to the folder of results."""
        return f"{self.data}/{self.method}-batch{self.batch_size}.csv"


class Budget(NamedTuple):
    """How long a training may last."""

    epochs: int
    patience: int


def budget(samples: int, batch_size: int) -> Budget:
    """Returns the same budget for all methods on a data set, even if they add samples to it."""
    fitting = MOST_UPDATES // math.ceil(samples / batch_size)
    epochs = min(max(fitting, LEAST_EPOCHS), MOST_EPOCHS)
    return Budget(epochs, min(max(epochs // 4, SHORTEST_PATIENCE), LONGEST_PATIENCE))


def rows(data: Iterable[str], methods: Iterable[str], batch_sizes: Sequence[int]) -> list[Row]:
    """Returns all combinations, the quickest batch size first and grouped by data set."""
    methods = list(methods)
    return [Row(name, method, size) for size in batch_sizes for name in data for method in methods]
