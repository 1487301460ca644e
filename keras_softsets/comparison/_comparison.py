"""The result of a comparison: paired differences with intervals, table, verdict, figure and the best model.

Two things vary by chance: the seed of a training run, and the test samples. The runs of one seed are paired, and all
runs answer for the same samples. With S seeds, the variance of the mean difference is the variance over seeds / S plus
the variance of the mean over resamples of the test data; what belongs to both is counted twice, which is on the safe
side. The interval uses the t distribution with Welch and Satterthwaite's degrees of freedom, since few seeds say little
about their own variance. With one seed, the interval is over samples alone.

Reference:
    [Satterthwaite, 1946](https://doi.org/10.2307/3002019)
"""

from __future__ import annotations

import math
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_softsets._evaluation import Evaluation
from keras_softsets.comparison._data import Answers
from keras_softsets.comparison._runs import Run
from keras_softsets.comparison._task import Task, calibration_error, ranking
from keras_softsets.intervals import Estimate
from keras_softsets.intervals._interval import subject_of
from keras_softsets.intervals._resampling import resampled, t_quantile

_RESAMPLES, _LEVEL = 1000, 0.95
Decided = tuple[Answers, Any]  # answers and a decision


def paired_difference(task: Task, first: Sequence[Decided], second: Sequence[Decided]) -> Estimate:
    """Returns the mean difference over seeds, `first` minus `second`, which are in the same order of seeds."""
    differences = np.array([task.value(*a) - task.value(*b) for a, b in zip(first, second, strict=True)])
    return interval_of(differences, _variance_over_samples(task, first, second))


def interval_of(differences: np.ndarray, variance: float) -> Estimate:
    """Returns the mean of differences, one for each seed, with an interval.

    Args:
        differences: The difference of each seed.
        variance: The variance of their mean over test samples.
    """
    seeds, mean = len(differences), float(np.mean(differences))
    over_seeds = float(np.var(differences, ddof=1)) / seeds if seeds > 1 else 0.0
    total = over_seeds + variance
    freedom = (seeds - 1) * (total / over_seeds) ** 2 if over_seeds > 0 else math.inf
    half = t_quantile((1 + _LEVEL) / 2, freedom) * math.sqrt(total)
    return Estimate(mean, mean - half, mean + half, _LEVEL, "seeds and samples" if seeds > 1 else "samples")


def _variance_over_samples(task: Task, first: Sequence[Decided], second: Sequence[Decided]) -> float:
    subjects = []
    for (label, p, weight), decision in (*first, *second):
        evaluation = Evaluation([task.score], threshold=decision)
        subjects.append(subject_of(evaluation, 0.0, (label, p, weight)))
    found = resampled([subject.statistic for subject in subjects], subjects[0].samples, _RESAMPLES, 0)
    drawn = np.mean(found.drawn[: len(first)], 0) - np.mean(found.drawn[len(first) :], 0)
    return float(np.nanvar(drawn, ddof=1))


class Line:
    """One line of the table: the runs of a loss, and its paired difference to the first loss."""

    def __init__(self, task: Task, runs: Sequence[Run], baseline: Sequence[Run]) -> None:
        self.name, self.runs = runs[0].row, runs
        self.default = [task.value(run.test, task.default) for run in runs]
        self.tuned = [task.value(run.test, run.decision) for run in runs]
        self.on_validation = [task.value(run.validation, run.decision) for run in runs]
        self.ranking = [ranking(task, run.test) for run in runs]
        self.calibration = [calibration_error(task, run.test) for run in runs]
        self.seconds = [run.seconds for run in runs]
        self.difference: Estimate | None = None
        if runs is not baseline:
            pair = ([(run.test, run.decision) for run in each] for each in (runs, baseline))
            self.difference = paired_difference(task, *pair)


class Comparison:
    """What `compare` returns.

    Examples:
        >>> from keras_softsets.comparison._data import Answers
        >>> from keras_softsets.scores import get
        >>> y = np.arange(100) % 4 == 0
        >>> same = Answers(y, np.where(y, 0.6, np.linspace(0.1, 0.7, 100)), None)
        >>> runs = [[Run(name, seed, 1, 2.0, 0.5, same, same) for seed in (0, 1)] for name in ("cross-entropy", "f1")]
        >>> comparison = Comparison(Task("binary", False, get("f1")), runs, load=lambda run: None)
        >>> comparison.verdict
        'No gain: cross-entropy with a tuned threshold is the best on validation data. Keep it: 0.658 f1 on test data.'

    Attributes:
        lines: One for each loss; the first is the one that the others are compared with.
        left_out: Losses without a line, because a training ended in NaN, and the seed of that training.
        verdict: A few sentences: a gain, a loss or no difference, and what to do.
    """

    def __init__(
        self,
        task: Task,
        runs: Sequence[Sequence[Run]],
        load: Callable[[Run], keras.Model],
        left_out: Mapping[str, int] | None = None,
    ) -> None:
        self.task, self._load, self.left_out = task, load, dict(left_out or {})
        self.lines = [Line(task, each, runs[0]) for each in runs]
        self.verdict: str = verdict_of(self)

    @property
    def baseline(self) -> Line:
        """The loss that the others are compared with: cross-entropy, if it is among them."""
        return self.lines[0]

    @property
    def candidate(self) -> Line:
        """The loss with the best mean on validation data; test data have no say, or the best would look too good."""
        return max(self.lines, key=lambda line: float(np.mean(line.on_validation)))

    @property
    def recommended(self) -> Line:
        """The loss that the verdict says to use: the candidate if it shows a gain, otherwise the baseline."""
        difference = self.candidate.difference
        return self.candidate if difference is not None and difference.low > 0 else self.baseline

    @property
    def best_run(self) -> Run:
        """The recommended loss's run that is best on validation data."""
        line = self.recommended
        return line.runs[int(np.argmax(line.on_validation))]

    @property
    def best(self) -> keras.Model:
        """The model of `best_run`; its decision is `best_decision`."""
        return self._load(self.best_run)

    @property
    def best_decision(self) -> Any:
        """The decision of the best model, tuned on validation data: a `threshold=` for metrics and export."""
        return self.best_run.decision

    def classifier(self) -> keras.Model:
        """Returns the best model with its decision as a layer, as `as_classifier` makes it: `probability`, `label`."""
        from keras_softsets.export import as_classifier

        return as_classifier(self.best, self.task.deciding(self.best_decision))

    def table(self) -> str:
        """Returns the table as Markdown."""
        from keras_softsets.comparison._report import markdown_table

        return markdown_table(self)

    def plot(self) -> Any:
        """Draws each run's score, and the paired differences with their intervals; needs matplotlib."""
        from keras_softsets.comparison._report import figure_of

        return figure_of(self)

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes a report: one `.html` file with the figure inside, or `.md`."""
        from keras_softsets.comparison._report import write

        return write(self, path)

    def __repr__(self) -> str:
        return f"{self.table()}\n\n{self.verdict}"


def verdict_of(comparison: Comparison) -> str:
    """Returns a gain, a loss or no difference, and what to do.

    Only the candidate, which validation data chose, is judged: judging every loss on test data would find a gain by
    chance more often than in one of twenty comparisons.
    """
    candidate, baseline = comparison.candidate, comparison.baseline
    sentences = [_of_candidate(comparison, candidate, baseline)]
    sentences += [f"{name} is left out: seed {seed} ended in NaN." for name, seed in comparison.left_out.items()]
    if len(baseline.runs) == 1:
        sentences.append("One seed proves little: another one may turn it around; compare with five.")
    return " ".join(sentences)


def _of_candidate(comparison: Comparison, candidate: Line, baseline: Line) -> str:
    score, other = comparison.task.score.name, _decided(comparison, baseline.name)
    if candidate is baseline:
        return f"No gain: {other} is the best on validation data. Keep it: {_mean(baseline)} {score} on test data."
    difference = candidate.difference
    assert difference is not None  # every line but the first has one
    value, interval = signed(difference).split(" ", 1)
    numbers = f"{value} {score} {interval}"
    if difference.low > 0:
        return f"A gain: {candidate.name} has {numbers} over {other}. Use {candidate.name}."
    if difference.high < 0:
        return f"A loss: {candidate.name} has {numbers} compared with {other}. Use {other}."
    return (
        f"No difference: {candidate.name}, the best on validation data, has {numbers} compared with {other}, and the "
        f"interval includes 0. Keep {other}."
    )


def _decided(comparison: Comparison, name: str) -> str:
    if comparison.task.default is None:
        return name
    return f"{name} with {'tuned offsets' if comparison.task.kind == 'classes' else 'a tuned threshold'}"


def _mean(line: Line) -> str:
    return f"{np.mean(line.tuned):.3f}"


def signed(difference: Any) -> str:
    """Returns a difference with its interval; a value that is rounded to 0 has no minus."""
    value, low, high = (f"{round(x, 3) + 0.0:+.3f}" for x in (difference.value, difference.low, difference.high))
    return f"{value} [{low}, {high}]"
