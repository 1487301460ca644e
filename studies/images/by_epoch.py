"""A network that is tested after every epoch, one row for each, and resumes after the last one if it was killed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import keras

from studies.harness.store import Line


def train(
    model: keras.Model,
    weights: Path,
    done: Sequence[Line],
    epochs: int,
    steps: int,
    fit: Callable[[int], Line],
    test: Callable[[], Line],
) -> Iterator[Line]:
    """Yields a row for each epoch that is missing; its weights are saved when the row is on disk.

    Args:
        model: Compiled, with its initial weights.
        weights: The file for its weights.
        done: The rows of the epochs that are on disk.
        epochs: How many there should be.
        steps: How many updates an epoch has.
        fit: Trains the epoch of a number, counted from 0, and returns what it wants to report.
        test: Returns the scores after an epoch.
    """
    first = seen_epochs(model, weights, done, steps)
    for epoch in range(first, epochs):
        started = time.process_time()
        trained = fit(epoch)
        yield {"epoch": epoch + 1, "seconds": time.process_time() - started, **trained, **test()}
        weights.parent.mkdir(parents=True, exist_ok=True)
        model.save_weights(unfinished := weights.with_name(f"unfinished.{weights.name}"))
        unfinished.replace(weights)


def seen_epochs(model: keras.Model, weights: Path, done: Sequence[Line], steps: int) -> int:
    """Returns how many epochs the saved weights have seen; a last epoch without weights is repeated."""
    model.optimizer.build(model.trainable_variables)
    if weights.exists():
        model.load_weights(weights)
    elif len(done) > 1:  # a single row may come from a run killed before it wrote its first weights
        raise FileNotFoundError(
            f"{weights} is missing, so the run of {len(done)} epochs cannot be resumed. "
            "To start over, give another folder for the results, or delete the rows."
        )
    return min(int(model.optimizer.iterations) // steps, len(done))
