"""The value that a callback monitors: its number in the logs of `fit`, and whether lower or higher is better."""

from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np


def monitored_value(monitor: str, epoch: int, logs: Mapping[str, Any]) -> float:
    """Returns the monitor's value in the logs of an epoch (from 0)."""
    if monitor not in logs:
        raise ValueError(
            f"`monitor` must be in the logs of each epoch (`val_...` needs validation data and validation_freq=1), "
            f"but epoch {epoch + 1} has only {sorted(logs)}. Received: monitor={monitor!r}"
        )
    value = np.asarray(logs[monitor])
    if value.size != 1:
        raise ValueError(
            f"`monitor` must be a single number, but epoch {epoch + 1} has one of shape {value.shape}; use a "
            f"metric with an average. Received: monitor={monitor!r}"
        )
    return float(value.item())


def monitored_sign(monitor: str, mode: str, model: keras.Model) -> float:
    """Returns +1 if lower is better and -1 if higher is, by the rules of Keras's callbacks."""
    if mode != "auto":
        return 1.0 if mode == "min" else -1.0
    name = monitor.removeprefix("val_")
    if name == "loss" or name.endswith("_loss"):
        return 1.0
    for metric in _metrics(model):
        # Keras 3 has no public name for it. Without the attribute, the user must say, as in Keras's own EarlyStopping.
        direction = getattr(metric, "_direction", None)
        if metric.name == name and direction in ("up", "down"):
            return 1.0 if direction == "down" else -1.0
    raise ValueError(
        f"`mode` must be 'min' or 'max' for a monitor that is not a loss and does not know its direction. "
        f"Received: mode='auto', monitor={monitor!r}"
    )


def _metrics(model: keras.Model) -> Iterator[Any]:
    for metric in model.metrics:
        yield metric
        yield from getattr(metric, "metrics", ())  # Keras 3 keeps the metrics of `compile` in a container
