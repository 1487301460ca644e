"""Runs: one for each loss and seed, the epoch chosen by the loss's own value on the whole validation set.

Each is written to a folder as soon as it is done, so that a comparison that was killed resumes.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_softsets import decisions
from keras_softsets.comparison._data import Answers, Part, class_weights
from keras_softsets.comparison._task import Row, Task


class Run(NamedTuple):
    """What a run leaves.

    Attributes:
        row: Name of the loss.
        seed: The seed.
        epoch: The epoch that was chosen, from 1.
        seconds: Duration of the training, without looks at validation data.
        decision: The decision that was tuned on validation data.
        validation: What the model says about validation data.
        test: What it says about test data.
    """

    row: str
    seed: int
    epoch: int
    seconds: float
    decision: Any
    validation: Answers
    test: Answers


class Diverged(ValueError):
    """A training that ended in NaN."""


class _BestEpoch(keras.callbacks.Callback):
    """Keeps the weights of the epoch in which the loss of all validation data, as one batch, is lowest."""

    def __init__(self, row: Row, validation: Part, weights: dict[int, float] | None) -> None:
        super().__init__()
        self._row, self._validation, self._weights = row, validation, weights
        self.lowest, self.epoch, self.best, self.looking = np.inf, 0, None, 0.0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        start = time.perf_counter()
        answers = self._validation.answers(self.model)
        value = own_value(self._row, answers, self._weights) if np.isfinite(answers.prediction).all() else np.nan
        if self.best is None or value < self.lowest:
            self.lowest, self.epoch = value if np.isfinite(value) else np.inf, epoch + 1
            self.best = self.model.get_weights()
        self.looking += time.perf_counter() - start


def own_value(row: Row, answers: Answers, weights: dict[int, float] | None) -> float:
    """Returns the value of a row's loss on samples as one batch, with the row's weights of classes."""
    label, p, weight = answers
    if weights is not None:
        ids = label.reshape(len(label), -1)
        ids = ids.argmax(1) if ids.shape[1] > 1 else ids[:, 0]
        each = np.array([weights.get(int(k), 0.0) for k in ids], "float32")
        weight = each if weight is None else each * weight.reshape(-1)
    return float(row.fresh()(label, p, sample_weight=weight))


def train(
    make_model: Callable[[], keras.Model],
    row: Row,
    seed: int,
    parts: tuple[Part, Part, Part],
    task: Task,
    epochs: int,
    batch_size: int,
) -> tuple[Run, keras.Model]:
    """Trains, chooses the epoch, tunes the decision on validation data, and only then looks at test data."""
    training, validation, test = parts
    keras.utils.set_random_seed(seed)
    model = make_model()
    model.compile(_optimizer(model), row.fresh())
    weights = class_weights(training.labels()) if row.balanced else None
    chosen, start = _BestEpoch(row, validation, weights), time.perf_counter()
    training.fit(model, batch_size, weights, epochs=epochs, callbacks=[chosen])
    seconds = time.perf_counter() - start - chosen.looking
    model.set_weights(chosen.best)
    on_validation = _answers(model, validation, row)
    decision = task.tuned(on_validation)
    run = Run(row.name, seed, chosen.epoch, seconds, decision, on_validation, _answers(model, test, row))
    return run, model


def check_losses(rows: Sequence[Row], training: Part, model: keras.Model) -> None:
    """Raises now what would be raised after the training of other rows: outputs or losses that do not fit."""
    answers = training.example(model)
    if not np.isfinite(answers.prediction).all():
        return  # NaN in the data; what says so is the first run
    check_answers(answers.prediction, "training data before training")
    for row in rows:
        try:
            own_value(row, answers, None)
        except Exception as error:  # whatever a user's function raises
            raise ValueError(
                f"`losses` must take labels of shape {answers.label.shape} and outputs of shape "
                f"{answers.prediction.shape}. Received: {row.name!r}, which says: {error}"
            ) from error


def _optimizer(model: keras.Model) -> Any:
    """A new optimizer like the one the model was compiled with, or Adam."""
    given = getattr(model, "optimizer", None)
    return "adam" if given is None else type(given).from_config(given.get_config())


def _answers(model: keras.Model, part: Part, row: Row) -> Answers:
    answers = part.answers(model)
    check_answers(answers.prediction, f"{part.name} data after training with {row.name}")
    return answers


def check_answers(p: np.ndarray, of: str) -> None:
    """Raises unless predictions are probabilities."""
    if not np.isfinite(p).all():
        raise Diverged(
            "`make_model` must return models that stay finite: look for NaN in the data, for too large a learning rate "
            f"or for a loss without a bound. Received: NaN for {of}"
        )
    if p.min() < 0 or p.max() > 1:
        raise ValueError(
            "`make_model` must return models of probabilities, which end in a sigmoid or a softmax. "
            f"Received: outputs from {p.min():g} to {p.max():g} for {of}"
        )


_SETTINGS = "settings.json"


class Records:
    """Runs in a folder.

    Args:
        folder: Where they are.
        settings: What determines the runs; a folder of another comparison is refused.
    """

    def __init__(self, folder: pathlib.Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        path, text = folder / _SETTINGS, json.dumps(settings, indent=1, sort_keys=True)
        if not path.exists():
            _write(path, lambda temporary: temporary.write_text(text))
        elif path.read_text() != text:
            known = json.loads(path.read_text())
            changed = ", ".join(key for key in settings if settings[key] != known.get(key))
            raise ValueError(
                f"`folder` must be new, or of the same comparison, which it then resumes; what differs: {changed}. "
                f"Received: folder={str(folder)!r}"
            )

    def load(self, row: str, seed: int) -> Run | None:
        """Returns a run that is done, or None."""
        path = self._path(row, seed, ".npz")
        if not path.exists() or not self.weights(row, seed).exists():
            return None
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            answers = [Answers(*(file.get(f"{part}_{k}") for k in range(3))) for part in ("validation", "test")]
        written = about.pop("decision")
        decision = None if written is None else decisions.get(written).written()
        return Run(**about, decision=decision, validation=answers[0], test=answers[1])

    def save(self, run: Run, model: keras.Model) -> None:
        """Writes a run: first its weights, then its answers, each by a rename, so that a file is whole or absent."""
        _write(self.weights(run.row, run.seed), lambda path: model.save_weights(path))
        about: dict[str, Any] = {key: getattr(run, key) for key in ("row", "seed", "epoch", "seconds")}
        about["decision"] = None if run.decision is None else decisions.get(run.decision).config()
        arrays: dict[str, Any] = {"about": np.array(json.dumps(about))}
        for part in ("validation", "test"):
            each = enumerate(getattr(run, part))
            arrays |= {f"{part}_{k}": array for k, array in each if array is not None}
        _write(self._path(run.row, run.seed, ".npz"), lambda path: np.savez_compressed(path, **arrays))

    def weights(self, row: str, seed: int) -> pathlib.Path:
        """The file of a run's weights."""
        return self._path(row, seed, ".weights.h5")

    def _path(self, row: str, seed: int, ending: str) -> pathlib.Path:
        plain = re.sub(r"\W+", "_", row).strip("_") or "row"
        digest = hashlib.sha256(row.encode()).hexdigest()[:6]  # names may differ in signs alone
        return self.folder / f"{plain}-{digest}-seed_{seed}{ending}"


def fingerprint(*arrays: np.ndarray) -> str:
    """Returns a short text that differs for different data."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.shape}{array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _write(path: pathlib.Path, write: Any) -> None:
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    write(temporary)
    os.replace(temporary, path)
