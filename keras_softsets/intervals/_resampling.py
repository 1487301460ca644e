"""Resamples of a statistic, and the bias-corrected and accelerated limits that follow from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from keras_softsets.intervals._statistics import Statistic, Summed

_AT_ONCE = 2**22  # weights in a block
_GROUPS = 400  # of the jackknife


class Resampled(NamedTuple):
    """The values of statistics: each array is (resamples, values), and one statistic follows the other.

    Attributes:
        drawn: The values of the resamples.
        without: The values without each of several groups of samples, as in a jackknife.
        times: How many groups are like this one.
    """

    drawn: list[np.ndarray]
    without: list[np.ndarray]
    times: np.ndarray


def resampled(statistics: Sequence[Statistic], samples: int, resamples: int, seed: int) -> Resampled:
    """Draws as many samples as there are, with replacement, again and again; all statistics see the same draws."""
    rng = np.random.default_rng(seed)
    statistics, times = _grouped(statistics, samples)
    few = len(times) < samples
    size = max(1, _AT_ONCE // len(times))
    blocks = [min(size, resamples - start) for start in range(0, resamples, size)]
    draws = (rng.multinomial(samples, times / samples, b) if few else _draws(rng, b, samples) for b in blocks)
    drawn = _values(statistics, (draw.astype("float64") for draw in draws))
    removed, alike = _removals(times, rng)
    parts = (removed[start : start + size] for start in range(0, len(removed), size))
    return Resampled(drawn, _values(statistics, (times - part for part in parts)), alike)


def _values(statistics: Sequence[Statistic], blocks: object) -> list[np.ndarray]:
    found = [[statistic.of(weights) for statistic in statistics] for weights in blocks]  # type: ignore[attr-defined]
    return [np.concatenate(values) for values in zip(*found, strict=True)]


def _grouped(statistics: Sequence[Statistic], samples: int) -> tuple[Sequence[Statistic], np.ndarray]:
    """Groups of equal samples with their sizes, where these are few: a binary matrix has four.

    The number drawn of each group is multinomial, so this is the same bootstrap.
    """
    summed = [statistic for statistic in statistics if isinstance(statistic, Summed)]
    if len(summed) == len(statistics):
        features = np.ascontiguousarray(np.concatenate([statistic.features for statistic in summed], 1), "float64")
        keys = (features + 0.0).view([("", "float64")] * features.shape[1])[:, 0]  # -0.0 and 0.0 are the same
        _, first, times = np.unique(keys, return_index=True, return_counts=True)
        if len(first) <= samples // 4:
            return [statistic.among(first) for statistic in summed], times.astype("float64")
    return statistics, np.ones(samples)


def _draws(rng: np.random.Generator, resamples: int, samples: int) -> np.ndarray:
    places = rng.integers(0, samples, (resamples, samples)) + samples * np.arange(resamples)[:, None]
    return np.bincount(places.ravel(), minlength=resamples * samples).reshape(resamples, samples)


def _removals(times: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """What a jackknife removes: one sample of each kind, or each of several hundred groups of samples."""
    kinds = len(times)
    if kinds <= _GROUPS:
        return np.eye(kinds), times
    group = rng.permutation(np.arange(kinds) % _GROUPS)
    return (group == np.arange(_GROUPS)[:, None]) * times, np.ones(_GROUPS)


_NORMAL = NormalDist()


def half_width(level: float, samples: float) -> float:
    """Returns how many standard deviations a bootstrap interval reaches, for this many samples.

    Resamples of m samples vary by (m - 1) / m of the true variance, and nobody knows the variance: the expanded
    interval takes t instead of z, times sqrt(m / (m - 1)).

    Examples:
        >>> [round(half_width(0.95, samples), 2) for samples in (10, 40, 1e6)]
        [2.38, 2.05, 1.96]

    Reference:
        [Hesterberg, 2015](https://doi.org/10.1080/00031305.2015.1089789)
    """
    m = max(samples, 2.0)
    return t_quantile((1 + level) / 2, m - 1) * math.sqrt(m / (m - 1))


def t_quantile(share: float, freedom: float) -> float:
    """Returns a quantile above 0.5 of the t distribution, by its integral.

    Examples:
        >>> round(t_quantile(0.975, 4), 3), round(t_quantile(0.975, 1e9), 3)
        (2.776, 1.96)
    """
    if freedom > 1e4:
        return _NORMAL.inv_cdf(share)
    # With x = sqrt(freedom) tan(a), the density becomes a power of a cosine on a bounded interval.
    angle = np.linspace(0, math.pi / 2, 200_001)
    density = np.cos(angle) ** (freedom - 1)
    area = np.append(0.0, np.cumsum((density[1:] + density[:-1]) / 2))
    found = np.interp(2 * share - 1, area / area[-1], angle)
    return math.sqrt(freedom) * math.tan(found)


def limits(value: float, drawn: np.ndarray, without: np.ndarray, times: np.ndarray, half: float) -> tuple[float, float]:
    """Returns the ends of the interval.

    Args:
        value: The value on the data.
        drawn: Its values on resamples; NaN where it is undefined.
        without: Its values without each of several groups.
        times: How many groups are like this one.
        half: How many standard deviations the interval reaches, `half_width`.
    """
    drawn = drawn[np.isfinite(drawn)]
    below = (np.mean(drawn < value) + np.mean(drawn <= value)) / 2  # half of those that are equal
    bias = _NORMAL.inv_cdf(float(np.clip(below, 0.5 / len(drawn), 1 - 0.5 / len(drawn))))
    acceleration = _acceleration(without, times)

    def share(z: float) -> float:
        z = bias + z
        return _NORMAL.cdf(bias + z / max(1 - acceleration * z, 1e-3))

    low, high = np.quantile(drawn, [share(-half), share(half)])
    return float(low), float(high)


def _acceleration(without: np.ndarray, times: np.ndarray) -> float:
    """A sixth of the skewness of the jackknife's influence values."""
    known = np.isfinite(without)
    without, times = without[known], times[known]
    if not times.sum():
        return 0.0
    influence = np.average(without, weights=times) - without
    spread = np.sum(times * influence**2)
    return float(np.sum(times * influence**3) / (6 * spread**1.5)) if spread > 0 else 0.0
