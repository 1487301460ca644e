"""Studies of losses on tables: the paper's MLP, methods by data sets by batch sizes, ten paired trials.

    METHODS = {"bce": Method("BCE", Plain(binary_crossentropy)), "f1": Method("SoftF1", Plain(soft(kss.SoftF1)))}
    STUDY = tabular_study("mine", "what it asks", product(data=DATA, method=METHODS, batch_size=(1024, 128)), METHODS)

Split, initial weights, order of the samples and dropout of trial i come from seed i, whatever the method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from studies.engine.evaluation import Columns
from studies.engine.evaluation import columns as usual
from studies.harness.store import Line
from studies.harness.study import Job, Key, Study

KEYS = ("data", "method", "batch_size", "trial")
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
MOST_EPOCHS, LEAST_EPOCHS, MOST_UPDATES = 1000, 20, 100_000
LONGEST_PATIENCE, SHORTEST_PATIENCE = 100, 5


class Method(NamedTuple):
    """A way of training.

    Attributes:
        label: What it is called in tables.
        objective: What is minimised: an objective of `engine.objectives` for trials side by side, or a function
            without arguments that returns a Keras loss on logits, for `fit`.
        validated: What chooses the epoch. Defaults to `None`, the objective.
        balance: `"none"`, `"weighted"` or `"oversampled"`.
        stratified: Whether positives are spread evenly over batches.
        output_bias: Whether the output starts at the logarithm of the class ratio.
    """

    label: str
    objective: Any
    validated: Any = None
    balance: str = "none"
    stratified: bool = False
    output_bias: bool = False


class Budget(NamedTuple):
    """How long a training may last."""

    epochs: int
    patience: int


def budget(samples: int, batch_size: int) -> Budget:
    """Returns the same budget for all methods on a data set, even if they add samples to it."""
    fitting = MOST_UPDATES // math.ceil(samples / batch_size)
    epochs = min(max(fitting, LEAST_EPOCHS), MOST_EPOCHS)
    return Budget(epochs, min(max(epochs // 4, SHORTEST_PATIENCE), LONGEST_PATIENCE))


def tabular_study(
    name: str,
    about: str,
    plan: Sequence[Key],
    methods: Mapping[str, Method],
    *,
    trials: int = 10,
    by: str = "stack",
    budget: Callable[[int, int], Budget] = budget,
    columns: Columns = usual,
) -> Study:
    """Returns a study with one row for each trial of each entry of the plan.

    Args:
        name: Of the study, and of its table of results.
        about: What it asks, in a line.
        plan: What is trained, with the keys `data`, `method` and `batch_size`.
        methods: The methods by name.
        trials: Number of trials.
        by: `"stack"`: all trials of a row side by side, in one compiled program, for objectives of the engine.
            `"fit"`: one trial after the other through `model.fit`, for any Keras loss, with or without a state.
        budget: Epochs and patience, from the number of samples and the batch size. Defaults to the usual one.
        columns: What a row says, from labels and logits of the validation and the test part. Defaults to the usual.
    """

    def train(job: Job) -> Iterator[Line]:
        from studies.engine import fitting, side_by_side  # they import TensorFlow

        trained = {"stack": side_by_side.rows, "fit": fitting.rows}[by]
        return trained(job, methods[job.key["method"]], budget, columns)

    return Study(name, about, KEYS, plan, train, trials=trials, together=by == "stack", threads=1)
