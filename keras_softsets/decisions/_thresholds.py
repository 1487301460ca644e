"""One threshold for all classes, or a sweep of them."""

from __future__ import annotations

import dataclasses
import numbers
from typing import Any

import numpy as np
from keras import ops

from keras_softsets._backend import Tensor
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
        """Thresholds at the ends are for the step."""
        heaviside.check_thresholds(self.config())

    def config(self) -> float | list[float]:
        """The number or the list."""
        return self.thresholds[0] if len(self.thresholds) == 1 else list(self.thresholds)


def numbers_of(values: Any, rule: str) -> tuple[float, ...]:
    """Returns thresholds as floats, or raises a `ValueError` with the `rule`."""
    listed = [values] if isinstance(values, numbers.Real) else values
    try:
        array = np.asarray(listed)
        numeric = array.dtype.kind in "fiu" and array.ndim <= 1
        array = array.astype(str) if array.dtype == "float32" else array  # 0.3 is meant, not 0.30000001192092896
        array = array.astype("float64").reshape(-1) if numeric else np.empty(0)
    except (TypeError, ValueError):
        array = np.empty(0)
    if not array.size or not np.all(((array >= 0) & (array <= 1)) | (array == np.inf)):
        raise ValueError(f"{rule}. Received: threshold={values}")
    return tuple(float(value) for value in array)
