"""What more time gives on CIFAR-10: a network tested after every epoch, one file for each trial, one line an epoch.

    python -m benchmarks.paper --epoch-by-epoch 100 --trials 2 --loss f1_linear_mean --network yolov3_tiny --raw-dir ...

A run that was interrupted resumes after its last complete epoch, and a run that is given more epochs adds to its lines.
Both need the weights that the run keeps beside its lines. These are not committed: to repeat a committed run, give
another folder for the results.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np

from benchmarks.paper.methods import evaluation, objectives
from benchmarks.paper.methods.cifar10 import training
from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.records import store
from benchmarks.paper.records.store import Line
from keras_softsets.datasets import Splits

COLUMNS = ("mean_f1", "f1_at_half", "f1_tuned", "mean_accuracy", "mean_precision", "mean_recall", "auroc", "auprc")
Part = tuple[np.ndarray, np.ndarray]
_SEEDS_OF_A_TRIAL = 1000  # more than it has epochs


def run(
    configuration: Configuration,
    epochs: int,
    raw_dir: str | None,
    folder: Path,
    network: str = "tiny_darknet",
    trial: int = 0,
) -> None:
    """Trains one trial until it has `epochs` lines."""
    path = store.epochs_path(configuration, folder, network, trial)
    weights = path.with_suffix(".weights.h5")
    if len(store.read_lines(path)) >= epochs and not weights.exists():
        return  # finished elsewhere: only the lines are kept
    splits = training.load(configuration.dataset, trial, raw_dir)
    untrained = training.untrained(configuration.loss, trial, network)
    model, lines = _resume(untrained, len(splits.train[1]), weights, store.read_lines(path))
    weigh = _weigher(configuration.balance, splits.train[1])
    while len(lines) < epochs:
        progress = _train(model, weigh(splits.train), trial, len(lines) + 1)
        tested = _test(model, splits, objectives.readings(configuration.loss), weigh(splits.validation)[2:])
        lines = [*lines, progress | tested]
        print(", ".join(f"{name} {value:.4g}" for name, value in lines[-1].items()), flush=True)
        store.write_lines(path, lines)
        model.save_weights(unfinished := weights.with_name(f"unfinished.{weights.name}"))
        unfinished.replace(weights)


def _resume(model: keras.Model, samples: int, weights: Path, lines: list[Line]) -> tuple[keras.Model, list[Line]]:
    """Returns the model and the lines of the epochs that it has seen; a last epoch without weights is repeated."""
    model.optimizer.build(model.trainable_variables)
    if weights.exists():
        model.load_weights(weights)
    elif len(lines) > 1:  # a single line may come from a run killed before it wrote its first weights
        raise FileNotFoundError(
            f"{weights} is missing, so the run of {len(lines)} epochs beside it cannot be resumed. "
            "To start over, give another folder for the results, or delete the lines."
        )
    batches = -(-samples // training.BATCH_SIZE)
    return model, lines[: int(model.optimizer.iterations) // batches]


def _weigher(balance: str, labels: np.ndarray) -> Callable[[Part], tuple[np.ndarray, ...]]:
    """Returns what adds weights to a part: of the training part's share of positives, or none."""
    if balance == "none":
        return lambda part: part
    return lambda part: (*part, training.class_weights(part[1], float(np.mean(labels))))


def _train(model: keras.Model, data: tuple[np.ndarray, ...], trial: int, epoch: int) -> Line:
    started = time.process_time()
    # The order of the images does not depend on interruptions.
    keras.utils.set_random_seed(trial * _SEEDS_OF_A_TRIAL + epoch)
    history = model.fit(training.batches(data), shuffle=False, verbose=2).history
    return {"epoch": epoch, "seconds": time.process_time() - started, "training_loss": history["loss"][0]}


def _test(model: keras.Model, splits: Splits, readings: tuple[str, ...], weights: tuple[np.ndarray, ...]) -> Line:
    validation, test = training.outputs(model, splits)
    labels, logits = validation
    values = evaluation.read("probabilities", validation, test)
    loss = float(model.loss(labels, logits[:, None], *weights))
    line = {"validation_loss": loss} | {name: values[name] for name in COLUMNS}
    if "logits" in readings:
        line["mean_f1_of_logits"] = evaluation.evaluate(*test)["mean_f1"]
    return line
