"""The logistic curve as an approximation of the step."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._checks import check_number
from keras_softsets.heaviside._base import Heaviside, like, set_field, value

_FLAT = 16.0  # the steepness up to which exp(k / 2) loses no digits


@value
class SigmoidHeaviside(Heaviside):
    """Logistic curve, 1 / (1 + exp(-k (p - threshold))).

    Simple and smooth, but it reaches 0 and 1 only for large `k`, and then its slope vanishes away from the threshold.

    Args:
        k: Steepness, greater than 0 and at most 1e38. Defaults to `10.0`.

    Examples:
        >>> [round(float(SigmoidHeaviside()(p, 0.5)), 3) for p in (0.0, 0.5, 1.0)]
        [0.007, 0.5, 0.993]

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Section 3.1
    """

    k: float = 10.0

    def __post_init__(self) -> None:
        # A larger k overflows float32, and its product with a difference of 0 would be NaN.
        set_field(self, "k", check_number("k", self.k, 0.0, 1e38, open_low=True))

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """The logistic function of k (p - threshold)."""
        if self.k > _FLAT:
            return ops.sigmoid(self.k * (p - like(threshold, p)))
        # One exponential for all thresholds: it splits into factors, which neither overflow nor lose digits.
        xp: Any = ops if ops.is_tensor(threshold) else np
        return 1 / (1 + ops.exp(self.k * (0.5 - p)) * like(xp.exp(self.k * (threshold - 0.5)), p))
