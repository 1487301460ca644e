"""What more time gives on CIFAR-10: a network tested after every epoch, one file for each trial, one line an epoch.

    python -m benchmarks.paper --epoch-by-epoch 100 --trials 2 --loss f1_linear_mean --network yolov3_tiny --raw-dir ...

A run that was interrupted goes on after its last whole epoch, and one that is given more epochs adds to its lines.
Both need the weights that it keeps beside its lines. They are not committed: to repeat a committed run, give another
folder for the results.
"""

from __future__ import annotations

import time
from pathlib import Path

import keras

from benchmarks.paper import cifar10, evaluation, objectives, store
from benchmarks.paper.configurations import Configuration
from keras_softsets.datasets import Splits

COLUMNS = ("mean_f1", "f1_at_half", "f1_tuned", "mean_accuracy", "mean_precision", "mean_recall", "auroc", "auprc")


def run(
    configuration: Configuration,
    epochs: int,
    raw_dir: str | None,
    folder: Path,
    network: str = "tiny_darknet",
    trial: int = 0,
) -> None:
    """Trains one trial until it has `epochs` lines."""
    splits = cifar10.load(configuration.dataset, trial, raw_dir)
    lines = store.epochs_path(configuration, folder, network, trial)
    weights = lines.with_suffix(".weights.h5")
    untrained = cifar10.untrained(configuration.loss, trial, network)
    model, rows = _resume(untrained, len(splits.train[1]), weights, store.read_rows(lines))
    while len(rows) < epochs:
        epoch, started = len(rows) + 1, time.process_time()
        # The order of the pictures does not depend on interruptions.
        keras.utils.set_random_seed(trial * cifar10.MOST_EPOCHS + epoch)
        history = model.fit(cifar10.batches(splits.train), shuffle=False, verbose=2)
        progress = {
            "epoch": epoch,
            "seconds": time.process_time() - started,
            "training_loss": history.history["loss"][0],
        }
        rows = [*rows, progress | _test(model, splits, objectives.readings(configuration.loss))]
        print(", ".join(f"{name} {value:.4g}" for name, value in rows[-1].items()), flush=True)
        store.write_rows(lines, rows)
        model.save_weights(unfinished := weights.with_name(f"unfinished.{weights.name}"))
        unfinished.replace(weights)


def _resume(
    model: keras.Model, samples: int, weights: Path, rows: list[store.Row]
) -> tuple[keras.Model, list[store.Row]]:
    """Returns the model and the lines of the epochs that it has seen; a last one without its weights is done again."""
    model.optimizer.build(model.trainable_variables)
    if weights.exists():
        model.load_weights(weights)
    elif len(rows) > 1:  # a single line may be that of a run killed before it wrote its first weights
        raise FileNotFoundError(
            f"{weights} is missing, so the run of {len(rows)} epochs beside it cannot go on. "
            "To start over, give another folder for the results, or delete the lines."
        )
    batches = -(-samples // cifar10.BATCH_SIZE)
    return model, rows[: int(model.optimizer.iterations) // batches]


def _test(model: keras.Model, splits: Splits, readings: tuple[str, ...]) -> store.Row:
    validation, test = (model.predict(part[0], batch_size=500, verbose=0) for part in splits[1:])
    loss = float(model.loss(splits.validation[1], validation))
    values = evaluation.read("probabilities", splits.validation[1], validation[:, 0], splits.test[1], test[:, 0])
    row = {"validation_loss": loss} | {name: values[name] for name in COLUMNS}
    if "logits" in readings:
        row["mean_f1_of_logits"] = evaluation.evaluate(splits.test[1], test[:, 0])["mean_f1"]
    return row
