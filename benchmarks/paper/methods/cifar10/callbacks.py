"""Callbacks for `fit`: a clock, and the loss of the whole validation part."""

from __future__ import annotations

import time

import keras
import numpy as np


class StopAtTime(keras.callbacks.Callback):
    """Ends training when the process has used its processor time, even in the middle of an epoch."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self.deadline, self.batches = deadline, 0

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self.batches += 1
        if time.process_time() > self.deadline:
            self.model.stop_training = True


class ValidateWhole(keras.callbacks.Callback):
    """Puts the loss of the whole validation part into the logs: the mean of batch losses is not the loss of a set."""

    def __init__(self, part: tuple[np.ndarray, np.ndarray], loss: keras.losses.Loss) -> None:
        super().__init__()
        self.part, self.loss = part, loss

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        outputs = self.model.predict(self.part[0], batch_size=500, verbose=0)
        logs["whole_val_loss"] = float(self.loss(self.part[1], outputs))
