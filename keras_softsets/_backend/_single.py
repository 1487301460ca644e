"""Totals where float64 is missing: sums of short sums, and pairs of float32 numbers that keep what one would lose."""

from __future__ import annotations

import functools
import math
from typing import Any

from keras import ops

from keras_softsets._backend._types import Tensor


def sum_in_steps(x: Tensor, axis: int = 0) -> Tensor:
    """A float32 sum along an axis, as a sum of short sums: one chain of additions would stop growing at 2^24."""
    x = ops.moveaxis(x, axis, 0)
    while x.shape[0] > 32:
        lanes = _lanes(x.shape[0])
        count = -(-x.shape[0] // lanes)
        if count * lanes > x.shape[0]:
            x = ops.pad(x, [[0, count * lanes - x.shape[0]], *([[0, 0]] * (len(x.shape) - 1))])
        x = ops.sum(ops.reshape(x, (count, lanes, *x.shape[1:])), 0)
    return ops.sum(x, 0)


def _lanes(size: int) -> int:
    """How many sums of about the root of the size there are."""
    root = math.sqrt(size)
    terms = split(size, math.ceil(root / 8), math.floor(8 * root))
    return 2 ** math.ceil(math.log2(root)) if terms is None else size // terms


@functools.lru_cache(maxsize=1024)
def split(size: int, low: int, high: int) -> int | None:
    """Into how many equal parts, from `low` to `high`, a number is best split; `None` if it cannot be.

    It is the number with the most factors of two. Samples then stay on the devices between which they are split, most
    often evenly: with padding, devices would exchange samples before every sum.
    """
    parts = [parts for parts in range(max(low, 1), high + 1) if size % parts == 0]
    middle = math.sqrt(max(low, 1) * max(high, 1))
    return max(parts, key=lambda n: (n & -n, -abs(math.log(n / middle))), default=None)


class Pair:
    """A total as two float32 numbers, of which the second holds what the first has rounded off.

    It has what the package uses of a variable. Adding up over replicas adds both numbers, which is exact, too.
    """

    def __init__(self, metric: Any, shape: tuple[int, ...], name: str) -> None:
        self.shape = shape
        self.both = metric.add_variable((2, *shape), "zeros", dtype="float32", name=name)

    @property
    def value(self) -> Tensor:
        """The sum of both."""
        both = ops.convert_to_tensor(self.both)
        return both[0] + both[1]

    def assign(self, value: Tensor) -> None:
        """Sets the total."""
        high = ops.cast(value, "float32")
        self.both.assign(ops.stack([high, ops.cast(value - ops.cast(high, value.dtype), "float32")]))

    def assign_add(self, value: Tensor) -> None:
        """Adds to the total; infinity and NaN stay what they are."""
        both = ops.convert_to_tensor(self.both)
        added = ops.cast(value, "float32")
        rest = both[1] + ops.cast(value - ops.cast(added, value.dtype), "float32")
        total = both[0] + added
        moved = total - both[0]
        lost = (both[0] - (total - moved)) + (added - moved)  # exact, after Knuth
        low = rest + ops.where(ops.isfinite(total), lost, 0.0)
        high = total + low
        self.both.assign(ops.stack([high, ops.where(ops.isfinite(high), low - (high - total), 0.0)]))
