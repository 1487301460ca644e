"""The largest class wins."""

from __future__ import annotations

import dataclasses
import numbers
from typing import Any

import numpy as np
from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._checks import as_floats, check_number
from keras_softsets._samples import Samples
from keras_softsets.decisions._base import Decision, registered
from keras_softsets.heaviside import Heaviside

_SMALLEST = 1e-7  # smallest probability that a soft argmax distinguishes from 0, as in Keras; bounds the gradient
TINY = float(np.finfo("float32").tiny)  # the same for a hard argmax with offsets; some devices flush smaller ones to 0


@registered
@dataclasses.dataclass(frozen=True)
class Argmax(Decision):
    """The largest class wins: one label for each sample, as in multi-class problems.

    With the step, the decision is the hard argmax, and ties go to the first class. With any other approximation it is
    soft: the softmax of log p / temperature. At a temperature of 1 this is p itself, if the probabilities add up to 1;
    the lower the temperature, the closer it is to the hard argmax. Logits are those of a softmax.

    Args:
        temperature: Softness of the decision, at least 1e-6. Defaults to `1.0`.
        offsets: Numbers added to log p before the decision, one for each class; `tune_threshold` finds them with
            `decision="argmax"`. Defaults to `None`.

    Examples:
        >>> from keras_softsets import evaluate
        >>> y, p = [0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]]
        >>> evaluate(y, p, "recall", threshold="argmax", average=None)
        array([1. , 0.5])
        >>> evaluate(y, p, "recall", threshold=Argmax(offsets=[0.0, 2.0]), average=None)
        array([0., 1.])
    """

    temperature: float = 1.0
    offsets: tuple[float, ...] | None = None
    one_class_wins = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "temperature", check_number("temperature", self.temperature, 1e-6))
        if self.offsets is not None:
            object.__setattr__(self, "offsets", _offsets_of(self.offsets))

    def memberships(self, samples: Samples, heaviside: Heaviside) -> Tensor:
        """The softmax of log p / temperature; with the step, 1 for the largest class (if tied, the first), else 0."""
        if heaviside.differentiable:
            return self._shares(samples)[None]
        p = samples.prediction
        winner = ops.one_hot(self.winner(samples), p.shape[-1], dtype=p.dtype)
        nan = ops.any(ops.isnan(p), axis=-1, keepdims=True)
        return ops.where(nan, ops.cast(np.nan, p.dtype), winner)[None]

    def winner(self, samples: Samples) -> Tensor:
        """The class that wins, from (..., classes) to (...), int32."""
        if self.offsets is None:  # not through logarithms, which are equal for many neighbouring numbers
            return ops.argmax(samples.prediction, axis=-1)
        log_p = samples._replace(prediction=ops.cast(samples.prediction, "float64")).log_probability(TINY)
        return ops.argmax(log_p + np.asarray(self.offsets), axis=-1)

    def _shares(self, samples: Samples) -> Tensor:
        if not samples.logits and self.temperature == 1 and self.offsets is None:
            p = samples.at_least(_SMALLEST)
            return p / ops.sum(p, axis=-1, keepdims=True)  # the same without logarithms and exponentials
        log_p = samples.log_probability(_SMALLEST)
        log_p = log_p if self.offsets is None else log_p + ops.cast(np.asarray(self.offsets), log_p.dtype)
        # The largest is shifted to 0 before the division, which could make large logits infinite.
        largest = ops.max(log_p, axis=-1, keepdims=True, initial=-np.inf)  # without `initial`, Keras refuses 0 samples
        distance = log_p - ops.stop_gradient(largest)
        return ops.softmax(distance / self.temperature, axis=-1)

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """Raises for a single class, which has no rival, and for the wrong number of offsets."""
        if classes == 1:
            raise ValueError(f"`threshold` must be a number for predictions of one class. Received: threshold={self!r}")
        if None not in (classes, self.offsets) and classes != len(self.offsets or ()):
            raise ValueError(f"`offsets` must hold {classes} numbers, one for each class. Received: threshold={self!r}")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"temperature": self.temperature, "offsets": None if self.offsets is None else list(self.offsets)}


def _offsets_of(values: Any) -> tuple[float, ...]:
    offsets = as_floats(values)
    if not offsets or isinstance(values, numbers.Real) or not np.isfinite(offsets).all():
        raise ValueError(f"`offsets` must be a sequence of finite numbers, one for each class. Received: {values!r}")
    return tuple(offsets)
