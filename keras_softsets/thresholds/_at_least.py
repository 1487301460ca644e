"""The rules of a constrained search: values that other scores must reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_softsets import scores
from keras_softsets._checks import check_number
from keras_softsets._operating import SLACK

Rules = dict[scores.Score, float]


def rules_of(at_least: Mapping[Any, float] | None) -> Rules:
    """Resolves what users pass as `at_least`."""
    if at_least is not None and not isinstance(at_least, Mapping):
        raise ValueError(f"`at_least` must map scores to numbers, {{'recall': 0.95}}. Received: at_least={at_least!r}")
    rules = {scores.get(name): check_number("at_least", value, -np.inf) for name, value in (at_least or {}).items()}
    for rule in rules:
        if rule.curve or rule.of != "cells":
            raise ValueError(f"`at_least` must have scores of one threshold. Received: {rule!r}")
    return rules


def meeting(rules: Rules, reached: Sequence[np.ndarray]) -> np.ndarray:
    """Returns whether each threshold meets all rules; if none does, raises a `ValueError` that says what is possible.

    Args:
        rules: At least one.
        reached: The score of each rule at every threshold.
    """
    meets = np.array([values >= least - SLACK for values, least in zip(reached, rules.values(), strict=True)])
    every = np.logical_and.reduce(meets)
    if every.any():
        return every
    best = [_best(values, np.logical_and.reduce(np.delete(meets, k, 0))) for k, values in enumerate(reached)]
    raise ValueError(
        f"`at_least` must be within reach; the best is {_listed(rules, best)}"
        f"{', each where the others are met' if len(rules) > 1 else ''}. Received: {_listed(rules, rules.values())}"
    )


def _best(values: np.ndarray, within: np.ndarray) -> float:
    """The best value where the other rules are met, or anywhere if they never are."""
    return float(values[within].max() if np.any(within) else values.max())


def _listed(rules: Rules, values: Any) -> str:
    return ", ".join(f"{rule!r} of {value:.6g}" for rule, value in zip(rules, values, strict=True))
