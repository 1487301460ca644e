"""The base of all approximations, and the decorator that registers those of this package."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from keras import ops

from keras_softsets._adapters import registered
from keras_softsets._backend import Tensor, clip, constant, keep_nan
from keras_softsets._checks import shown

Class = TypeVar("Class", bound=type)
_register = registered("keras_softsets", module="keras_softsets.heaviside")
_VALUES: set[type] = set()  # the approximations of this package, which never change once created
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


class Heaviside:
    """Base of the approximations: subclass it, implement `call`, register it with `keras.saving`, pass an instance.

    Two instances of your own class are two approximations, even with equal attributes. A `keras.Variable` among the
    attributes may change during training (for example, an annealed steepness): every step reads its current value.

    Examples:
        >>> @keras.saving.register_keras_serializable(package="readme")
        ... class Ramp(Heaviside):
        ...     def call(self, p, threshold):
        ...         return ops.clip(0.5 + 5 * (p - threshold), 0, 1)
        >>> float(Ramp()(0.75, 0.5))
        1.0
    """

    differentiable: bool = True

    def __call__(self, p: Tensor, threshold: Tensor) -> Tensor:
        """Returns how much each of the probabilities `p` counts as positive at `threshold`, in [0, 1]."""
        if not ops.is_tensor(threshold):
            self.check_thresholds(threshold)
        p = ops.convert_to_tensor(p)
        p = p if ops.dtype(p) == "float64" else ops.cast(p, "float32")
        h = self.call(clip(p, 0.0, 1.0), threshold)
        return h if type(self) in _VALUES else keep_nan(p, h)

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """The approximation itself, for `p` in [0, 1]; elementwise, with broadcasting."""
        raise NotImplementedError(f"{type(self).__name__} must implement call(p, threshold)")

    def pieces(self, thresholds: Sequence[float]) -> Pieces | None:
        """The intervals on which every `h(., threshold)` is linear; None if there are none.

        With such intervals, a hundred thresholds cost hardly more than ten.
        """
        return None

    def check_thresholds(self, thresholds: Any) -> None:
        """Raises a `ValueError` unless all are inside (0, 1); the step, which needs no slope, takes 0, 1, inf too."""
        try:
            values = np.asarray(thresholds, "float64")
        except (TypeError, ValueError, OverflowError):  # the last for integers beyond the largest float
            values = np.array(np.nan)
        closed = ((values >= 0) & (values <= 1)) | (values == np.inf)
        if not np.all(((values > 0) & (values < 1)) if self.differentiable else closed):
            rule = "inside (0, 1)" if self.differentiable else "in [0, 1], or inf"
            received = f"threshold={shown(thresholds)}"
            raise ValueError(f"`threshold` must be {rule} with heaviside={self!r}. Received: {received}")

    def is_value(self) -> bool:
        """Whether the approximation can never change, so that tables of it stay valid."""
        parts = [part for part in vars(self).values() if isinstance(part, Heaviside)]
        return type(self) in _VALUES and all(part.is_value() for part in parts)

    def cache_key(self) -> Hashable:
        """The key in the cache of kernels: type and fields, or for a user's class the instance and its numbers."""
        if type(self) in _VALUES:
            return (type(self), *(_key(getattr(self, field.name)) for field in dataclasses.fields(self)))  # type: ignore[arg-type]  # all values are dataclasses
        return (id(self), *((name, _key(value)) for name, value in sorted(vars(self).items())))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor; by default, the attributes of the same names."""
        names = _arguments(type(self))
        missing = [name for name in names if not hasattr(self, name)]
        if missing:
            raise NotImplementedError(
                f"{type(self).__name__} must keep its arguments as attributes of the same names, or implement "
                f"get_config. Received: no attribute {', '.join(missing)}"
            )
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Heaviside:
        """Builds the approximation that `get_config` described."""
        return cls(**config)

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in _arguments(type(self)) if hasattr(self, name)
        )
        return f"{type(self).__name__}({arguments})"


def register(kind: Class) -> Class:
    """Registers an approximation of this package, a frozen dataclass, for saving, and as one that never changes."""
    _VALUES.add(kind)
    return _register(kind)


def like(number: Any, p: Tensor) -> Tensor:
    """Returns a number or an array in the dtype of `p`."""
    return ops.cast(number, p.dtype) if ops.is_tensor(number) else constant(np.asarray(number, ops.dtype(p)))


def _key(attribute: Any) -> Hashable:
    if isinstance(attribute, Heaviside):
        return attribute.cache_key()
    plain = isinstance(attribute, (str, bytes, bool, int, float, type(None)))
    return attribute if plain else id(attribute)


def _arguments(kind: type[Heaviside]) -> list[str]:
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
