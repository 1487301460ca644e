"""The approximations in closed form, linear and sigmoid, the step itself, and how users name them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import Tensor, clip
from keras_softsets._checks import check_number, set_field
from keras_softsets.heaviside._base import SAME, Heaviside, Pieces, like, merge_edges, register

_FLAT = 16.0  # the steepness up to which exp(k / 2) loses no digits


@register
@dataclasses.dataclass(frozen=True)
class LinearHeaviside(Heaviside):
    r"""Five-point linear interpolation (Eq. 5 of the paper); the default.

    With m = min(threshold, 1 - threshold) the function joins the points (0, 0), (threshold - m/2, delta),
    (threshold, 0.5), (threshold + m/2, 1 - delta) and (1, 1) by straight lines. It is 0.5 at the threshold, reaches
    0 and 1 at the ends for every threshold, and has a slope above 0 everywhere as long as 0 < delta < 0.5.

    Args:
        delta: Value at the first break point, in [0, 0.5]. The larger it is, the flatter the middle. Defaults to `0.1`.

    Examples:
        >>> [round(float(LinearHeaviside()(p, 0.5)), 3) for p in (0.0, 0.25, 0.5, 0.75, 1.0)]
        [0.0, 0.1, 0.5, 0.9, 1.0]

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Section 3.1
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        set_field(self, "delta", check_number("delta", self.delta, 0.0, 0.5))

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """Eq. 5, mirrored above 0.5 so that steep slopes near 1 lose no digits: 1 - h(1 - p, 1 - threshold)."""
        xp: Any = ops if ops.is_tensor(threshold) else np
        threshold = threshold if ops.is_tensor(threshold) else np.asarray(threshold, "float64")
        margin = xp.minimum(threshold, 1 - threshold)
        below, above = p < like(threshold - margin / 2, p), p > like(threshold + margin / 2, p)
        mirrored, m = threshold > 0.5, like(margin, p)
        q = _either(mirrored, 1 - p, p)
        first = q * like(2 * self.delta / margin, p)
        middle = 0.5 + (q - m) * like((1 - 2 * self.delta) / margin, p)
        last = 1 - (1 - q) * like(self.delta / (1 - 1.5 * margin), p)
        starts, ends = _either(mirrored, above, below), _either(mirrored, below, above)
        h = clip(ops.where(starts, first, ops.where(ends, last, middle)), 0.0, 1.0)
        return _either(mirrored, 1 - h, h)

    def pieces(self, thresholds: Sequence[float]) -> Pieces:
        """The break points of all thresholds; between two neighbours every h(., threshold) is a straight line."""
        tau = np.clip(np.asarray(thresholds, "float64"), 1e-30, 1 - 1e-9)  # what float32 probabilities can resolve
        margin = np.minimum(tau, 1 - tau)
        low, high = tau - margin / 2, tau + margin / 2
        edges = merge_edges([0.0, *low, *high, 1.0])
        points, values = np.stack([0 * tau, low, high, 0 * tau + 1], 1), [0.0, self.delta, 1 - self.delta, 1.0]
        h = np.stack([np.interp(edges, x, values) for x in points])
        # In Eq. 5, both break points belong to the middle segment. Whether p is on one is decided in float32.
        at, low, high = (x.astype("float32") for x in (edges, low[:, None], high[:, None]))
        rises = np.diff(values) / np.maximum(np.diff(points), 1e-30)
        edge_slope = np.where(at < low, rises[:, :1], np.where(at > high, rises[:, 2:], rises[:, 1:2]))
        return Pieces(edges, h[:, :-1], h[:, 1:], np.diff(h) / np.diff(edges), edge_slope)


def _either(condition: Any, x: Tensor, y: Tensor) -> Tensor:
    """Returns `ops.where`, or one of the two if it is known which: a graph half the size is ready in half the time."""
    if ops.is_tensor(condition) or np.any(condition) != np.all(condition):
        return ops.where(condition, x, y)
    return x if np.all(condition) else y


@register
@dataclasses.dataclass(frozen=True)
class SigmoidHeaviside(Heaviside):
    """Logistic curve, 1 / (1 + exp(-k (p - threshold))).

    Simple and smooth, but it reaches 0 and 1 only for large `k`, and then its slope vanishes away from the threshold.

    Args:
        k: Steepness, greater than 0 and at most 1e38. Defaults to `10.0`.

    Examples:
        >>> [round(float(SigmoidHeaviside()(p, 0.5)), 3) for p in (0.0, 0.5, 1.0)]
        [0.007, 0.5, 0.993]

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Section 3.1
    """

    k: float = 10.0

    def __post_init__(self) -> None:
        # A larger k overflows float32, and its product with a difference of 0 would be NaN.
        set_field(self, "k", check_number("k", self.k, 0.0, 1e38, open_low=True))

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """The logistic function of k (p - threshold)."""
        if self.k > _FLAT:
            return ops.sigmoid(self.k * (p - like(threshold, p)))
        # One exponential for all thresholds: it splits into factors, which neither overflow nor lose digits.
        xp: Any = ops if ops.is_tensor(threshold) else np
        return 1 / (1 + ops.exp(self.k * (0.5 - p)) * like(xp.exp(self.k * (threshold - 0.5)), p))


@register
@dataclasses.dataclass(frozen=True)
class StepHeaviside(Heaviside):
    """The step itself (Eq. 1): 1 if p >= threshold, else 0. For metrics; its slope is 0, so losses refuse it.

    Its thresholds may also be 0 (everything is positive), 1 (only p = 1 is) and inf (nothing is).

    Examples:
        >>> [float(StepHeaviside()(p, 0.5)) for p in (0.49, 0.5, 0.51)]
        [0.0, 1.0, 1.0]
    """

    differentiable = False

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        """Compares in the precision of p, so that p = 0.7 is positive at threshold 0.7 in float32; NaN stays NaN."""
        return ops.where(ops.isnan(p), p, ops.cast(p >= like(threshold, p), ops.dtype(p)))

    def pieces(self, thresholds: Sequence[float]) -> Pieces:
        """The thresholds themselves; between two neighbours every step is constant."""
        edges = merge_edges([0.0, *(threshold for threshold in thresholds if threshold <= 1), 1.0])
        if 1.0 in thresholds:
            edges = np.append(edges, 2.0)  # p = 1 is a separate interval
        value = ((1 + SAME) * edges[:-1] >= np.asarray(thresholds)[:, None]).astype("float64")
        return Pieces(edges, value, value, 0 * value, np.zeros((len(value), len(edges))))


HeavisideLike = Heaviside | str | dict[str, Any] | Callable[[Tensor, Tensor], Tensor]

_BY_NAME: dict[str, type[Heaviside]] = {
    "linear": LinearHeaviside,
    "sigmoid": SigmoidHeaviside,
    "step": StepHeaviside,
}


def get(heaviside: HeavisideLike) -> Heaviside:
    """Resolves a name, an instance, a config or a plain function `h(p, threshold)`.

    Examples:
        >>> get("sigmoid")
        SigmoidHeaviside(k=10.0)
    """
    resolved = keras.saving.deserialize_keras_object(heaviside) if isinstance(heaviside, dict) else heaviside
    if isinstance(resolved, str) and resolved in _BY_NAME:
        return _BY_NAME[resolved]()
    if isinstance(resolved, Heaviside):
        return resolved
    if callable(heaviside) and not isinstance(heaviside, type):
        return _Function(heaviside)
    raise ValueError(
        f"`heaviside` must be one of {', '.join(map(repr, _BY_NAME))}, a Heaviside such as LinearHeaviside(delta=0.2), "
        f"or a function h(p, threshold). Received: heaviside={heaviside!r}"
    )


def written(heaviside: Heaviside) -> Heaviside | str:
    """Returns an approximation as users pass it, by name if it has one: the inverse of `get`.

    Examples:
        >>> written(LinearHeaviside(0.1)), written(LinearHeaviside(0.2))
        ('linear', LinearHeaviside(delta=0.2))
    """
    return next((name for name, kind in _BY_NAME.items() if heaviside == kind()), heaviside)


@dataclasses.dataclass(frozen=True, repr=False)
class _Function(Heaviside):
    """A user's plain function h(p, threshold), which can be trained with but not saved."""

    function: Callable[[Tensor, Tensor], Tensor]

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        return self.function(p, threshold)

    def cache_key(self) -> Hashable:
        return (type(self), id(self.function))

    def get_config(self) -> dict[str, Any]:
        raise ValueError(
            "A plain function cannot be saved as `heaviside`; subclass keras_softsets.heaviside.Heaviside and decorate "
            f"it with @keras.saving.register_keras_serializable(). Received: heaviside={self.function!r}"
        )

    def __repr__(self) -> str:
        return repr(self.function)
