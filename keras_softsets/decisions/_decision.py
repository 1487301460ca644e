"""Decisions: their base, those of all classes alike (thresholds, the largest class), and how users write them."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import keras
import numpy as np
from keras import ops

from keras_softsets._adapters import registered
from keras_softsets._backend import Tensor, wide, without_nan_gradient
from keras_softsets._checks import as_floats, check_costs, check_number, set_field, shown
from keras_softsets.heaviside import Heaviside, LinearHeaviside
from keras_softsets.samples import Samples

if TYPE_CHECKING:
    from keras_softsets.decisions._tuned import TunedThreshold, TunedThresholdWithCurve

_SMALLEST = 1e-7  # smallest probability that a soft argmax distinguishes from 0, as in Keras; bounds the gradient
TINY = float(np.finfo("float32").tiny)  # the same for a hard argmax with offsets; some devices flush smaller ones to 0
register = registered("keras_softsets", module="keras_softsets.decisions")


class Decision:
    """Base of the decisions: values without any computation of their own but `memberships`.

    A decision has thresholds that are known beforehand, rates that determine them from the data, or neither; then it
    implements `memberships`.

    Attributes:
        thresholds: The thresholds: each gives a row of cells, or if `per_class`, each belongs to a class of one row.
        per_class: Whether there is one threshold for each class.
        rates: Rates that the data must meet at the threshold; each gives a row of cells.
        rate: Name of the score that must meet them.
        argmax: Whether the largest class wins, so that logits are those of a softmax.
    """

    thresholds: tuple[float, ...] = ()
    per_class: bool = False
    rates: tuple[float, ...] = ()
    rate: str = ""
    argmax: bool = False

    @property
    def rows(self) -> int:
        """The number of rows of cells, which is the length of their first axis."""
        return 1 if self.per_class else max(1, len(self.thresholds), len(self.rates))

    @property
    def rising(self) -> bool:
        """Whether rows are in order of rising thresholds."""
        return bool(self.thresholds) and not self.per_class and list(self.thresholds) == sorted(self.thresholds)

    def in_order(self) -> Decision:
        """The same decision with rising thresholds."""
        return self

    def memberships(self, samples: Samples, heaviside: Heaviside) -> Tensor:
        """Returns how much each prediction, (..., classes), counts as positive: (rows, ..., classes)."""
        raise NotImplementedError(f"{type(self).__name__} must implement memberships(samples, heaviside)")

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """Raises a `ValueError` if the decision does not fit an approximation or a number of classes."""

    def check_use(self, scores: Sequence[Any], per_sample: bool) -> None:
        """Raises a `ValueError` if the decision does not fit these scores, or sets."""

    def config(self) -> Any:
        """Returns what `get` understands, in a form that Keras can write to a file."""
        return keras.saving.serialize_keras_object(self)

    def written(self) -> Any:
        """Returns the decision as users pass it: the inverse of `get`."""
        return self

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Decision:
        """Builds the decision that `get_config` described."""
        return cls(**config)


@dataclasses.dataclass(frozen=True)
class Thresholds(Decision):
    """One threshold, or a sweep of them, for all classes; users pass the number or the sequence itself."""

    thresholds: tuple[float, ...] = dataclasses.field()

    def memberships(self, samples: Samples, heaviside: Heaviside) -> Tensor:
        """One row for each threshold."""
        return ops.stack([heaviside(samples.probability, threshold) for threshold in self.thresholds])

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """Raises for 0, 1 and inf unless the approximation is the step."""
        heaviside.check_thresholds(self.config())

    def in_order(self) -> Thresholds:
        """The same thresholds, sorted: the order must not determine slopes where points of a curve coincide."""
        return Thresholds(tuple(sorted(self.thresholds)))

    def config(self) -> float | list[float]:
        """The number or the list."""
        return self.thresholds[0] if len(self.thresholds) == 1 else list(self.thresholds)

    written = config


@register
@dataclasses.dataclass(frozen=True)
class Argmax(Decision):
    """The largest class wins: one label for each sample, as in multi-class problems.

    With the step, the decision is the hard argmax: ties go to the first class, and the temperature has no effect (so a
    loss and its metric can share the value). Otherwise it is soft: the softmax of log p / temperature. At a temperature
    of 1 this is p itself, if the probabilities add up to 1; the lower the temperature, the closer it is to the hard
    argmax. Logits are those of a softmax.

    Args:
        temperature: Softness of the decision, at least 1e-6. Defaults to `1.0`.
        offsets: Numbers added to log p before the decision, one for each class; `tune_threshold` finds them with
            `decision="argmax"`. Defaults to `None`.
        costs: A c x c matrix, `costs[i][j]` for deciding true class i as j: the class of least expected cost, sum of
            `p[i] costs[i][j]`, wins instead of the largest. Best with calibrated probabilities. Defaults to `None`.

    Examples:
        >>> from keras_softsets import evaluate
        >>> y, p = [0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]]
        >>> evaluate(y, p, "recall", threshold="argmax", average=None)
        array([1. , 0.5])
        >>> evaluate(y, p, "recall", threshold=Argmax(offsets=[0.0, 2.0]), average=None)
        array([0., 1.])
        >>> evaluate(y, p, "recall", threshold=Argmax(costs=[[0, 1], [5, 0]]), average=None)  # from p = 1 / 6 on
        array([0., 1.])
    """

    temperature: float = 1.0
    offsets: tuple[float, ...] | None = None
    costs: tuple[tuple[float, ...], ...] | None = None
    argmax = True

    if TYPE_CHECKING:

        def __init__(
            self,
            temperature: float = 1.0,
            offsets: Sequence[float] | np.ndarray | None = None,
            costs: Sequence[Sequence[float]] | np.ndarray | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        set_field(self, "temperature", check_number("temperature", self.temperature, 1e-6))
        if self.offsets is not None:
            set_field(self, "offsets", _offsets_of(self.offsets))
        if self.costs is not None:
            set_field(self, "costs", check_costs("costs", self.costs))
        if None not in (self.costs, self.offsets):
            raise ValueError(f"`offsets` must be None if there are costs. Received: offsets={self.offsets}")

    def memberships(self, samples: Samples, heaviside: Heaviside) -> Tensor:
        """The softmax of log p / temperature; with the step, 1 for the largest class (if tied, the first), else 0."""
        if heaviside.differentiable:  # from the predictions on: 0 times the slope of a share at NaN is NaN
            return self._shares(samples._replace(prediction=without_nan_gradient(samples.prediction)))[None]
        p = samples.prediction
        winner = ops.one_hot(self.winner(samples), p.shape[-1], dtype=p.dtype)
        nan = ops.any(ops.isnan(p), axis=-1, keepdims=True)
        return ops.where(nan, ops.cast(np.nan, p.dtype), winner)[None]

    def winner(self, samples: Samples) -> Tensor:
        """The class that wins, from (..., classes) to (...), int32."""
        return ops.argmax(self.strengths(samples), axis=-1)

    def strengths(self, samples: Samples) -> Tensor:
        """The numbers of which the largest wins, (..., classes)."""
        if self.costs is not None:
            return -self._expected_costs(samples)
        if self.offsets is None:  # not through logarithms, which are equal for many neighbouring numbers
            return samples.prediction
        log_p = samples._replace(prediction=ops.cast(samples.prediction, wide())).log_probability(TINY)
        return log_p + np.asarray(self.offsets)

    def _expected_costs(self, samples: Samples) -> Tensor:
        """The expected cost of deciding for each class, (..., classes)."""
        p = ops.softmax(samples.prediction, axis=-1) if samples.logits else samples.prediction
        return ops.matmul(p, ops.cast(np.asarray(self.costs), p.dtype))

    def _shares(self, samples: Samples) -> Tensor:
        if self.costs is not None:
            span = max(float(np.ptp(self.costs)), 1e-30)  # so that the unit of costs does not matter
            return ops.softmax(-self._expected_costs(samples) / (span * self.temperature), axis=-1)
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
        """Raises for a single class, the wrong number of offsets, and an approximation that would have no effect."""
        if heaviside.differentiable and heaviside != LinearHeaviside():
            raise ValueError(
                "`heaviside` must be 'linear' or 'step' with an argmax, which is soft or hard; how soft it is, its "
                f"`temperature` says. Received: heaviside={heaviside!r}, threshold={self!r}"
            )
        if classes == 1:
            raise ValueError(f"`threshold` must be a number for predictions of one class. Received: threshold={self!r}")
        if None not in (classes, self.offsets) and classes != len(self.offsets or ()):
            raise ValueError(f"`offsets` must hold {classes} numbers, one for each class. Received: threshold={self!r}")
        if None not in (classes, self.costs):
            check_costs("costs", self.costs, classes)

    def written(self) -> Any:
        """The word, or this value if it has other arguments."""
        return "argmax" if self == Argmax() else self

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        offsets = None if self.offsets is None else list(self.offsets)
        costs = {} if self.costs is None else {"costs": [list(row) for row in self.costs]}
        return {"temperature": self.temperature, "offsets": offsets, **costs}


def _offsets_of(values: Any) -> tuple[float, ...]:
    offsets = as_floats(values)
    if not offsets or isinstance(values, numbers.Real) or not np.isfinite(offsets).all():
        raise ValueError(
            f"`offsets` must be a sequence of finite numbers, one for each class. Received: offsets={shown(values)}"
        )
    return tuple(offsets)


RULE = (
    "a number in [0, 1] or inf, a non-empty sequence of such numbers, 'argmax', or a decision such as PerClass([0.2])"
)
DecisionLike: TypeAlias = (
    "float | str | Sequence[float] | Decision | TunedThreshold | TunedThresholdWithCurve | dict[str, Any]"
)


def get(threshold: DecisionLike) -> Decision:
    """Resolves what users pass as `threshold`, which may also be the result of `tune_threshold`.

    Examples:
        >>> get(0.3)
        Thresholds(thresholds=(0.3,))
    """
    if isinstance(threshold, tuple) and hasattr(threshold, "threshold"):  # from `tune_threshold`
        threshold = threshold.threshold
    if isinstance(threshold, str) and threshold == "argmax":
        return Argmax()
    if isinstance(threshold, dict):
        decision = keras.saving.deserialize_keras_object(threshold)
        if not isinstance(decision, Decision):
            raise ValueError(f"`threshold` must be {RULE}. Received: threshold={decision!r}")
        return decision
    return (
        threshold
        if isinstance(threshold, Decision)
        else Thresholds(numbers_of(threshold, f"`threshold` must be {RULE}"))
    )


def is_threshold(value: Any) -> bool:
    """Returns whether `get` would understand a value."""
    try:
        get(value)
    except (TypeError, ValueError):
        return False
    return True


def numbers_of(values: Any, rule: str, name: str = "threshold") -> tuple[float, ...]:
    """Returns thresholds as floats, or raises a `ValueError` with the `rule` about the argument of this name."""
    thresholds = as_floats(values)
    if not thresholds or not all(0 <= threshold <= 1 or threshold == math.inf for threshold in thresholds):
        raise ValueError(f"{rule}. Received: {name}={shown(values)}")
    return tuple(thresholds)
