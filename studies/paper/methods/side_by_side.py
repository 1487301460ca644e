"""Trains all missing trials of a configuration side by side, and reads them as probabilities, logits, or both."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from studies.engine import data, evaluation, network, side_by_side
from studies.engine.data import Part, Trials, balanced
from studies.engine.objectives import Plain
from studies.engine.program import Settings
from studies.engine.tabular import Method
from studies.harness.store import Line
from studies.harness.study import Job
from studies.paper.methods import objectives
from studies.paper.plan import READ_BY_AUTHORS, Configuration

_YEARS = 73  # the number of different ages in adult.data


@functools.lru_cache(maxsize=1)  # the losses of a table follow one another on the same data set
def load_trials(name: str, seeds: tuple[int, ...], raw_dir: str | None = None) -> Trials:
    """Loads one stratified split for each seed."""
    original = READ_BY_AUTHORS.get(name, name)
    trials = data.load_trials(original, seeds, raw_dir)
    return trials if original == name else trials._replace(test=_older(trials.train, trials.test))


def _older(train: Part, test: Part) -> Part:
    """Returns test data in which everybody is 73 years older, as the authors' code reads Adult.

    Their adult.test begins with a remark in the column of ages, so these are read as text, and those of adult.data as
    numbers. Text and numbers are then encoded together as categories: numbers first, 0 to 72, then text, 73 to 145.
    """
    steps = [np.diff(np.unique(ages)).min() for ages in train.x[:, :, 0]]  # a year, in standard deviations
    x = test.x.copy()
    x[:, :, 0] += _YEARS * np.array(steps, x.dtype)[:, None]
    return test._replace(x=x)


def train(job: Job) -> Iterator[Line]:
    """Yields the lines of all trials at once."""
    configuration = Configuration(**job.key)
    data = balanced(load_trials(configuration.data, job.trials, job.raw_dir), configuration.balance)
    settings = Settings(configuration.batch_size, start=configuration.start)
    method = Method(configuration.loss, Plain(objectives.OBJECTIVES[configuration.loss]))
    trained = side_by_side.train(data, method, settings, job.say)
    validation, test = (network.logits(trained.weights, part.x).numpy().T for part in (data.validation, data.test))
    for k, seed in enumerate(job.trials):
        outputs = (data.validation.y[k], validation[k]), (data.test.y[k], test[k])
        yield from evaluation.lines(_progress(trained, k, seed), objectives.readings(configuration.loss), *outputs)


def _progress(trained: side_by_side.Trained, k: int, seed: int) -> evaluation.Progress:
    return evaluation.Progress(
        trial=seed,
        best_epoch=int(trained.best_epoch[k]),
        epochs=int(trained.epochs[k]),
        validation_loss=float(trained.best_loss[k]),
        seconds=trained.seconds / len(trained.epochs),
    )
