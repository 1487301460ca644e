"""Trains all missing trials of a configuration side by side, and reads them as probabilities, logits, or both."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.paper.methods import evaluation, objectives
from benchmarks.paper.methods.data import balanced, load_trials
from benchmarks.paper.methods.protocol import Job
from benchmarks.paper.methods.side_by_side import engine, network
from benchmarks.paper.methods.side_by_side.settings import Settings
from benchmarks.paper.records.store import Line


def train(job: Job) -> Iterator[list[Line]]:
    """Yields the lines of all trials at once."""
    configuration = job.configuration
    data = balanced(load_trials(configuration.dataset, job.seeds, job.raw_dir), configuration.balance)
    settings = Settings(configuration.batch_size, start=configuration.start)
    trained = engine.train(
        data,
        objectives.OBJECTIVES[configuration.loss],
        settings,
        lambda epoch, training: job.say(f"epoch {epoch}, {training} trials in training"),
    )
    validation, test = (network.logits(trained.weights, part.x).numpy().T for part in (data.validation, data.test))
    yield [
        line
        for k in range(len(data.seeds))
        for line in evaluation.lines(
            _progress(trained, k, int(data.seeds[k])),
            objectives.readings(configuration.loss),
            (data.validation.y[k], validation[k]),
            (data.test.y[k], test[k]),
        )
    ]


def _progress(trained: engine.Trained, k: int, seed: int) -> evaluation.Progress:
    return evaluation.Progress(
        trial=seed,
        best_epoch=int(trained.best_epoch[k]),
        epochs=int(trained.epochs[k]),
        validation_loss=float(trained.best_loss[k]),
        seconds=trained.seconds / len(trained.epochs),
    )
