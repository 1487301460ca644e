"""What all backends share: the type of tensors, a limit for values, and the result of a search for thresholds."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

Tensor = Any  # keras.ops accepts and returns backend tensors, which carry no useful static type
MARGIN = 0.1  # interpolated probabilities overshoot [0, 1] by less than this and are clipped; logits overshoot by more
_EDGE = 1.2e-7  # distance of soft thresholds from 0 and 1: what float32 resolves next to 1, and Keras's epsilon


class Boundary(NamedTuple):
    """Where rates are just met, (rates, classes).

    Attributes:
        threshold: The thresholds, in float32; every gradient treats them as constants.
        met: Whether the rate is met there; if not, the threshold is where the rate is highest.
    """

    threshold: Tensor
    met: Tensor

    def inside(self) -> Tensor:
        """The thresholds as approximations need them, inside (0, 1)."""
        low, high = (ops.cast(x, self.threshold.dtype) for x in (_EDGE, 1 - _EDGE))
        raised = ops.where(self.threshold < low, low, self.threshold)  # a clip may hide NaN: see `clip`
        return ops.where(raised > high, high, raised)
