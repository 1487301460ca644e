"""What `tune_threshold` finds: one threshold for each class, and how good it is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_softsets._backend import Tensor
from keras_softsets._checks import set_field
from keras_softsets.decisions._decision import Argmax, Decision, numbers_of, register
from keras_softsets.heaviside import Heaviside
from keras_softsets.samples import Samples

_RULE = "`thresholds` must be a non-empty sequence of numbers in [0, 1], or inf, one for each class"


@register
@dataclasses.dataclass(frozen=True)
class PerClass(Decision, np.lib.mixins.NDArrayOperatorsMixin):
    """One threshold for each class; can also be used as the array of its thresholds.

    Args:
        thresholds: A sequence of numbers, one for each class, inside (0, 1); with the step also 0, 1 and inf.

    Examples:
        >>> import numpy as np
        >>> tuned = PerClass([0.25, 0.75])
        >>> np.array([[0.5, 0.5]]) >= tuned
        array([[ True, False]])
        >>> len(tuned), tuned[0], float(np.mean(tuned))
        (2, 0.25, 0.5)
    """

    thresholds: tuple[float, ...] = dataclasses.field()
    per_class = True
    if TYPE_CHECKING:

        def __init__(self, thresholds: Sequence[float] | np.ndarray) -> None: ...

    __ne__ = object.__ne__  # the negation of `==`, which compares values; the mixin's compares element by element

    def __post_init__(self) -> None:
        set_field(self, "thresholds", numbers_of(self.thresholds, _RULE, "thresholds"))

    def memberships(self, samples: Samples, heaviside: Heaviside) -> Tensor:
        """A single row, in which every class has its own threshold."""
        return heaviside(samples.probability, np.asarray(self))[None]

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """Raises unless there are as many thresholds as classes; 0, 1 and inf are for the step alone."""
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


class ThresholdCurve(NamedTuple):
    """A score at every distinct threshold.

    Attributes:
        thresholds: In ascending order, from "all positive" to "none positive".
        scores: The score at each of them; NaN where it does not meet `at_least`.
    """

    thresholds: np.ndarray
    scores: np.ndarray


_FEW, _FEW_SAMPLES = 20, 50


def few_of(counts: Mapping[str, int], samples: int) -> str | None:
    """Returns what is too little to choose a threshold by, or None.

    Examples:
        >>> few_of({"positives": 7, "negatives": 500}, 507)
        '7 positives'
    """
    name, least = min(counts.items(), key=lambda item: item[1])
    if least >= _FEW:
        return f"{samples} samples" if samples < _FEW_SAMPLES else None
    return f"{least} {name}" if least != 1 else f"1 {re.sub('s( |$)', lambda found: found[1], name, count=1)}"


class _SaysHowFew:
    """The text of a named tuple, and if few samples have chosen it, that."""

    few: str | None = None

    def __repr__(self) -> str:
        note = f"  # by {self.few}, so mostly chance: see interval=0.95" if self.few else ""
        return super().__repr__() + note


class _Tuned(NamedTuple):
    threshold: float | PerClass | Argmax
    score: float | np.ndarray


class _TunedWithCurve(NamedTuple):
    threshold: float | PerClass | Argmax
    score: float | np.ndarray
    curve: ThresholdCurve | tuple[ThresholdCurve, ...]


class TunedThreshold(_SaysHowFew, _Tuned):
    """The best threshold.

    Attributes:
        threshold: A float, an array-like `PerClass` with a threshold for each class, or an `Argmax` with offsets.
        score: The score that it reaches: a float, or an array.
        few: What is too little to tell, such as `"7 positives"`, if a class has fewer than 20 samples or there are
            fewer than 50; otherwise `None`. The text of the result says so, too.
    """


class TunedThresholdWithCurve(_SaysHowFew, _TunedWithCurve):
    """The best threshold, and the curve from which it was chosen.

    Attributes:
        threshold: A float, or an array-like `PerClass` with a threshold for each class.
        score: The score that it reaches: a float, or an array.
        curve: A `ThresholdCurve`, or a tuple with one for each class.
        few: What is too little to tell, as in `TunedThreshold`.
    """
