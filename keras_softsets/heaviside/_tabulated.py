"""A look-up table of another approximation."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import Tensor, wide
from keras_softsets._checks import check_whole_number, set_field
from keras_softsets.heaviside._base import Heaviside, Pieces, like, register
from keras_softsets.heaviside._functions import get


@register
@dataclasses.dataclass(frozen=True)
class TabulatedHeaviside(Heaviside):
    """Look-up table over p truncated to a few decimals: the paper's remedy for the cost of many thresholds.

    The value is that of `base` at the truncated p; the slope is that of the chord over the table's bin, so a loss
    moves as it would along `base`. Provided for comparison: `LinearHeaviside` is exact and costs no more.

    Args:
        base: The approximation to tabulate.
        decimals: Decimals of p that are kept, 1 to 4. Defaults to `2`.

    Examples:
        >>> h = TabulatedHeaviside(LinearHeaviside(), decimals=1)
        >>> [round(float(h(p, 0.5)), 3) for p in (0.5, 0.59, 0.6)]
        [0.5, 0.5, 0.66]

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), supplement, "Computational Efficiency"
    """

    base: Any = "linear"  # always a Heaviside after `__post_init__`
    decimals: int = 2

    def __post_init__(self) -> None:
        set_field(self, "base", get(self.base))
        set_field(self, "decimals", check_whole_number("decimals", self.decimals, 1, 4))

    @property
    def differentiable(self) -> bool:  # type: ignore[override]  # the base decides
        """Whether the base is differentiable."""
        return self.base.differentiable

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """Value of the base at the truncated p, with the chord's slope."""
        bins = 10**self.decimals
        table = np.arange(bins + 1) / bins
        edges, exact = like(table, p), ops.convert_to_tensor(table, wide())
        # The product is rounded; what counts is on which side of the nearest decimal p itself is.
        nearest = ops.cast(p * bins + 0.5, "int32")
        here = nearest - ops.cast(p < ops.take(edges, nearest), "int32")
        start = ops.minimum(here, bins - 1)  # p = 1 is a separate bin with the last chord
        value, low, high = (self.base(ops.take(exact, at), threshold) for at in (here, start, start + 1))
        chord = ops.stop_gradient(like((high - low) * bins, p))
        return ops.stop_gradient(like(value, p)) + chord * (p - ops.stop_gradient(p))

    def pieces(self, thresholds: Sequence[float]) -> Pieces | None:
        """The table: one interval for each truncated p, the last one for p = 1 alone."""
        if not self.base.is_value():  # a table would miss changes of its variables
            return None
        bins = 10**self.decimals
        edges = np.arange(bins + 2) / bins
        points = ops.convert_to_tensor(edges[:-1], wide())
        h = np.stack([ops.convert_to_numpy(self.base(points, threshold)) for threshold in thresholds])
        slope = np.pad(np.diff(h) * bins, ((0, 0), (0, 1)), "edge")
        return Pieces(edges, h, h, slope, np.pad(slope, ((0, 0), (0, 1)), "edge"))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"base": keras.saving.serialize_keras_object(self.base), "decimals": self.decimals}
