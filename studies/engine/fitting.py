"""The rows of a tabular study, one trial after the other through `model.fit`: for any Keras loss on logits.

The same MLP, optimizer, splits and budget as side by side, and as there, the epoch is chosen by the loss of the whole
validation part. What differs is the stream of random numbers of shuffling and dropout, which is Keras's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import keras
import numpy as np

from keras_softsets import models
from studies.engine.data import Part, balanced, load_trials
from studies.engine.evaluation import Columns
from studies.engine.evaluation import columns as usual
from studies.engine.tabular import Method
from studies.harness.store import Line
from studies.harness.study import Job

if TYPE_CHECKING:
    from studies.engine.tabular import Budget

LEARNING_RATE = 1e-3


def rows(job: Job, method: Method, budget: Callable[[int, int], Budget], columns: Columns = usual) -> Iterator[Line]:
    """Trains the trials of a job, one after the other, and yields the row of each when it is finished."""
    if method.stratified:
        raise ValueError(f"`fit` has no stratified batches. Received: method={job.key['method']!r}")
    for trial in job.trials:
        original, size = load_trials(job.key["data"], (trial,), job.raw_dir), job.key["batch_size"]
        limits = budget(original.train.y.shape[1], size)
        train, validation, test = (part.of(0) for part in balanced(original, method.balance)[:3])
        started, model = time.perf_counter(), untrained(method, train, trial)
        best = BestEpoch(validation, (method.validated or method.objective)(), limits.patience, job.say)
        model.fit(*batches_of(train), size, limits.epochs, sample_weight=train.weight, verbose=0, callbacks=[best])
        seconds, epochs = time.perf_counter() - started, len(model.history.epoch)
        progress = {"best_epoch": best.epoch, "epochs": epochs, "updates": int(model.optimizer.iterations)}
        outputs = [(part.y, logits_of(model, part)) for part in (validation, test)]
        yield {"trial": trial, **progress, "seconds": seconds, **columns(*outputs)}


def batches_of(part: Part) -> tuple[np.ndarray, np.ndarray]:
    """Returns features, and labels in the shape of the predictions."""
    return part.x, part.y[:, None]


def untrained(method: Method, train: Part, trial: int) -> keras.Model:
    """Returns the compiled network of a trial: the same initial weights for all methods."""
    keras.utils.set_random_seed(trial)
    share = float(train.y.mean()) if method.output_bias else None
    model = models.mlp(train.x.shape[1], logits=True, positive_rate=share)
    model.compile(keras.optimizers.Adam(LEARNING_RATE), method.objective())
    return model


def logits_of(model: keras.Model, part: Part) -> np.ndarray:
    """Returns the logits of a part."""
    return model.predict(part.x, batch_size=4096, verbose=0)[:, 0]


class BestEpoch(keras.callbacks.Callback):
    """Keeps the weights with the lowest loss of the whole validation part, and stops when it no longer falls."""

    def __init__(self, validation: Part, loss: keras.losses.Loss, patience: int, say: Callable[[str], None]) -> None:
        super().__init__()
        self.validation, self.loss, self.patience, self.say = validation, loss, patience, say
        self.best, self.epoch, self.weights = np.inf, 0, None

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        logits = logits_of(self.model, self.validation)
        value = float(self.loss(self.validation.y[:, None], logits[:, None], self.validation.weight))
        if not np.isfinite(value):
            raise FloatingPointError(f"The validation loss is not a finite number in epoch {epoch + 1}.")
        if value < self.best:
            self.best, self.epoch, self.weights = value, epoch + 1, self.model.get_weights()
        self.model.stop_training = epoch + 1 - self.epoch >= self.patience
        self.say(f"epoch {epoch + 1}")

    def on_train_end(self, logs: dict[str, float] | None = None) -> None:
        self.model.set_weights(self.weights)
