r"""Differentiable approximations of the Heaviside step: how much a probability belongs to "positive".

Each approximation is a small serializable value that is called as `h(p, threshold)` and passed as an argument,
`SoftF1(heaviside=LinearHeaviside(delta=0.2))`. The strings `"linear"`, `"sigmoid"` and `"step"` stand for the defaults.

An approximation that is linear (or constant) between finitely many points also says where those points are
(`pieces`), which is all that the many-threshold kernel needs to be exact and independent of the number of thresholds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_softsets._inputs import Tensor, as_thresholds, check_number


class Pieces(NamedTuple):
    """A family of piecewise-linear functions of p, one for each threshold, on common intervals (float64)."""

    edges: np.ndarray  # (intervals + 1,), rising from 0 to 1 or beyond; interval i is [edges[i], edges[i + 1])
    left: np.ndarray  # (thresholds, intervals): value at the left end of the interval
    right: np.ndarray  # (thresholds, intervals): limit at its right end
    slope: np.ndarray  # (thresholds, intervals): slope inside the interval
    edge_slope: np.ndarray  # (thresholds, intervals + 1): slope on the edges themselves


class Heaviside:
    """Base of the approximations: subclass, implement `call`, register with `keras.saving`, and pass an instance.

    Examples:
        >>> @keras.saving.register_keras_serializable(package="readme")
        ... class Ramp(Heaviside):
        ...     def call(self, p, threshold):
        ...         return ops.clip(0.5 + 5 * (p - threshold), 0, 1)
        >>> float(Ramp()(0.75, 0.5))
        1.0
    """

    differentiable = True

    def __call__(self, p: Tensor, threshold: Tensor) -> Tensor:
        """Returns the membership in "positive" of the probabilities `p`, in [0, 1], at `threshold`."""
        if not ops.is_tensor(threshold):
            as_thresholds(list(np.ravel(threshold)))
        p = ops.convert_to_tensor(p)
        p = p if ops.dtype(p) == "float64" else ops.cast(p, "float32")
        return self.call(ops.clip(p, 0.0, 1.0), threshold)

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """The approximation itself, for `p` in [0, 1]; elementwise, with broadcasting."""
        raise NotImplementedError(f"{type(self).__name__} must implement call(p, threshold)")

    def pieces(self, thresholds: Sequence[float]) -> Pieces | None:
        """The intervals on which every `h(., threshold)` is linear; None if there are none."""
        return None

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

    def _key(self) -> Any:
        """What tells two apart: the configuration, or without one nothing but identity."""
        try:
            config = self.get_config()
            # NumPy shows only the ends of a long array.
            exact = {k: v.tobytes() if isinstance(v, np.ndarray) else repr(v) for k, v in config.items()}
            return tuple(sorted(exact.items(), key=lambda item: item[0]))
        except NotImplementedError:
            return id(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in _arguments(type(self)) if hasattr(self, name)
        )
        return f"{type(self).__name__}({arguments})"


@keras.saving.register_keras_serializable(package="keras_softsets")
class LinearHeaviside(Heaviside):
    r"""Five-point linear interpolation (Eq. 5 of the paper); the default.

    With m = min(threshold, 1 - threshold) the function joins the points (0, 0), (threshold - m/2, delta),
    (threshold, 0.5), (threshold + m/2, 1 - delta) and (1, 1) by straight lines. It is 0.5 at the threshold, reaches
    0 and 1 at the ends for every threshold, and has a slope everywhere as long as 0 < delta < 0.5.

    Args:
        delta: Value at the first break point, in [0, 0.5]. The larger, the flatter the middle. Defaults to `0.1`.

    Examples:
        >>> [round(float(LinearHeaviside()(p, 0.5)), 3) for p in (0.0, 0.25, 0.5, 0.75, 1.0)]
        [0.0, 0.1, 0.5, 0.9, 1.0]

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Section 3.1
    """

    def __init__(self, delta: float = 0.1) -> None:
        self.delta = check_number("delta", delta, 0.0, 0.5)

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """Eq. 5, mirrored above 0.5 so that steep slopes near 1 lose no digits: 1 - h(1 - p, 1 - threshold)."""
        xp: Any = ops if ops.is_tensor(threshold) else np
        threshold = threshold if ops.is_tensor(threshold) else np.asarray(threshold, "float64")
        margin = xp.minimum(threshold, 1 - threshold)
        below, above = p < _like(threshold - margin / 2, p), p > _like(threshold + margin / 2, p)
        mirrored = _like(xp.where(threshold > 0.5, 1.0, 0.0), p)
        q, m = mirrored + (1 - 2 * mirrored) * p, _like(margin, p)
        first = q * _like(2 * self.delta / margin, p)
        middle = 0.5 + (q - m) * _like((1 - 2 * self.delta) / margin, p)
        last = 1 - (1 - q) * _like(self.delta / (1 - 1.5 * margin), p)
        is_mirrored = mirrored > 0.5
        starts, ends = ops.where(is_mirrored, above, below), ops.where(is_mirrored, below, above)
        h = ops.clip(ops.where(starts, first, ops.where(ends, last, middle)), 0.0, 1.0)
        return mirrored + (1 - 2 * mirrored) * h

    def pieces(self, thresholds: Sequence[float]) -> Pieces:
        """The break points of all thresholds; between two neighbours every h(., threshold) is a straight line."""
        tau = np.clip(np.asarray(thresholds, "float64"), 1e-30, 1 - 1e-9)  # what float32 probabilities can tell apart
        margin = np.minimum(tau, 1 - tau)
        low, high = tau - margin / 2, tau + margin / 2
        edges = _merge([0.0, *low, *high, 1.0])
        points, values = np.stack([0 * tau, low, high, 0 * tau + 1], 1), [0.0, self.delta, 1 - self.delta, 1.0]
        h = np.stack([np.interp(edges, x, values) for x in points])
        # Eq. 5 gives both break points to the middle segment. Whether p is on one is seen in float32.
        at, low, high = (x.astype("float32") for x in (edges, low[:, None], high[:, None]))
        rises = np.diff(values) / np.maximum(np.diff(points), 1e-30)
        edge_slope = np.where(at < low, rises[:, :1], np.where(at > high, rises[:, 2:], rises[:, 1:2]))
        return Pieces(edges, h[:, :-1], h[:, 1:], np.diff(h) / np.diff(edges), edge_slope)


@keras.saving.register_keras_serializable(package="keras_softsets")
class SigmoidHeaviside(Heaviside):
    """Logistic curve, 1 / (1 + exp(-k (p - threshold))).

    Simple and smooth, but it reaches 0 and 1 only for large `k`, and then its slope vanishes away from the threshold.

    Args:
        k: Steepness, greater than 0. Defaults to `10.0`.

    Examples:
        >>> [round(float(SigmoidHeaviside()(p, 0.5)), 3) for p in (0.0, 0.5, 1.0)]
        [0.007, 0.5, 0.993]

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Section 3.1
    """

    def __init__(self, k: float = 10.0) -> None:
        self.k = check_number("k", k, 0.0, float("inf"), open_low=True)

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """The logistic function of k (p - threshold)."""
        return ops.sigmoid(self.k * (p - _like(threshold, p)))


@keras.saving.register_keras_serializable(package="keras_softsets")
class StepHeaviside(Heaviside):
    """The step itself (Eq. 1): 1 where p >= threshold, else 0. For metrics; its slope is 0, so no loss accepts it.

    Examples:
        >>> [float(StepHeaviside()(p, 0.5)) for p in (0.49, 0.5, 0.51)]
        [0.0, 1.0, 1.0]
    """

    differentiable = False

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """Compares in the precision of p, so that p = 0.7 is positive at threshold 0.7 in float32 too. NaN stays."""
        return ops.where(ops.isnan(p), p, ops.cast(p >= _like(threshold, p), ops.dtype(p)))

    def pieces(self, thresholds: Sequence[float]) -> Pieces:
        """The thresholds themselves; between two neighbours every step is constant."""
        edges = _merge([0.0, *thresholds, 1.0])
        value = ((1 + _SAME) * edges[:-1] >= np.asarray(thresholds)[:, None]).astype("float64")
        return Pieces(edges, value, value, 0 * value, np.zeros((len(value), len(edges))))


@keras.saving.register_keras_serializable(package="keras_softsets")
class TabulatedHeaviside(Heaviside):
    """Look-up table over p truncated to a few decimals: the paper's remedy for the cost of many thresholds.

    The value is that of `base` at the truncated p; the slope is that of the chord over the table's cell, so a loss
    moves as it would along `base`. Provided for comparison: `LinearHeaviside` is exact and costs no more.

    Args:
        base: The approximation to tabulate.
        decimals: Decimals of p that are kept, 1 to 4. Defaults to `2`.

    Examples:
        >>> h = TabulatedHeaviside(LinearHeaviside(), decimals=1)
        >>> [round(float(h(p, 0.5)), 3) for p in (0.5, 0.59, 0.6)]
        [0.5, 0.5, 0.66]

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), supplement, "Computational Efficiency"
    """

    def __init__(self, base: Heaviside | str | dict[str, Any] = "linear", decimals: int = 2) -> None:
        self.base = get(base)
        self.decimals = int(check_number("decimals", decimals, 1, 4))
        if self.decimals != decimals:
            raise ValueError(f"`decimals` must be a whole number. Received: decimals={decimals}")
        self.differentiable = self.base.differentiable

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """Value of the base at the truncated p, with the chord's slope."""
        cells = 10**self.decimals
        edges = _like(np.arange(cells + 1) / cells, p)
        # The product is rounded; what counts is on which side of the nearest decimal p itself lies.
        nearest = ops.cast(p * cells + 0.5, "int32")
        cell = nearest - ops.cast(p < ops.take(edges, nearest), "int32")
        low, high = ops.take(edges, cell), ops.take(edges, ops.minimum(cell + 1, cells))
        value = self.base(low, threshold)
        start = ops.take(edges, ops.minimum(cell, cells - 1))  # p = 1 is a cell of its own; its chord is the last one
        slope = (self.base(high, threshold) - self.base(start, threshold)) * cells
        return ops.stop_gradient(value) + ops.stop_gradient(slope) * (p - ops.stop_gradient(p))

    def pieces(self, thresholds: Sequence[float]) -> Pieces:
        """The table: one interval for each truncated p, the last one for p = 1 alone."""
        cells = 10**self.decimals
        edges = np.arange(cells + 2) / cells
        points = ops.convert_to_tensor(edges[:-1], "float64")
        h = np.stack([ops.convert_to_numpy(self.base(points, threshold)) for threshold in thresholds])
        slope = np.pad(np.diff(h) * cells, ((0, 0), (0, 1)), "edge")
        return Pieces(edges, h, h, slope, np.pad(slope, ((0, 0), (0, 1)), "edge"))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"base": keras.saving.serialize_keras_object(self.base), "decimals": self.decimals}


_SAME = 1e-12  # edges that differ by less, relatively, are one: 3 * 0.1 / 2 and 0.3 - 0.15 differ in the last bit
_BY_NAME: dict[str, type[Heaviside]] = {
    "linear": LinearHeaviside,
    "sigmoid": SigmoidHeaviside,
    "step": StepHeaviside,
}


class _Callable(Heaviside):
    """A user's plain function h(p, threshold): trains, but cannot be saved."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.function = function

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        return self.function(p, threshold)

    def get_config(self) -> dict[str, Any]:
        raise ValueError(
            "A plain function cannot be saved as `heaviside`; subclass keras_softsets.heaviside.Heaviside and decorate "
            f"it with @keras.saving.register_keras_serializable(). Received: heaviside={self.function!r}"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Callable) and self.function is other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


HeavisideLike = Heaviside | str | dict[str, Any] | Callable[[Tensor, Tensor], Tensor]


def get(heaviside: HeavisideLike) -> Heaviside:
    """Resolves a name, an instance, a config or a plain function `h(p, threshold)`.

    Examples:
        >>> get("sigmoid")
        SigmoidHeaviside(k=10.0)
    """
    if isinstance(heaviside, dict):
        heaviside = keras.saving.deserialize_keras_object(heaviside)
    if isinstance(heaviside, str) and heaviside in _BY_NAME:
        return _BY_NAME[heaviside]()
    if isinstance(heaviside, Heaviside):
        return heaviside
    if callable(heaviside) and not isinstance(heaviside, type):
        return _Callable(heaviside)
    raise ValueError(
        f"`heaviside` must be one of {', '.join(map(repr, _BY_NAME))}, a Heaviside such as LinearHeaviside(delta=0.2), "
        f"or a function h(p, threshold). Received: heaviside={heaviside!r}"
    )


def _arguments(kind: type[Heaviside]) -> list[str]:
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _like(value: Any, p: Tensor) -> Tensor:
    return ops.cast(value, p.dtype)


def _merge(values: Sequence[float]) -> np.ndarray:
    edges = np.unique(np.asarray(values, "float64"))
    keep = np.append(True, np.diff(edges) > _SAME * edges[1:])
    edges = edges[keep]
    edges[-1] = 1.0
    return edges
