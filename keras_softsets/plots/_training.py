"""The history of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_softsets.plots._figures import Figure, line_style, new_figure


def training(history: Any, names: Sequence[str] | None = None) -> Figure:
    """Draws the history that `fit` returned: one panel for each quantity, with training and validation together.

    Args:
        history: A `keras.callbacks.History`, or its dict.
        names: The quantities, without `val_`. Defaults to `None`: all that are single numbers.

    Examples:
        >>> figure = training({"loss": [0.5, 0.3], "val_loss": [0.6, 0.4], "f1": [0.2, 0.7]})
        >>> [axis.get_ylabel() for axis in figure.axes]
        ['loss', 'f1']
    """
    logs = getattr(history, "history", history)
    single = {name: values for name, values in logs.items() if np.ndim(values) == 1}
    names = names or [name for name in single if not name.startswith("val_")]
    missing = [name for name in names if name not in single]
    if missing or not names:
        raise ValueError(f"`names` must be among {', '.join(single) or 'the logged quantities'}. Received: {missing}")
    figure, axes = new_figure(1, len(names), width=4.2, height=3.2)
    for axis, name in zip(axes[0], names):
        for number, key in enumerate((name, f"val_{name}")):
            if key in single:
                label = "validation" if number else "training"
                every = max(len(single[name]) // max(len(single[key]), 1), 1)  # validation_freq
                axis.plot(every * np.arange(1, len(single[key]) + 1), single[key], label=label, **line_style(number))
        axis.set(xlabel="epoch", ylabel=name)
        axis.legend(frameon=False)
    return figure
