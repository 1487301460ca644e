"""A way of training: what is minimised, and what is done to the data."""

from __future__ import annotations

from typing import Any, NamedTuple


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
