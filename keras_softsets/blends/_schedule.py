"""Moves the weights of a blend from epoch to epoch, for example from cross-entropy to the score."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import keras

from keras_softsets._checks import check_choice, check_whole_number
from keras_softsets.blends._blend import BlendedLoss
from keras_softsets.blends._checks import check_weights

_SHAPES: dict[str, Callable[[float], float]] = {
    "linear": lambda share: share,
    "cosine": lambda share: (1 - math.cos(math.pi * share)) / 2,
}


class BlendSchedule(keras.callbacks.Callback):
    """Moves the weights of a `BlendedLoss` from `start` to `end`.

    Formula: in epoch e, counted from 0, `weights = start + (end - start) * shape(t)`, where
    `t = min(max(e - warmup, 0) / epochs, 1)`: `start` up to and including epoch `warmup`, `end` from epoch
    `warmup + epochs` on.

    The weights depend on the epoch alone, so a run that `keras.callbacks.BackupAndRestore` resumes continues with the
    right ones, and nothing has to be saved. They appear in the logs as `<key>_weight`.

    While the weights move, `loss` and `val_loss` of different epochs cannot be compared. Monitor a metric instead, such
    as a part of the blend: see `BlendedLoss.metrics`.

    Args:
        blend: The loss. For a loaded model, this is `model.loss`.
        start: Weights of all parts in the first epoch.
        end: Weights of all parts at the end.
        epochs: Number of epochs over which the weights move, at least 1.
        shape: `"linear"`, or `"cosine"`, which begins and ends slowly. Defaults to `"linear"`.
        warmup: Number of epochs before the weights begin to move. Defaults to `0`.

    Examples:
        >>> from keras_softsets import BlendedLoss, SoftF1
        >>> blend = BlendedLoss({"f1": SoftF1(), "bce": keras.losses.BinaryCrossentropy()})
        >>> schedule = BlendSchedule(blend, start={"f1": 0, "bce": 1}, end={"f1": 1, "bce": 0.5}, epochs=4)
        >>> [schedule.weights(epoch) for epoch in (0, 2, 9)]
        [{'f1': 0.0, 'bce': 1.0}, {'f1': 0.5, 'bce': 0.75}, {'f1': 1.0, 'bce': 0.5}]
    """

    def __init__(
        self,
        blend: BlendedLoss,
        start: Mapping[str, float],
        end: Mapping[str, float],
        epochs: int,
        shape: str = "linear",
        warmup: int = 0,
    ) -> None:
        super().__init__()
        if not isinstance(blend, BlendedLoss):
            raise ValueError(f"`blend` must be a BlendedLoss. Received: blend={blend!r}")
        self.blend = blend
        self.start = check_weights(start, blend.parts, "start")
        self.end = check_weights(end, blend.parts, "end")
        self.epochs = check_whole_number("epochs", epochs, 1)
        self.shape = check_choice("shape", shape, tuple(_SHAPES))
        self.warmup = check_whole_number("warmup", warmup, 0)

    def weights(self, epoch: int) -> dict[str, float]:
        """Returns the weights of an epoch, counted from 0."""
        share = _SHAPES[self.shape](min(max(epoch - self.warmup, 0) / self.epochs, 1.0))
        return {key: (1 - share) * self.start[key] + share * self.end[key] for key in self.start}

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Sets the weights of the epoch."""
        self.blend.set_weights(self.weights(epoch))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Adds the weights to the logs."""
        if logs is not None:
            logs.update({f"{key}_weight": weight for key, weight in self.weights(epoch).items()})
