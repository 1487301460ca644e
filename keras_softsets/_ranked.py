"""The hard cells at every threshold that decides differently, found by sorting once."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._samples import Samples, counted
from keras_softsets.confusion import ConfusionMatrix


class Ranked(NamedTuple):
    """One row for each sample, in order of falling probability, class by class: (samples, classes).

    Attributes:
        probability: The sorted probabilities.
        last: Whether the row is the last of equal probabilities.
        cells: Cells in float64 when everything from this probability up is positive; rows with equal probabilities
            have equal cells.
    """

    probability: Tensor
    last: Tensor
    cells: ConfusionMatrix


def ranked(samples: Samples) -> Ranked:
    """Sorts each class by its probabilities and adds up the weights above and below."""
    y, p, w = counted(samples.label, samples.probability, samples.weight)
    y, p, w = (ops.cast(x, "float64") for x in (y, p, ops.ones_like(p) if w is None else w))
    order = ops.argsort(-p, axis=0)
    p, positive, negative = (ops.take_along_axis(x, order, 0) for x in (p, w * y, w * (1 - y)))
    last = ops.concatenate([ops.not_equal(p[:-1], p[1:]), ops.ones_like(p[:1], "bool")], 0)
    above, below = [_from_top(x) for x in (positive, negative)], [_after(x) for x in (positive, negative)]
    end, nan = _end_of_ties(last), 0 * ops.sum(y + p + w, 0)  # NaN in a batch is NaN in all of its cells
    # Four sums, rather than two sums and two differences: a small cell keeps all its digits.
    cells = ConfusionMatrix(*above, *below).map(lambda cell: ops.take_along_axis(cell, end, 0) + nan)
    return Ranked(p, last, cells)


def _from_top(x: Tensor) -> Tensor:
    return ops.cumsum(x, 0)


def _after(x: Tensor) -> Tensor:
    from_bottom = ops.flip(ops.cumsum(ops.flip(x, 0), 0), 0)
    return ops.concatenate([from_bottom[1:], ops.zeros_like(x[:1])], 0)


def _end_of_ties(last: Tensor) -> Tensor:
    """For each row, the last row with the same probability."""
    count = ops.shape(last)[0]
    ends = ops.sort(ops.where(last, ops.cast(ops.arange(count)[:, None], "int32"), count), axis=0)  # of the groups
    ones = ops.cast(last, "int32")
    return ops.take_along_axis(ends, ops.cumsum(ones, 0) - ones, 0)  # the number of groups before a row
