"""One threshold for all classes, or a sweep of them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._checks import as_floats
from keras_softsets._samples import Samples
from keras_softsets.decisions._base import Decision
from keras_softsets.heaviside import Heaviside


@dataclasses.dataclass(frozen=True)
class Thresholds(Decision):
    """One threshold, or a sweep of them, for all classes; users pass the number or the sequence itself."""

    thresholds: tuple[float, ...]

    @property
    def rows(self) -> int:  # type: ignore[override]  # a property here
        """The number of thresholds."""
        return len(self.thresholds)

    def memberships(self, samples: Samples, heaviside: Heaviside) -> Tensor:
        """One row for each threshold."""
        return ops.stack([heaviside(samples.probability, threshold) for threshold in self.thresholds])

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """Raises for 0, 1 and inf unless the approximation is the step."""
        heaviside.check_thresholds(self.config())

    def config(self) -> float | list[float]:
        """The number or the list."""
        return self.thresholds[0] if len(self.thresholds) == 1 else list(self.thresholds)


def numbers_of(values: Any, rule: str) -> tuple[float, ...]:
    """Returns thresholds as floats, or raises a `ValueError` with the `rule`."""
    thresholds = as_floats(values)
    if not thresholds or not all(0 <= threshold <= 1 or threshold == math.inf for threshold in thresholds):
        raise ValueError(f"{rule}. Received: threshold={values}")
    return tuple(thresholds)
