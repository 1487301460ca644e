"""Piecewise-linear families: all that the kernel for many thresholds needs to know about an approximation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SAME = 1e-12  # edges with a smaller relative difference are equal: 3 * 0.1 / 2 and 0.3 - 0.15 differ in the last bit


class Pieces(NamedTuple):
    """A family of piecewise-linear functions of p, one for each threshold, on common intervals (float64)."""

    edges: np.ndarray  # (intervals + 1,), rising from 0 to 1 or beyond; interval i is [edges[i], edges[i + 1])
    left: np.ndarray  # (thresholds, intervals): value at the left end of the interval
    right: np.ndarray  # (thresholds, intervals): limit at its right end
    slope: np.ndarray  # (thresholds, intervals): slope inside the interval
    edge_slope: np.ndarray  # (thresholds, intervals + 1): slope on the edges themselves


def merge_edges(values: Sequence[float]) -> np.ndarray:
    """Returns the distinct values in rising order, the last of them 1."""
    edges = np.unique(np.asarray(values, "float64"))
    keep = np.append(True, np.diff(edges) > SAME * edges[1:])
    edges = edges[keep]
    edges[-1] = 1.0
    return edges
