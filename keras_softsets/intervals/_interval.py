"""The interval of an evaluation: its value, and how far it would vary among other samples of the same kind.

Where the bootstrap has no spread, it is Wilson's bound on errors, or successes, that were not seen. If all m samples of
a class are right, resamples are all right, too, and their interval has no width. Wilson's interval says that a share of
up to z^2 / (m + z^2) of them (about 4 / m) may be wrong. So the score is computed again with this share of one class,
or of all samples, decided otherwise, in every way, and the interval reaches to the worst and the best of these values.
For a rate such as recall or accuracy this is exactly Wilson's interval; for other scores it is on the safe side.

Reference:
    [Wilson, 1927](https://doi.org/10.1080/01621459.1927.10502953);
    [Brown, Cai and DasGupta, 2001](https://doi.org/10.1214/ss/1009213286)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_softsets._checks import check_number, check_whole_number
from keras_softsets._evaluation import Evaluation
from keras_softsets.intervals._resampling import half_width, limits, resampled
from keras_softsets.intervals._statistics import Rows, Statistic, rows_of, statistic_of

_CERTAIN = 50.0  # a logit


def unseen_share(samples: Any, level: float) -> Any:
    """Returns Wilson's upper bound on a share that was 0 among this many samples.

    Examples:
        >>> round(unseen_share(10, 0.95), 4)
        0.2775
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    return z * z / (samples + z * z)


def values_with_unseen(evaluation: Evaluation, rows: Rows, level: float, value: Callable[[Any], Any]) -> np.ndarray:
    """Returns the score with a share of a class decided otherwise, for each way: (ways, values)."""
    found = [value(changed) for changed in _changed(evaluation, rows, level)]
    return np.array([np.atleast_1d(ops.convert_to_numpy(x)) for x in found])


def _changed(evaluation: Evaluation, rows: Rows, level: float) -> Iterator[Any]:
    classes = rows.prediction.shape[1]
    right = rows.label >= 0.5
    wrong = np.roll(right, 1, 1) if evaluation.decision.argmax else ~right
    for all_alike in (right, wrong):  # errors of all classes together, as in accuracy
        yield _with_changes(evaluation, rows, level, np.ones_like(rows.label), all_alike)
    if evaluation.decision.argmax:
        for true, other in itertools.product(range(classes), repeat=2):
            part = rows.label[:, true, None] * (np.arange(classes) == true)
            yield _with_changes(evaluation, rows, level, part, np.arange(classes) == other)
        return
    for positive, high in itertools.product((True, False), repeat=2):
        part = rows.label if positive else 1 - rows.label
        yield _with_changes(evaluation, rows, level, part, np.full(classes, high))


def _with_changes(evaluation: Evaluation, rows: Rows, level: float, part: np.ndarray, decided: np.ndarray) -> Any:
    """Samples of which a share of one side has another prediction: what is left of it, and copies that are decided."""
    argmax = evaluation.decision.argmax
    weight = np.broadcast_to(rows.weight, rows.prediction.shape)
    side = np.max(part, 1, keepdims=True) if argmax else part
    counted = rows.weight.astype("float64") * side
    share = unseen_share(_effective(counted), level) * side
    surely = np.where(decided, 1.0, 0.0) if not evaluation.from_logits else np.where(decided, _CERTAIN, -_CERTAIN)
    label = part if argmax and np.ndim(decided) == 1 else rows.label
    width = weight.shape[1] if rows.weight.shape[1] > 1 or not argmax else 1
    weights = np.concatenate([weight[:, :width] * (1 - share), weight[:, :width] * share])
    both = Rows(
        np.concatenate([rows.label, label]),
        np.concatenate([rows.prediction, surely + 0 * rows.prediction]),
        weights,
        rows.owner,
        rows.owners,
    )
    return both.samples(evaluation)


class Estimate(float):
    """A value with a confidence interval; in arithmetic and comparisons, it is its value.

    Attributes:
        value: The value on the data.
        low: Lower end of the interval.
        high: Upper end of the interval.
        level: The confidence level. Defaults to `0.95`.
        method: How the interval was found: `"bootstrap"`; `"wilson"` where the bootstrap has no spread, for example
            where every decision is right; or `"undefined"`, with NaN as its ends, where the data say nothing.
            Defaults to `"bootstrap"`.

    Examples:
        >>> estimate = Estimate(0.668, 0.601, 0.731)
        >>> estimate, estimate > 0.5, f"{estimate:.1%}", round(estimate.high - estimate.low, 2)
        (0.668 [0.601, 0.731], True, '66.8%', 0.13)
    """

    low: float
    high: float
    level: float
    method: str

    def __new__(cls, value: float, low: float, high: float, level: float = 0.95, method: str = "bootstrap") -> Estimate:
        estimate = super().__new__(cls, value)
        estimate.low, estimate.high, estimate.level, estimate.method = float(low), float(high), float(level), method
        return estimate

    @property
    def value(self) -> float:
        """The value as an ordinary float."""
        return float(self)

    def __getnewargs__(self) -> Any:
        return (self.value, self.low, self.high, self.level, self.method)

    def __repr__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    __str__ = __repr__


_SPREAD = 1e-12  # of values that differ by rounding alone


class Subject(NamedTuple):
    """One set of predictions: its value, its statistic, and its rows (None if each sample is a set)."""

    value: np.ndarray
    statistic: Statistic
    samples: int
    rows: Rows | None


class Settings(NamedTuple):
    """How an interval is found; checked."""

    level: float
    resamples: int
    seed: int

    @classmethod
    def checked(cls, interval: Any, resamples: Any, seed: Any) -> Settings:
        """Returns the settings that users pass."""
        level = check_number("interval", interval, 0.0, 1.0, open_low=True, open_high=True)
        return cls(level, check_whole_number("resamples", resamples, 100, 10**6), check_whole_number("seed", seed, 0))


def subject_of(evaluation: Evaluation, value: Any, batch: tuple[Any, Any, Any]) -> Subject:
    """Returns one set of predictions, ready to be resampled."""
    samples = evaluation.samples(*batch)
    found = np.atleast_1d(ops.convert_to_numpy(value)).astype("float64")
    if evaluation.per_sample:
        statistic: Any = statistic_of(evaluation, samples, None)
        return Subject(found, statistic, len(statistic.features), None)  # `_of_sets_that_count` leaves some out
    rows = rows_of(samples, np.shape(batch[1])[0])
    return Subject(found, statistic_of(evaluation, samples, rows) if rows.owners else _Nothing(), rows.owners, rows)


class _Nothing:
    """The statistic of no samples at all."""

    def of(self, weights: np.ndarray) -> np.ndarray:
        return np.full((len(weights), 1), np.nan)


def _of_sets_that_count(subjects: list[Subject]) -> list[Subject]:
    """The same sets for all subjects: those that count in one of them, because their score is defined there."""
    statistics: list[Any] = [subject.statistic for subject in subjects]
    weights = [statistic.features[:, statistic.features.shape[1] // 2 :] for statistic in statistics]
    rows = np.flatnonzero(np.any([(weight != 0).any(1) for weight in weights], 0))
    return [s._replace(statistic=found.among(rows), samples=len(rows)) for s, found in zip(subjects, statistics)]


def estimates(evaluation: Evaluation, subjects: list[Subject], settings: Settings) -> list[Estimate]:
    """Returns the value of the only subject, or the difference of two, for each class with its interval."""
    subjects = _of_sets_that_count(subjects) if evaluation.per_sample else subjects
    signs = [1.0, -1.0][: len(subjects)]
    value = np.sum([sign * subject.value for sign, subject in zip(signs, subjects)], 0)
    if not subjects[0].samples or np.isnan(value).all():
        return [Estimate(v, np.nan, np.nan, settings.level, "undefined") for v in value]
    found = resampled([s.statistic for s in subjects], subjects[0].samples, settings.resamples, settings.seed)
    drawn, without = (np.sum([sign * x for sign, x in zip(signs, each)], 0) for each in found[:2])
    whole = np.sum([sign * s.statistic.of(np.ones((1, s.samples))) for sign, s in zip(signs, subjects)], 0)
    # Merged thresholds shift a curve's values by very little, all of them alike.
    shift = np.nan_to_num(value - whole)
    drawn, without = np.broadcast_to(drawn + shift, (len(drawn), len(value))), without + shift
    return [
        _estimate(evaluation, subjects, settings, v, drawn[:, k], without[:, k], found.times, k)
        for k, v in enumerate(value)
    ]


def _estimate(
    evaluation: Evaluation,
    subjects: list[Subject],
    settings: Settings,
    value: float,
    drawn: np.ndarray,
    without: np.ndarray,
    times: np.ndarray,
    k: int,
) -> Estimate:
    known = drawn[np.isfinite(drawn)]
    if len(known) >= len(drawn) / 2 and np.ptp(known) > _SPREAD:
        low, high = limits(value, drawn, without, times, half_width(settings.level, _that_tell(subjects[0])))
        return Estimate(value, min(low, value), max(high, value), settings.level, "bootstrap")
    low, high = _wilson(evaluation, subjects, settings.level, k)
    if not high - low > _SPREAD:
        return Estimate(value, np.nan, np.nan, settings.level, "undefined")
    return Estimate(value, min(low, value), max(high, value), settings.level, "wilson")


def _that_tell(subject: Subject) -> float:
    """How many samples a score rests on: those of the smaller side, positives or negatives, of all classes together.

    Unequal weights count as fewer samples; so do sets, and images with many pixels.
    """
    if subject.rows is None:
        return subject.samples
    label, weight = subject.rows.label.astype("float64"), subject.rows.weight.astype("float64")
    sides = [_effective(weight * side) for side in (label, 1 - label)]
    return float(min(np.minimum(*sides).sum(), subject.samples))


def _effective(weight: np.ndarray) -> Any:
    """The number of equal weights that are worth as much, for each class."""
    return weight.sum(0) ** 2 / np.maximum((weight**2).sum(0), 1e-300)


def _wilson(evaluation: Evaluation, subjects: list[Subject], level: float, k: int) -> tuple[float, float]:
    """The range of one value, or of the difference of two, if errors that were not seen are as frequent as can be."""
    ranges = [_range(evaluation, subject, level, k) for subject in subjects]
    if len(ranges) == 1:
        return ranges[0]
    (low, high), (other_low, other_high) = ranges
    first, second = (subject.value[k] for subject in subjects)
    # One side at a time: that both are at their worst at once is far less likely.
    ends = [low - second, high - second, first - other_low, first - other_high]
    return min(ends), max(ends)


def _range(evaluation: Evaluation, subject: Subject, level: float, k: int) -> tuple[float, float]:
    value = float(subject.value[k])
    if subject.rows is None:  # a share of the sets may have a score of 0, or of 1
        share = unseen_share(subject.samples, level)
        return min(value, (1 - share) * value), max(value, value + share * (1 - value))

    def again(samples: Any) -> Any:
        return evaluation.values_of(samples)[0]

    found = values_with_unseen(evaluation, subject.rows, level, again)[:, k]
    return float(min(value, found.min())), float(max(value, found.max()))
