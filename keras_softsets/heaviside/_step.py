"""The step itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets.heaviside._base import Heaviside, like, value
from keras_softsets.heaviside._pieces import SAME, Pieces, merge_edges


@value
class StepHeaviside(Heaviside):
    """The step itself (Eq. 1): 1 if p >= threshold, else 0. For metrics; its slope is 0, so losses refuse it.

    Its thresholds may also be 0 (everything is positive), 1 (only p = 1 is) and inf (nothing is).

    Examples:
        >>> [float(StepHeaviside()(p, 0.5)) for p in (0.49, 0.5, 0.51)]
        [0.0, 1.0, 1.0]
    """

    differentiable = False

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """Compares in the precision of p, so that p = 0.7 is positive at threshold 0.7 in float32; NaN stays NaN."""
        return ops.where(ops.isnan(p), p, ops.cast(p >= like(threshold, p), ops.dtype(p)))

    def pieces(self, thresholds: Sequence[float]) -> Pieces:
        """The thresholds themselves; between two neighbours every step is constant."""
        edges = merge_edges([0.0, *(threshold for threshold in thresholds if threshold <= 1), 1.0])
        if 1.0 in thresholds:
            edges = np.append(edges, 2.0)  # p = 1 is a separate interval
        value = ((1 + SAME) * edges[:-1] >= np.asarray(thresholds)[:, None]).astype("float64")
        return Pieces(edges, value, value, 0 * value, np.zeros((len(value), len(edges))))
