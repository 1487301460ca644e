"""Early stopping on a window of epochs, for monitors that jump from epoch to epoch."""

import json
import math
import numbers
import os
import pathlib
import statistics
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import IO, Any

import keras
import numpy as np

from keras_softsets._checks import check_choice, check_number

_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    # Rational arithmetic, rounded once: with a float sum, a flat history would "improve" by rounding errors.
    "mean": statistics.mean,
    "median": statistics.median,
    "min": min,
}


class WindowedEarlyStopping(keras.callbacks.Callback):
    r"""Stops training when a whole window of epochs brought no improvement.

    Scores of a validation set are noisy, so that one lucky epoch can hide a standstill, and one unlucky epoch a
    progress. This callback compares windows instead. With the monitor's values \(v(0), v(1), \dots\) and `mode="min"`,

    \[m(e) = \operatorname{statistic}\bigl(v(\max(0, e - \mathtt{window} + 1)), \dots, v(e)\bigr),\]

    and training stops at the first \(e \ge \mathtt{window}\) at which
    \(\min_{j \le e - \mathtt{window}} m(j) - m(e) > \mathtt{min\_delta}\) does not hold; `mode="max"` mirrors it all.
    With `statistic="min"` and `min_delta=0` this is `keras.callbacks.EarlyStopping(patience=window)`.

    `val_loss` is Keras's mean over validation *batches*, which for a loss on a confusion matrix is not its value on the
    validation *set*. A metric accumulates the cells and is exact, so monitor the metric that has the loss's own
    Heaviside, or validate in one batch (`fit(..., validation_batch_size=len(x_val))`), which makes `val_loss` exact:

    ```python
    soft_f1 = keras_softsets.metrics.F1(heaviside="linear", name="soft_f1")
    model.compile(loss=keras_softsets.SoftF1(heaviside="linear"), metrics=[soft_f1])
    stopping = keras_softsets.WindowedEarlyStopping(monitor="val_soft_f1", mode="max")
    ```

    To survive a kill, give it a `backup_dir` and list it *before* `keras.callbacks.BackupAndRestore`, which brings back
    the model and the epoch. In that order a kill between the two costs nothing; in the other it would lose one
    epoch's value, which is reported when training starts again. Give both the same folder: when training ends,
    `BackupAndRestore` removes it with all that is in it, and a kill before that loses nothing either. In a folder of
    its own the state is removed as soon as this callback has restored the best weights. Each file is written in one
    step; `BackupAndRestore` (Keras 3.15) writes its own in place and needs `double_checkpoint=True` to survive a kill
    in that moment.

    Args:
        monitor: Name of the value to watch, as in the logs of `fit`. Defaults to `"val_loss"`.
        window: Number of epochs in a window, at least 1. Defaults to `100`, the paper's.
        statistic: `"mean"`, `"median"` or `"min"` (the best of the window: the largest value for `mode="max"`).
            Defaults to `"mean"`.
        min_delta: An improvement must be larger than this. Defaults to `0.0`.
        mode: `"min"`, `"max"`, or `"auto"`: losses fall, and metrics know their direction; for any other monitor
            `"auto"` is refused. Defaults to `"auto"`.
        restore_best_weights: Whether training ends with the weights of the best single epoch, stopped early or not;
            among equals the first. Defaults to `True`.
        start_from_epoch: Epochs before this one are ignored, and counting begins with it. Defaults to `0`.
        backup_dir: Local folder for the callback's state, written after each epoch. Defaults to `None`: no backup.
        verbose: `1` prints what the callback does. Defaults to `0`.

    Attributes:
        stopped_epoch: Epoch (from 0) at which training was stopped; 0 if it was not.
        best_epoch: Epoch (from 0) with the best value of the monitor.
        best: The monitor's value there; `None` before the first.

    Raises:
        ValueError: For a bad argument; and in `fit` when the monitor is missing, NaN (after restoring the best
            weights) or not a single number, or when `backup_dir` does not belong to the epoch at which `fit` starts.

    Examples:
        >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="ones")])
        >>> model.compile(optimizer=keras.optimizers.SGD(0.0), loss="mse")  # learns nothing
        >>> stopping = WindowedEarlyStopping(monitor="loss", window=3)
        >>> history = model.fit(np.ones((4, 1)), np.zeros((4, 1)), epochs=50, callbacks=[stopping], verbose=0)
        >>> history.history["loss"], stopping.stopped_epoch, stopping.best_epoch, stopping.best
        ([1.0, 1.0, 1.0, 1.0], 3, 0, 1.0)

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367): training ends "after the validation loss stopped
        decreasing over a sliding window of 100 epochs".
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        window: int = 100,
        statistic: str = "mean",
        min_delta: float = 0.0,
        mode: str = "auto",
        restore_best_weights: bool = True,
        start_from_epoch: int = 0,
        backup_dir: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__()
        self.monitor = monitor
        self.window = _whole_number("window", window, at_least=1)
        self.statistic = check_choice("statistic", statistic, tuple(_STATISTICS))
        self.min_delta = check_number("min_delta", min_delta, 0.0, math.inf)
        self.mode = check_choice("mode", mode, ("auto", "min", "max"))
        self.restore_best_weights = restore_best_weights
        self.start_from_epoch = _whole_number("start_from_epoch", start_from_epoch, at_least=0)
        self.verbose = verbose
        self._states = _States(backup_dir)
        self._reset()

    def _reset(self) -> None:
        self.stopped_epoch = 0
        self.best_epoch = 0
        self.best: float | None = None
        self.best_weights: list[np.ndarray] | None = None
        self._values: list[float] = []
        self._windowed: list[float] = []  # m(0), m(1), ... with the sign that makes lower better
        self._sign = 0.0  # +1 where lower is better, -1 where higher is; known at the end of the first epoch
        self._begun = False
        self._last_weights: list[np.ndarray] | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Forgets the previous training, so that an instance can be used again."""
        self._reset()

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Takes up the saved state: only the first epoch tells where `BackupAndRestore` has put the training."""
        if not self._begun:
            if self._states.epochs():
                self._load(epoch)
            else:
                self._save(epoch)  # from now on, a state that is missing has been lost
            if self.stopped_epoch:
                # Killed after the last epoch but before the end of `fit`. Keras 3 cannot end before it begins: it
                # runs one more batch, whose effect `on_train_end` takes back.
                self._last_weights = self.model.get_weights()
                self.model.stop_training = True
        self._begun = True

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Records the epoch's value and stops the training if the window brought nothing."""
        value = self._monitored(epoch, logs or {})
        improved = False
        if epoch >= self.start_from_epoch and not self.stopped_epoch:
            self._raise_if_nan(epoch, value)
            improved = self._record(epoch, value)
            if self._window_brought_nothing():
                self.stopped_epoch = epoch
                self.model.stop_training = True
        self._save(epoch + 1, improved)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Restores the best weights and removes the backup."""
        last = (self.params or {}).get("epochs")
        if not self._begun and last in self._states.epochs():  # killed after the last of all epochs
            self._load(last)
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping, {self.window} epochs brought no improvement.")
        self._restore()
        if not self._states.shared():
            self._states.delete()

    def _monitored(self, epoch: int, logs: dict[str, Any]) -> float:
        if self.monitor not in logs:
            raise ValueError(
                f"`monitor` must be in the logs of each epoch (`val_...` needs validation data and validation_freq=1), "
                f"but epoch {epoch + 1} has only {sorted(logs)}. Received: monitor={self.monitor!r}"
            )
        value = np.asarray(logs[self.monitor])
        if value.size != 1:
            raise ValueError(
                f"`monitor` must be a single number, but epoch {epoch + 1} has one of shape {value.shape}; use a "
                f"metric with an average. Received: monitor={self.monitor!r}"
            )
        self._sign = self._sign or self._direction()
        return float(value.item())

    def _direction(self) -> float:
        """Returns +1 where lower is better and -1 where higher is, as Keras's callbacks find it."""
        if self.mode != "auto":
            return 1.0 if self.mode == "min" else -1.0
        name = self.monitor.removeprefix("val_")
        if name == "loss" or name.endswith("_loss"):
            return 1.0
        for metric in self._metrics():
            # Keras 3 has no public name for it. Without the attribute we ask, as Keras's own EarlyStopping does.
            direction = getattr(metric, "_direction", None)
            if metric.name == name and direction in ("up", "down"):
                return 1.0 if direction == "down" else -1.0
        raise ValueError(
            f"`mode` must be 'min' or 'max' for a monitor that is no loss and does not know its direction. "
            f"Received: mode='auto', monitor={self.monitor!r}"
        )

    def _metrics(self) -> Iterator[Any]:
        for metric in self.model.metrics:
            yield metric
            yield from getattr(metric, "metrics", ())  # Keras 3 keeps those of `compile` in a container

    def _raise_if_nan(self, epoch: int, value: float) -> None:
        if math.isnan(value):
            self._restore()
            restored = f"; weights of epoch {self.best_epoch + 1} restored" if self.best_weights else ""
            raise ValueError(
                f"`monitor` must be a number, but is NaN at epoch {epoch + 1}{restored}. "
                f"Received: monitor={self.monitor!r}"
            )

    def _record(self, epoch: int, value: float) -> bool:
        """Adds a value to the history and returns whether it is the best so far."""
        self._append(value)
        improved = self.best is None or self._sign * value < self._sign * self.best
        if improved:
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
        return improved

    def _append(self, value: float) -> None:
        self._values.append(value)
        window = [self._sign * v for v in self._values[-self.window :]]
        self._windowed.append(_STATISTICS[self.statistic](window))

    def _window_brought_nothing(self) -> bool:
        earlier = self._windowed[: -self.window]
        return bool(earlier) and not min(earlier) - self._windowed[-1] > self.min_delta

    def _restore(self) -> None:
        if not self.restore_best_weights:
            if self._last_weights is not None:
                self.model.set_weights(self._last_weights)
        elif self.best_weights is not None:
            if self.verbose:
                print(f"Restoring the weights of the best epoch: {self.best_epoch + 1}.")
            self.model.set_weights(self.best_weights)

    def _save(self, next_epoch: int, improved: bool = False) -> None:
        state = {
            "monitor": self.monitor,
            "sign": self._sign,
            "values": self._values,
            "best": self.best,
            "best_epoch": self.best_epoch,
            "stopped_epoch": self.stopped_epoch,
        }
        self._states.save(next_epoch, state, self.best_weights if improved else None)

    def _load(self, next_epoch: int) -> None:
        state = self._states.load(next_epoch)
        if state["monitor"] != self.monitor:
            raise ValueError(
                f"`backup_dir` must hold the state of the same monitor, but holds {state['monitor']!r}. "
                f"Received: monitor={self.monitor!r}"
            )
        self._sign = state["sign"]
        for value in state["values"]:
            self._append(value)
        self.best, self.best_epoch, self.stopped_epoch = state["best"], state["best_epoch"], state["stopped_epoch"]
        if self.restore_best_weights and self.best is not None:
            self.best_weights = self._states.load_weights(self.best_epoch, like=self.model.get_weights())


class _States:
    """The callback's files: the states before the last two epochs, and the best weights that these speak of.

    Two, because a kill can come between this callback's write and `BackupAndRestore`'s; training then goes on one epoch
    earlier. Every file appears under its name by a rename, so that a kill leaves the old one or the new one.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        if folder is not None and (not os.fspath(folder) or "://" in os.fspath(folder)):
            raise ValueError(f"`backup_dir` must be a local folder. Received: backup_dir={os.fspath(folder)!r}")
        self._folder = None if folder is None else pathlib.Path(folder)

    def _paths(self, epoch: int | str, kind: str) -> list[pathlib.Path]:
        return [] if self._folder is None else list(self._folder.glob(_name(epoch, kind)))

    def epochs(self) -> list[int]:
        """Returns the epochs before which a state was saved."""
        return sorted(int(path.suffixes[0][1:]) for path in self._paths("*", "json"))

    def shared(self) -> bool:
        """Returns whether `BackupAndRestore` has its backup in the folder, which it will remove."""
        return self._folder is not None and (self._folder / "training_metadata.json").exists()

    def save(self, epoch: int, state: dict[str, Any], weights: Sequence[np.ndarray] | None) -> None:
        """Saves the state before an epoch, and the weights if they are new; drops what is no longer needed."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        if weights is not None:  # first the weights: a state must never speak of weights that are not there
            _write(self._folder / _name(state["best_epoch"], "npz"), lambda file: np.savez(file, *weights))
        _write(self._folder / _name(epoch, "json"), lambda file: file.write(json.dumps(state).encode()))
        kept = [e for e in self.epochs() if e in (epoch - 1, epoch)]
        used = {_name(e, "json") for e in kept} | {_name(self.load(e)["best_epoch"], "npz") for e in kept}
        self.delete(keep=used)

    def load(self, epoch: int) -> dict[str, Any]:
        """Returns the state before an epoch."""
        for path in self._paths(epoch, "json"):
            return json.loads(path.read_text())
        raise ValueError(
            f"`backup_dir` must hold the state before epoch {epoch + 1}, where training starts, but holds those before "
            f"epochs {[e + 1 for e in self.epochs()]}: list the callback before `BackupAndRestore`, or remove what an "
            f"earlier training left. Received: backup_dir={str(self._folder)!r}"
        )

    def load_weights(self, epoch: int, like: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the weights of an epoch; `like` has their dtypes, because NumPy's files do not know bfloat16."""
        with np.load(pathlib.Path(self._folder or "") / _name(epoch, "npz")) as file:
            return [file[f"arr_{i}"].view(weight.dtype) for i, weight in enumerate(like)]

    def delete(self, keep: Collection[str] = ()) -> None:
        """Removes the callback's own files, and the folder if nothing is left in it."""
        for path in self._paths("*", "*"):
            if path.name not in keep:
                path.unlink(missing_ok=True)
        if self._folder is not None and self._folder.is_dir() and not any(self._folder.iterdir()):
            self._folder.rmdir()


def _name(epoch: int | str, kind: str) -> str:
    return f"windowed_early_stopping.{epoch}.{kind}"


def _write(path: pathlib.Path, write: Callable[[IO[bytes]], object]) -> None:
    temporary = path.with_suffix(path.suffix + ".tmp")
    with temporary.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())  # the machine may be taken away, not only the process
    os.replace(temporary, path)


def _whole_number(name: str, value: int, at_least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise ValueError(f"`{name}` must be a whole number of at least {at_least}. Received: {name}={value!r}")
    return int(value)
