"""How probabilities become decisions, as values: a threshold, several, one for each class, or the largest class.

Losses, metrics, `evaluate`, `confusion_matrix`, plots and `export_classifier` take a decision as `threshold`:

| `threshold=` | meaning | rows of cells |
|---|---|---|
| `0.3` | positive from 0.3 on | 1 |
| `[0.1, ..., 0.9]` | a sweep: the score is averaged over it; a curve score reads it whole | one for each threshold |
| `PerClass([0.2, 0.7, 0.4])` | one threshold for each class; what `tune_threshold` returns for several classes | 1 |
| `Argmax(temperature=1.0)`, `"argmax"` | the largest class wins | 1 |
| `AtRecall(0.95)`, `AtPrecision`, `AtSpecificity` | wherever that rate is reached | one for each rate |
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._checks import check_number
from keras_softsets._samples import Samples
from keras_softsets.heaviside import Heaviside

RULE = (
    "a number in [0, 1] or inf, a non-empty sequence of such numbers, 'argmax', or a decision such as PerClass([0.2])"
)


_SMALLEST = 1e-7  # probability that a soft argmax tells from 0, as in Keras; it bounds the gradient
TINY = float(np.finfo("float32").tiny)  # the same for a hard one with offsets: smaller numbers are flushed to 0 by some


class Decision:
    """Base of the decisions; implement `memberships`, and the rest where it differs.

    Attributes:
        rows: The number of rows of cells, their first axis.
        one_class_wins: Whether the classes of a sample compete, so that logits are those of a softmax.
    """

    rows: int = 1
    one_class_wins: bool = False

    def memberships(self, samples: Samples, heaviside: Heaviside) -> Tensor:
        """Returns how much each prediction, (..., classes), is decided as positive: (rows, ..., classes)."""
        raise NotImplementedError(f"{type(self).__name__} must implement memberships(samples, heaviside)")

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """Raises a `ValueError` if the decision does not go with an approximation, or a number of classes."""

    def config(self) -> Any:
        """Returns what `get` understands, in a form that Keras can write to a file."""
        return keras.saving.serialize_keras_object(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Decision:
        """Builds the decision that `get_config` described."""
        return cls(**config)


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


@keras.saving.register_keras_serializable(package="keras_softsets")
@dataclasses.dataclass(frozen=True)
class PerClass(Decision, np.lib.mixins.NDArrayOperatorsMixin):
    """One threshold for each class. It can be used as the array of its thresholds, too.

    Args:
        thresholds: A sequence of numbers, one for each class, inside (0, 1); with the step also 0, 1 and inf.

    Examples:
        >>> tuned = PerClass([0.25, 0.75])
        >>> np.array([[0.5, 0.5]]) >= tuned
        array([[ True, False]])
        >>> len(tuned), tuned[0], float(np.mean(tuned))
        (2, 0.25, 0.5)
    """

    thresholds: tuple[float, ...]
    __ne__ = object.__ne__  # the opposite of `==`, which compares values; the mixin's would compare element by element

    def __post_init__(self) -> None:
        object.__setattr__(self, "thresholds", numbers_of(self.thresholds, "`thresholds` must be a sequence"))

    def memberships(self, samples: Samples, heaviside: Heaviside) -> Tensor:
        """A single row, in which every class has its own threshold."""
        return heaviside(samples.probability, np.asarray(self))[None]

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """There must be as many thresholds as classes; those at the ends are for the step."""
        heaviside.check_thresholds(np.asarray(self))
        if classes not in (None, len(self)):
            raise ValueError(
                f"`threshold` must have one number for each of the {classes} classes. Received: threshold={self!r}"
            )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"thresholds": list(self.thresholds)}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.thresholds, dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(x) if isinstance(x, PerClass) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __len__(self) -> int:
        return len(self.thresholds)

    def __iter__(self) -> Iterator[float]:
        return iter(self.thresholds)

    def __getitem__(self, index: Any) -> Any:
        return self.thresholds[index] if isinstance(index, (int, slice)) else np.asarray(self)[index]


@keras.saving.register_keras_serializable(package="keras_softsets")
@dataclasses.dataclass(frozen=True)
class Argmax(Decision):
    """The largest class wins: one label for each sample, as in multi-class problems.

    With the step, the decision is the hard argmax, ties going to the first class. With any other approximation it is
    soft: the softmax of log p / temperature, which is p itself for probabilities that add up to 1 and a temperature of
    1, and comes closer to the argmax the lower the temperature is. Logits are those of a softmax.

    Args:
        temperature: Softness of the decision, at least 1e-6. Defaults to `1.0`.
        offsets: Numbers added to log p before the decision, one for each class; what `tune_threshold` returns for
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
        """The softmax of log p / temperature, or which class is the first of the largest."""
        if heaviside.differentiable:
            return self._shares(samples)[None]
        p = samples.prediction
        winner = ops.one_hot(self.winner(samples), p.shape[-1], dtype=p.dtype)
        nan = ops.any(ops.isnan(p), axis=-1, keepdims=True)
        return ops.where(nan, ops.cast(np.nan, p.dtype), winner)[None]

    def winner(self, samples: Samples) -> Tensor:
        """The class that wins, from (..., classes) to (...), int32."""
        if self.offsets is None:  # not by way of logarithms, which are equal for many a pair of neighbouring numbers
            return ops.argmax(samples.prediction, axis=-1)
        log_p = samples._replace(prediction=ops.cast(samples.prediction, "float64")).log_probability(TINY)
        return ops.argmax(log_p + np.asarray(self.offsets), axis=-1)

    def _shares(self, samples: Samples) -> Tensor:
        if not samples.logits and self.temperature == 1 and self.offsets is None:
            p = samples.at_least(_SMALLEST)
            return p / ops.sum(p, axis=-1, keepdims=True)  # the same without logarithms and exponentials
        log_p = samples.log_probability(_SMALLEST)
        log_p = log_p if self.offsets is None else log_p + ops.cast(np.asarray(self.offsets), log_p.dtype)
        # The largest is 0 before the division, after which large logits would be infinite.
        largest = ops.max(log_p, axis=-1, keepdims=True, initial=-np.inf)  # without `initial`, Keras refuses no samples
        distance = log_p - ops.stop_gradient(largest)
        return ops.softmax(distance / self.temperature, axis=-1)

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """A single class has no rival."""
        if classes == 1:
            raise ValueError(f"`threshold` must be a number for predictions of one class. Received: threshold={self!r}")
        if None not in (classes, self.offsets) and classes != len(self.offsets or ()):
            raise ValueError(f"`offsets` must be one for each of the {classes} classes. Received: threshold={self!r}")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"temperature": self.temperature, "offsets": None if self.offsets is None else list(self.offsets)}


DecisionLike = float | str | Sequence[float] | Decision | dict[str, Any]


def get(threshold: DecisionLike) -> Decision:
    """Resolves what users pass as `threshold`.

    Examples:
        >>> get(0.3)
        Thresholds(thresholds=(0.3,))
    """
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


def _offsets_of(values: Any) -> tuple[float, ...]:
    try:
        offsets = np.asarray(values, "float64")
    except (TypeError, ValueError):
        offsets = np.empty(0)
    if offsets.ndim != 1 or not offsets.size or not np.isfinite(offsets).all():
        raise ValueError(f"`offsets` must be a sequence of finite numbers, one for each class. Received: {values!r}")
    return tuple(offsets.tolist())


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
