"""Early stopping on a window of epochs, for monitors that fluctuate from epoch to epoch."""

import math
import os
import statistics
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_softsets._checks import check_choice, check_flag, check_number, check_whole_number
from keras_softsets.callbacks._journal import Journal, monitored_sign, monitored_value

_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    # Rational arithmetic, rounded once: with a float sum, a flat history would "improve" by rounding errors.
    "mean": statistics.mean,
    "median": statistics.median,
    "min": min,
}


def _is_number(value: Any) -> bool:
    return type(value) is float and not math.isnan(value)


def _is_epoch(value: Any) -> bool:
    return type(value) is int and value >= 0


_FILES = "windowed_early_stopping"
_STATE: dict[str, Callable[[Any], bool]] = {  # the entries of a file, and which values are valid
    "monitor": lambda value: isinstance(value, str),
    "sign": lambda value: value in (-1.0, 0.0, 1.0),
    "values": lambda value: isinstance(value, list) and all(map(_is_number, value)),
    "best": lambda value: value is None or _is_number(value),
    "best_epoch": _is_epoch,
    "stopped_epoch": _is_epoch,
}


class WindowedEarlyStopping(keras.callbacks.Callback):
    """Stops training when a whole window of epochs has brought no improvement.

    Scores of a validation set are noisy: one lucky epoch can hide stagnation, and one unlucky epoch can hide progress.
    This callback compares windows of epochs instead.

    Formula: with v(e) the monitor's value in epoch e, `m(e) = statistic(v(max(0, e - window + 1)), ..., v(e))`. With
    `mode="min"`, training stops at the first epoch `e >= window` at which
    `min(m(0), ..., m(e - window)) - m(e) > min_delta` does not hold; `mode="max"` is the mirror image. With
    `statistic="min"` and `min_delta=0` this is `keras.callbacks.EarlyStopping(patience=window)`.

    `val_loss` is Keras's mean over validation *batches*, which for a set loss is not its value on the validation *set*.
    A metric accumulates the cells and is exact. Monitor the metric with the loss's own Heaviside, or validate in one
    batch (`fit(..., validation_batch_size=len(x_val))`), which makes `val_loss` exact:

    ```python
    soft_f1 = keras_softsets.metrics.F1(heaviside="linear", name="soft_f1")
    model.compile(loss=keras_softsets.SoftF1(heaviside="linear"), metrics=[soft_f1])
    stopping = keras_softsets.WindowedEarlyStopping(monitor="val_soft_f1", mode="max")
    ```

    To make a killed training run resumable, give the callback a `backup_dir` and list it *before*
    `keras.callbacks.BackupAndRestore`, which restores the model and the epoch:

    * In that order, being killed between the two callbacks costs nothing; in the reverse order, one epoch's value would
      be lost, which is reported when training starts again.
    * Give both the same folder. When training ends, `BackupAndRestore` removes it with all its contents; being killed
      before that loses nothing. In a separate folder, the state is removed as soon as this callback has restored the
      best weights.
    * Callbacks with different monitors can share a folder.
    * Each file is replaced in a single step. `BackupAndRestore` (Keras 3.15) writes its own files in place and needs
      `double_checkpoint=True` to survive being killed while it does.

    Args:
        monitor: Name of the value to watch, as in the logs of `fit`. Defaults to `"val_loss"`.
        window: Number of epochs in a window, at least 1. Defaults to `100`, the paper's.
        statistic: `"mean"`, `"median"` or `"min"` (the best of the window; for `mode="max"`, the largest value).
            Defaults to `"mean"`.
        min_delta: An improvement must be larger than this. Defaults to `0.0`.
        mode: `"min"`, `"max"` or `"auto"`: losses should fall, and metrics know their own direction; any other monitor
            needs `"min"` or `"max"`. Defaults to `"auto"`.
        restore_best_weights: Whether training ends with the weights of the best single epoch (the first, if several are
            equally good), whether or not it was stopped early. Defaults to `True`.
        start_from_epoch: Epochs before this one are ignored, and counting starts with it. Defaults to `0`.
        backup_dir: Local folder for the callback's state, written after each epoch. Defaults to `None`: no backup.
        verbose: `1` prints what the callback does. Defaults to `0`.

    Attributes:
        stopped_epoch: Epoch (from 0) at which training was stopped; 0 if it was not.
        best_epoch: Epoch (from 0) with the best value of the monitor.
        best: The monitor's value there; `None` before the first.

    Raises:
        ValueError: If an argument is invalid; in `fit`, if the monitor is missing, NaN (after restoring the best
            weights) or not a single number, or if the content of `backup_dir` is damaged, belongs to another model or
            to another epoch than the one at which `fit` starts.

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
        if not isinstance(monitor, str) or not monitor:
            raise ValueError(f"`monitor` must be a name in the logs of `fit`. Received: monitor={monitor!r}")
        self.monitor = monitor
        self.window = check_whole_number("window", window, 1)
        self.statistic = check_choice("statistic", statistic, tuple(_STATISTICS))
        self.min_delta = check_number("min_delta", min_delta, 0.0)
        self.mode = check_choice("mode", mode, ("auto", "min", "max"))
        self.restore_best_weights = check_flag("restore_best_weights", restore_best_weights)
        self.start_from_epoch = check_whole_number("start_from_epoch", start_from_epoch, 0)
        self.verbose = verbose
        self._journal = Journal(backup_dir, _FILES, monitor, entries=_STATE, arrays_entry="best_epoch")
        self._journal_of_0_1 = Journal(backup_dir, _FILES, entries=_STATE, arrays_entry="best_epoch")
        self._reset()

    def _reset(self) -> None:
        self.stopped_epoch = 0
        self.best_epoch = 0
        self.best: float | None = None
        self.best_weights: list[np.ndarray] | None = None
        self._values: list[float] = []
        self._windowed: list[float] = []  # m(0), m(1), ... with the sign that makes lower better
        self._sign = 0.0  # +1 if lower is better, -1 if higher is; known at the end of the first epoch
        self._begun = False
        self._resumed = False
        self._over = False  # whether training had already ended when the process was killed
        self._last_weights: list[np.ndarray] | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Forgets the previous training run, so that the instance can be reused."""
        self._reset()
        self._journal.take_over(self._journal_of_0_1, lambda state: state["monitor"] == self.monitor)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Loads the saved state: only the first epoch shows where `BackupAndRestore` resumes the training."""
        if not self._begun:
            self._begun = True
            if self._journal.epochs():
                self._resume(epoch)
            else:
                self._start(epoch)

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Detects that this or another callback had stopped the training before it was killed."""
        if self._resumed and self.model.stop_training:
            self._over = True

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Records the epoch's value and stops the training if the window brought no improvement."""
        value = monitored_value(self.monitor, epoch, logs or {})
        self._sign = self._sign or monitored_sign(self.monitor, self.mode, self.model)
        improved = False
        if epoch >= self.start_from_epoch and not (self._over or self.stopped_epoch):
            self._raise_if_nan(epoch, value)
            improved = self._record(epoch, value)
            if self._window_brought_nothing():
                self.stopped_epoch = epoch
                self.model.stop_training = True
        self._save(epoch + 1, improved)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Restores the best weights and removes the backup."""
        last = (self.params or {}).get("epochs")
        if not self._begun and last in self._journal.epochs():  # killed after the very last epoch
            self._load(last)
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping, {self.window} epochs brought no improvement.")
        self._restore()
        if not self._journal.shared():
            self._journal.delete()

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
        self._journal.save(next_epoch, state, self.best_weights if improved else None)

    def _start(self, epoch: int) -> None:
        if self._journal.epochs_of_others() - {epoch}:  # those before this epoch have just started
            raise ValueError(
                "`backup_dir` must hold a state of the same monitor, but holds only those of others: resume with the "
                "monitors that the training began with, or use another folder. "
                f"Received: monitor={self.monitor!r}, backup_dir={self._journal.shown}"
            )
        self._save(epoch)  # from now on, a missing state means that it was lost

    def _resume(self, epoch: int) -> None:
        self._load(epoch)
        self._resumed = True
        if self.stopped_epoch:
            # Killed after the last epoch but before the end of `fit`. Keras 3 cannot stop before the first batch: it
            # runs one more, whose effect `on_train_end` undoes.
            self._last_weights = self.model.get_weights()
            self.model.stop_training = True

    def _load(self, next_epoch: int) -> None:
        state = self._journal.resume(next_epoch)
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
            self.best_weights = self._journal.arrays(state, like=self.model.get_weights())
