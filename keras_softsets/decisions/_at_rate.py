"""Decisions at an operating point: the threshold is wherever a rate is reached on the given data.

"Find 95 % of the tumours with as few false alarms as possible" is the score `precision` with the decision
`AtRecall(0.95)`; "at most 1 % false positives" is `AtSpecificity(0.99)`. They work with every score of one threshold,
and each class has a separate threshold.

* **Metrics and `evaluate`** give the best value among all thresholds that meet the rate (or exceed it), as
  `keras.metrics.PrecisionAtRecall` does, and 0 if none does.
* **Losses and `confusion_matrix`** take the boundary: the highest threshold with that recall, the lowest with that
  specificity, the lowest with that precision. A loss knows that the boundary moves with the predictions.
* **Out of reach.** If no threshold reaches the precision, a loss is 1 plus the shortfall at the threshold with the best
  precision, which pushes precision up until the rate is reached.
* **Undefined.** Without positives, or for `AtSpecificity` without negatives, the rate is undefined. A loss is then
  constant, without a gradient; `zero_division` says what the score is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from keras_softsets._checks import as_floats, check_number, set_field, shown
from keras_softsets.decisions._decision import Decision, register
from keras_softsets.heaviside import Heaviside, TabulatedHeaviside


class AtRate(Decision):
    """Base of the decisions at an operating point.

    Attributes:
        rates: The rates to be met; there is one row of cells for each.
        rate: Name of the score that must meet them.
    """

    if TYPE_CHECKING:

        def __init__(self, rates: float | Sequence[float]) -> None: ...

    @classmethod
    def named(cls, name: str, rates: Any) -> AtRate:
        """Returns the decision; errors speak of the argument of this name."""
        return cls(_rates_of(name, rates))

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """Raises unless the approximation changes with the threshold."""
        if isinstance(heaviside, TabulatedHeaviside) and heaviside.differentiable:
            raise ValueError(
                f"`heaviside` must not be a table if the threshold moves, as with {self!r}. "
                f"Received: heaviside={heaviside!r}"
            )

    def check_use(self, scores: Sequence[Any], per_sample: bool) -> None:
        """Raises a `ValueError` for scores of a whole curve, and with `per_sample`."""
        curve = next((score.name for score in scores if score.curve), None)
        if curve or per_sample:
            used = f"score={curve!r}" if curve else "per_sample=True"
            raise ValueError(f"`threshold` must not depend on the data with {used}. Received: threshold={self!r}")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"rates": list(self.rates)}

    def __post_init__(self) -> None:
        set_field(self, "rates", _rates_of(self.rate, self.rates))


def _rates_of(name: str, values: Any) -> tuple[float, ...]:
    """Returns rates as floats, or raises a `ValueError` about the argument of this name."""
    listed = as_floats(values)
    if not listed:
        raise ValueError(
            f"`{name}` must be a number or a non-empty sequence of numbers greater than 0 and at most 1. "
            f"Received: {name}={shown(values)}"
        )
    return tuple(check_number(name, rate, 0.0, 1.0, open_low=True) for rate in listed)


@register
@dataclasses.dataclass(frozen=True)
class AtRecall(AtRate):
    """The threshold at which a given share of the positives is found.

    Args:
        rates: The recall, greater than 0 and at most 1, or a sequence over which the score is averaged.

    Examples:
        >>> from keras_softsets import evaluate
        >>> y, p = [0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.6, 0.9]
        >>> evaluate(y, p, "precision", threshold=AtRecall(0.5)), evaluate(y, p, "precision", threshold=AtRecall(0.95))
        (1.0, 0.6666666666666666)
    """

    rates: tuple[float, ...] = dataclasses.field()
    rate = "recall"
    if TYPE_CHECKING:

        def __init__(self, rates: float | Sequence[float]) -> None: ...


@register
@dataclasses.dataclass(frozen=True)
class AtPrecision(AtRate):
    """The threshold at which a given share of the predicted positives is positive.

    Args:
        rates: The precision, greater than 0 and at most 1, or a sequence over which the score is averaged.

    Examples:
        >>> from keras_softsets import evaluate
        >>> y, p = [0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.6, 0.9]
        >>> evaluate(y, p, "recall", threshold=AtPrecision(0.9)), evaluate(y, p, "recall", threshold=AtPrecision(0.6))
        (0.5, 1.0)
    """

    rates: tuple[float, ...] = dataclasses.field()
    rate = "precision"
    if TYPE_CHECKING:

        def __init__(self, rates: float | Sequence[float]) -> None: ...


@register
@dataclasses.dataclass(frozen=True)
class AtSpecificity(AtRate):
    """The threshold at which a given share of the negatives is decided as negative: 1 minus the false positive rate.

    Args:
        rates: The specificity, greater than 0 and at most 1, or a sequence over which the score is averaged.

    Examples:
        >>> from keras_softsets import evaluate
        >>> y, p = [0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.6, 0.9]
        >>> evaluate(y, p, "recall", threshold=AtSpecificity(0.99))
        0.5
    """

    rates: tuple[float, ...] = dataclasses.field()
    rate = "specificity"
    if TYPE_CHECKING:

        def __init__(self, rates: float | Sequence[float]) -> None: ...
