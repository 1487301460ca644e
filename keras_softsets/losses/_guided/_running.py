"""The running matrix: the only state that a loss of this package has, and all that is done with it.

It is a variable that every replica has for itself and changes in the same way, because what is added to it has been
summed over replicas before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets import _backend
from keras_softsets._backend import Tensor, outside_of_graphs


class RunningMatrix:
    """An exponentially decaying sum of matrices, in float64.

    A batch that holds n samples multiplies what was there before by exp(-n / window). Nothing is there at first, so
    the sum, unlike a mean that starts from 0, needs no correction: scores read the shares of the cells.

    Args:
        window: Number of samples after which a matrix has faded to 1 / e.
        size: The weight of the samples in a matrix, in a shape that broadcasts against it.
    """

    def __init__(self, window: int, size: Callable[[Tensor], Tensor]) -> None:
        self.window, self.size = window, size
        self._sum: Any = None

    def advanced(self, batch: Tensor) -> Tensor:
        """Adds the matrix of a batch and returns the sum; one that is not finite is left out of later sums."""
        before = ops.convert_to_tensor(self._variable(tuple(batch.shape)))
        after = before * ops.exp(-self.size(batch) / self.window) + batch
        self._sum.assign(ops.where(ops.all(ops.isfinite(after)), after, before))
        return after

    def current(self, batch: Tensor) -> Tensor:
        """The sum so far; before there is any, the matrix of a batch."""
        before = ops.convert_to_tensor(self._variable(tuple(batch.shape)))
        return ops.where(ops.sum(before) > 0, before, batch)

    @property
    def value(self) -> np.ndarray | None:
        """The sum as an array; `None` before there is any."""
        if self._sum is None:
            return None
        with outside_of_graphs():
            found = ops.convert_to_numpy(self._sum)
        return found if found.any() else None

    def restore(self, value: Any) -> None:
        """Sets the sum, for example to what was saved."""
        value = np.asarray(value, "float64")
        self._variable(value.shape).assign(value)

    def _variable(self, shape: tuple[int | None, ...]) -> Any:
        if None in shape:
            raise ValueError(f"`y_pred` must have a known number of classes, its last axis. Received: {shape[-1]}")
        if self._sum is None:
            self._sum = _backend.make_variable(lambda: _zeros(shape))
        if tuple(self._sum.shape) != shape:
            raise ValueError(
                "`y_pred` must have the same number of classes in every batch; each output of a model needs a loss of "
                f"its own. Received: {shape[-1]} classes after {self._sum.shape[-1]}"
            )
        return self._sum


def _zeros(shape: tuple[Any, ...]) -> keras.Variable:
    with outside_of_graphs():
        return keras.Variable(
            "zeros",  # not an array, of which Keras makes no variable while it tries a step out
            shape=shape,
            dtype=_backend.STATE,
            trainable=False,
            name="running_matrix",
            synchronization="on_read",
            aggregation="only_first_replica",
        )
