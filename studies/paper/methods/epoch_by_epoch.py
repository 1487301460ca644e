"""What more time gives on CIFAR-10: a network tested after every epoch.

    python -m studies run paper_epochs --epochs 100 --trials 2 --only loss=f1_linear_mean network=yolov3_tiny

A run that was interrupted resumes after its last complete epoch, and a run that is given more epochs adds to its rows.
Both need the weights that the run keeps in the journal, which are not committed: to repeat a committed run, give
another folder for the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import keras
import numpy as np

from keras_softsets.datasets import Splits
from studies.engine import evaluation
from studies.harness.store import Line
from studies.harness.study import Job
from studies.images import by_epoch, training
from studies.paper.methods import cifar10, objectives

COLUMNS = ("mean_f1", "f1_at_half", "f1_tuned", "mean_accuracy", "mean_precision", "mean_recall", "auroc", "auprc")
Part = tuple[np.ndarray, np.ndarray]
_SEEDS_OF_A_TRIAL = 1000  # more than it has epochs


def train(job: Job) -> Iterator[Line]:
    """Yields the rows of the epochs that are missing, one trial after the other."""
    loss, network = job.key["loss"], job.key["network"]
    for trial in job.trials:
        splits = training.load(job.key["data"], trial, job.raw_dir)
        model = cifar10.untrained(loss, trial, network)
        weigh = _weigher(job.key["balance"], splits.train[1])
        name = "-".join([*map(str, job.key.values()), f"trial{trial}"])
        rows = by_epoch.train(
            model,
            job.scratch / f"{name}.weights.h5",
            [line for line in job.done if line["trial"] == trial],
            job.epochs,
            -(-len(splits.train[1]) // training.BATCH_SIZE),
            lambda epoch, model=model, weigh=weigh, trial=trial, splits=splits: _fit(
                model, weigh(splits.train), trial, epoch + 1
            ),
            lambda model=model, weigh=weigh, splits=splits: _test(
                model, splits, objectives.readings(loss), weigh(splits.validation)[2:]
            ),
        )
        yield from ({"trial": trial, **row} for row in rows)


def _weigher(balance: str, labels: np.ndarray) -> Callable[[Part], tuple[np.ndarray, ...]]:
    """Returns what adds weights to a part: of the training part's share of positives, or none."""
    if balance == "none":
        return lambda part: part
    return lambda part: (*part, training.class_weights(part[1], float(np.mean(labels))))


def _fit(model: keras.Model, data: tuple[np.ndarray, ...], trial: int, epoch: int) -> Line:
    # The order of the images does not depend on interruptions.
    keras.utils.set_random_seed(trial * _SEEDS_OF_A_TRIAL + epoch)
    history = model.fit(training.batches(data), shuffle=False, verbose=2).history
    return {"training_loss": history["loss"][0]}


def _test(model: keras.Model, splits: Splits, readings: tuple[str, ...], weights: tuple[np.ndarray, ...]) -> Line:
    validation, test = training.outputs(model, splits)
    labels, logits = validation
    values = evaluation.read("probabilities", validation, test)
    loss = float(model.loss(labels, logits[:, None], *weights))
    line = {"validation_loss": loss} | {name: values[name] for name in COLUMNS}
    if "logits" in readings:
        line["mean_f1_of_logits"] = evaluation.evaluate(*test)["mean_f1"]
    return line
