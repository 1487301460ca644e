"""`compare`: train with each loss, and say whether it helps."""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import keras

from keras_softsets._checks import check_flag, check_folder, check_whole_number
from keras_softsets.comparison import _runs
from keras_softsets.comparison._comparison import Comparison
from keras_softsets.comparison._data import Part
from keras_softsets.comparison._runs import Diverged, Records, Run, fingerprint
from keras_softsets.comparison._task import Row, Task, check_labels, rows_of, task_of
from keras_softsets.scores._registry import Score, ScoreLike, resolve


def compare(
    make_model: Callable[[], keras.Model],
    losses: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    train: Any,
    validation: Any,
    test: Any,
    score: ScoreLike = "f1",
    seeds: int = 5,
    epochs: int = 50,
    batch_size: int = 128,
    folder: str | os.PathLike[str] | None = None,
    verbose: bool = True,
    **score_args: Any,
) -> Comparison:
    """Trains a model with each of several losses, and says whether one of them helps on your data.

    All losses get the same seeds, the same initial weights and the same number of epochs. The epoch is the one in which
    the loss itself, computed on all validation data at once, is lowest; then the decision (a threshold for each class,
    or offsets of the argmax) is tuned on validation data. Test data are used once for each run, after that. Each loss
    is compared with cross-entropy *with a tuned decision*; beating it at 0.5 alone would say little.

    Args:
        make_model: A function without arguments that returns a new model, ending in a sigmoid or a softmax. If it is
            compiled, its optimizer is used; otherwise Adam.
        losses: Losses by name, or a list: instances, functions, or names such as `"binary_focal_crossentropy"` and
            `"SoftF1"`. The first cross-entropy among them, or else the first loss, is what the others are compared
            with; one loss alone is compared with cross-entropy. Defaults to `None`: cross-entropy, balanced
            cross-entropy, and losses made for the score.
        train: Training data: `(x, y)`, `(x, y, sample_weight)`, a `tf.data.Dataset` of batches or a `PyDataset`.
        validation: Validation data, likewise.
        test: Test data, likewise.
        score: What you report: a score's name, a score or a function. Defaults to `"f1"`.
        seeds: Number of seeds: training runs for each loss. Defaults to `5`.
        epochs: Number of epochs. Defaults to `50`.
        batch_size: Size of batches, where data are arrays. Defaults to `128`.
        folder: Where runs are written as soon as they are done; called again with the same folder, a comparison that
            was killed resumes. Defaults to `None`: a temporary folder.
        verbose: Whether to say on the error stream what is done and what remains. Defaults to `True`.
        **score_args: Arguments of the score, such as `weights="quadratic"` for `"kappa"`.

    Returns:
        A `Comparison`: `table()`, `verdict`, `plot()`, `save("report.html")`, `best`, `best_decision`, and both as one
        model, `classifier()`.

    Examples:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(600, 2)).astype("float32")
        >>> y = (x[:, 0] + rng.normal(size=600) > 1).astype("float32")
        >>> def make_model():
        ...     return keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, "sigmoid")])
        >>> parts = {"train": (x[:200], y[:200]), "validation": (x[200:400], y[200:400]), "test": (x[400:], y[400:])}
        >>> report = compare(make_model, **parts, seeds=2, epochs=2, verbose=False)
        >>> [line.name for line in report.lines][:2]
        ['cross-entropy', 'balanced cross-entropy']
    """
    resolved = resolve(score, score_args, compare)
    numbers = {"seeds": seeds, "epochs": epochs, "batch_size": batch_size}
    numbers = {name: check_whole_number(name, value, 1) for name, value in numbers.items()}
    parts = (Part("train", train), Part("validation", validation), Part("test", test))
    labels = [part.labels() for part in parts]
    for part, each in zip(parts, labels):
        part.check(each, like=parts[0])
    example = _checked_model(make_model)
    make_model = _new_each_time(make_model, example)
    task = task_of(labels[0], example.output_shape[1], resolved)
    for part, each in zip(parts, labels):
        check_labels(part.name, each, example.output_shape[1])
    rows = [row for row in rows_of(losses, task) if not row.balanced or parts[0].takes_class_weights()]
    _runs.check_losses(rows, parts[0], example)
    data = fingerprint(*labels, *(x for part in parts for x in part.features()))
    shapes = [list(weight.shape) for weight in example.weights]
    settings = {
        **numbers,
        "score": _score(resolved),
        "data": data,
        "model": shapes,
        "losses": _described(rows),
    }
    temporary = tempfile.TemporaryDirectory() if folder is None else None
    place = pathlib.Path(temporary.name) if temporary else check_folder("folder", folder or "")
    records = Records(place, settings)
    plan = [(row, seed) for seed in range(numbers["seeds"]) for row in rows]
    progress, failed = _Progress(plan, records, check_flag("verbose", verbose)), {}
    for row, seed in plan:
        if row.name in failed or records.load(row.name, seed) is not None:
            continue
        started = time.perf_counter()
        try:
            with _quiet():
                run = _run(make_model, row, seed, parts, task, numbers["epochs"], numbers["batch_size"], records)
        except Diverged:
            if row is rows[0]:  # nothing is left to compare with
                raise
            failed[row.name] = seed
            progress.failed(row.name, seed, sum(other is row and later >= seed for other, later in plan))
            continue
        progress.done(run, task, time.perf_counter() - started)

    def load(run: Run) -> keras.Model:
        assert temporary is None or temporary.name  # keeps the folder as long as the result exists
        model = make_model()
        if getattr(model, "optimizer", None) is not None:
            model.optimizer.build(model.trainable_variables)  # its state is in the file; Keras would warn
        model.load_weights(records.weights(run.row, run.seed))
        return model

    kept = [row for row in rows if row.name not in failed]
    found = [[records.load(row.name, seed) for seed in range(numbers["seeds"])] for row in kept]
    return Comparison(task, found, load, failed)  # type: ignore[arg-type]  # all runs are done


def _run(make_model: Any, row: Row, seed: int, parts: Any, task: Task, epochs: int, size: int, records: Records) -> Run:
    run, model = _runs.train(make_model, row, seed, parts, task, epochs, size)
    records.save(run, model)
    return run


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without TensorFlow's warning that many models were traced: a new one for each run is meant."""

    def wanted(record: logging.LogRecord) -> bool:
        return "tf.function retracing" not in str(record.msg)

    logger = logging.getLogger("tensorflow")
    logger.addFilter(wanted)
    try:
        yield
    finally:
        logger.removeFilter(wanted)


def _checked_model(make_model: Any) -> keras.Model:
    usable = callable(make_model) and not isinstance(make_model, keras.Model)  # models are callable, too
    model = make_model() if usable else None
    if not isinstance(model, keras.Model):
        raise ValueError(
            "`make_model` must be a function without arguments that returns a new keras.Model, because each run starts "
            f"from new weights. Received: make_model={make_model!r}"
        )
    shape = getattr(model, "output_shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[1] is None:
        raise ValueError(
            "`make_model` must return built models with one output of shape (batch, classes). "
            f"Received: an output of shape {shape}"
        )
    return model


def _new_each_time(make_model: Callable[[], keras.Model], example: keras.Model) -> Callable[[], keras.Model]:
    """The same function, which raises if a model learns with weights of the first one."""
    known = {id(variable) for variable in example.trainable_variables}

    def make() -> keras.Model:
        model = make_model()
        if known & {id(variable) for variable in model.trainable_variables}:
            raise ValueError(
                "`make_model` must build its layers anew in each call, because each run starts from new weights. "
                f"Received: make_model={make_model!r}, whose models share trainable weights"
            )
        return model

    return make


def _score(score: Score) -> str:
    code = None if score.registered else getattr(score.function, "__code__", None)  # a lambda has no name of its own
    return _without_addresses(score) + (f" {code.co_code.hex()} {code.co_consts}" if code else "")


def _described(rows: list[Row]) -> dict[str, str]:
    return {row.name: f"{_without_addresses(_config(row.loss))}{' balanced' * row.balanced}" for row in rows}


def _config(loss: keras.losses.Loss) -> Any:
    try:
        return loss.get_config()
    except (NotImplementedError, TypeError, ValueError):  # not made to be saved, such as a score that is a lambda
        return loss


def _without_addresses(value: Any) -> str:
    """The text of a value; the address of a function is another one when a comparison resumes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


class _Progress:
    """Says what was done and what remains."""

    def __init__(self, plan: list[Any], records: Records, verbose: bool) -> None:
        self._total, self._verbose, self._seconds = len(plan), verbose, 0.0
        self._before = self._number = sum(records.load(row.name, seed) is not None for row, seed in plan)
        if verbose and self._before:
            print(f"{self._before} of {self._total} runs were done before.", file=sys.stderr)

    def done(self, run: Run, task: Task, seconds: float) -> None:
        self._number, self._seconds = self._number + 1, self._seconds + seconds
        left = (self._total - self._number) * self._seconds / (self._number - self._before)
        value = task.value(run.validation, run.decision)
        if self._verbose:
            print(
                f"{self._number} of {self._total}: {run.row}, seed {run.seed}: {task.score.name} {value:.3f} on "
                f"validation data, {seconds:.0f} s{f'; about {_minutes(left)} left' if left else ''}",
                file=sys.stderr,
            )

    def failed(self, row: str, seed: int, runs: int) -> None:
        """Says which loss is left out, with how many runs that are not done then."""
        self._total -= runs
        if self._verbose:
            print(f"{row} is left out: seed {seed} ended in NaN.", file=sys.stderr)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
