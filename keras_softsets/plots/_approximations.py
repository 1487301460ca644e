"""Approximations of the step, and their slopes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from keras import ops

from keras_softsets import heaviside as heavisides
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.plots._figures import Figure, as_array, legend_below, line_style, new_figure


def approximations(
    items: Sequence[HeavisideLike] = ("step", "linear", "sigmoid"),
    threshold: float | Sequence[float] = 0.5,
) -> Figure:
    """Draws approximations of the step and their slopes over p, one column for each threshold.

    Args:
        items: Approximations, by name or as values such as `LinearHeaviside(0.2)`. Defaults to the three by name.
        threshold: One or several thresholds. Defaults to `0.5`.

    Examples:
        >>> figure = approximations(["linear", heavisides.SigmoidHeaviside(50)], threshold=[0.1, 0.5])
        >>> len(figure.axes)
        4
    """
    thresholds = np.atleast_1d(threshold)
    figure, axes = new_figure(2, len(thresholds), width=3.4, height=2.6, sharex=True)
    p = np.linspace(0, 1, 2001)
    for column, tau in enumerate(thresholds):
        for number, item in enumerate(items):
            h = heavisides.get(item)
            value = as_array(h(ops.convert_to_tensor(p, "float64"), float(tau)))
            slope = np.gradient(value, p) if h.differentiable else np.zeros_like(p)
            for axis, line in zip(axes[:, column], (value, slope)):
                axis.plot(p, line, label=repr(h), **line_style(number))
        axes[0, column].set(title=f"threshold {tau:g}", ylabel="h(p)" if column == 0 else "")
        axes[1, column].set(xlabel="p", ylabel="slope" if column == 0 else "", ylim=(0, None))
    legend_below(figure, axes[0, 0])
    return figure
