"""How probabilities become decisions, as values: a threshold, a sweep of thresholds, or one for each class.

Losses, metrics, `evaluate`, `confusion_matrix`, plots and `export_classifier` take a decision as `threshold`:

| `threshold=` | meaning | rows of cells |
|---|---|---|
| `0.3` | positive from 0.3 on | 1 |
| `[0.1, ..., 0.9]` | a sweep: the score is averaged over it; a curve score reads it whole | one for each threshold |
| `PerClass([0.2, 0.7, 0.4])` | one threshold for each class; what `tune_threshold` returns for several classes | 1 |
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
from keras_softsets.heaviside import Heaviside

RULE = "a number in [0, 1] or inf, a non-empty sequence of such numbers, or a decision such as PerClass([0.2, 0.7])"


class Decision:
    """Base of the decisions; implement `memberships`, and the rest where it differs.

    Attributes:
        rows: The number of rows of cells, their first axis.
    """

    rows: int = 1

    def memberships(self, p: Tensor, heaviside: Heaviside) -> Tensor:
        """Returns how much each of `p`, (samples, classes), is decided as positive: (rows, samples, classes)."""
        raise NotImplementedError(f"{type(self).__name__} must implement memberships(p, heaviside)")

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

    def memberships(self, p: Tensor, heaviside: Heaviside) -> Tensor:
        """One row for each threshold."""
        return ops.stack([heaviside(p, threshold) for threshold in self.thresholds])

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

    def memberships(self, p: Tensor, heaviside: Heaviside) -> Tensor:
        """A single row, in which every class has its own threshold."""
        return heaviside(p, np.asarray(self))[None]

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


DecisionLike = float | Sequence[float] | Decision | dict[str, Any]


def get(threshold: DecisionLike) -> Decision:
    """Resolves what users pass as `threshold`.

    Examples:
        >>> get(0.3)
        Thresholds(thresholds=(0.3,))
    """
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
