"""Converts what users pass as `threshold` to a decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from keras_softsets.decisions._argmax import Argmax
from keras_softsets.decisions._base import Decision
from keras_softsets.decisions._thresholds import Thresholds, numbers_of

RULE = (
    "a number in [0, 1] or inf, a non-empty sequence of such numbers, 'argmax', or a decision such as PerClass([0.2])"
)
DecisionLike = float | str | Sequence[float] | Decision | dict[str, Any]


def get(threshold: DecisionLike) -> Decision:
    """Resolves what users pass as `threshold`.

    Examples:
        >>> get(0.3)
        Thresholds(thresholds=(0.3,))
    """
    if isinstance(threshold, str) and threshold == "argmax":
        return Argmax()
    if isinstance(threshold, dict):
        decision = keras.saving.deserialize_keras_object(threshold)
        if not isinstance(decision, Decision):
            raise ValueError(f"`threshold` must be {RULE}. Received: threshold={decision!r}")
        return decision
    return (
        threshold
        if isinstance(threshold, Decision)
        else Thresholds(numbers_of(threshold, f"`threshold` must be {RULE}"))
    )


def written(decision: Decision) -> Any:
    """Returns a decision as users pass it: the inverse of `get`.

    Examples:
        >>> written(get(0.3)), written(get("argmax"))
        (0.3, 'argmax')
    """
    if isinstance(decision, Thresholds):
        return decision.config()
    return "argmax" if decision == Argmax() else decision
