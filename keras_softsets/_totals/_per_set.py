"""Each sample (image, sequence) as a separate set: a set is scored by itself, and the scores are averaged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from keras import ops

from keras_softsets._backend import Tensor, as_graph, wide, without_nan_gradient
from keras_softsets._checks import Average, ZeroDivision, check_costs
from keras_softsets._totals._cells import (
    Cells,
    importance,
    mean,
    scored,
    sum_cells_of_sets,
    sum_counts,
    value_of_matrix,
)
from keras_softsets.matrices import ConfusionMatrix, MulticlassMatrix
from keras_softsets.operating import ranked_sets
from keras_softsets.samples import Samples
from keras_softsets.scores import Score


@dataclasses.dataclass(frozen=True, eq=False)
class PerSet(Cells):
    """Sums over sets of their scores, which are therefore needed beforehand.

    Attributes:
        scores: The scores.
        every_threshold: Whether they are areas through every distinct threshold of a set.
    """

    scores: tuple[Score, ...] = ()
    every_threshold: bool = False

    def sum(self, samples: Samples) -> Tensor:
        """The weighted sum of each score over sets, and the sum of the weights, (scores, 2, values)."""
        weight = ops.cast(samples.importance, wide())
        samples = samples._replace(prediction=without_nan_gradient(samples.prediction))
        return ops.stack([_weighted(*found, weight) for found in self.values_of_each(samples)])

    def value(self, score: Score, totals: Tensor) -> Tensor:
        """The mean over sets."""
        total, weight = ops.unstack(totals[self.scores.index(score)], 2)
        return total / ops.where(ops.equal(weight, 0), 1.0, weight)

    def values_of_each(self, samples: Samples) -> list[tuple[Tensor, Tensor]]:
        """Each score of each set, and whether it is defined."""
        kinds = {score.of for score in self.scores}
        cells: Any = self._cells(samples) if "cells" in kinds else None
        counts: Any = sum_counts(samples, self.decision, self.heaviside) if "classes" in kinds else None
        return [
            values_of_sets(score, cells, self.average, self.zero_division)
            if score.of == "cells"
            else values_of_matrices(score, counts, self.zero_division)
            for score in self.scores
        ]

    def _cells(self, samples: Samples) -> ConfusionMatrix:
        if self.every_threshold and 0 not in samples.prediction.shape:
            pooled = samples.pooled() if self.average == "micro" else samples
            return ranked_sets(pooled).carrying(rising=True)
        cells = sum_cells_of_sets(samples, self.decision, self.heaviside)
        return cells.carrying(rising=self.decision.rising)

    def _key(self) -> Any:
        scored_as = (self.average, self.zero_division, self.every_threshold, *map(repr, self.scores))
        return (*super()._key(), *scored_as)


def _weighted(values: Tensor, defined: Tensor, weight: Tensor) -> Tensor:
    weight = defined * (weight[:, None] if len(values.shape) == 2 else weight)
    return ops.stack([ops.sum(weight * values, 0), ops.sum(weight, 0)])


def values_of_sets(
    score: Score, cells: ConfusionMatrix, average: Average, zero_division: ZeroDivision
) -> tuple[Tensor, Tensor]:
    """Scores each of several sets, from cells of shape (thresholds, sets, classes).

    Returns:
        The values of the sets, (sets,) or, for `average=None`, (sets, classes), and in the same shape whether each is
        defined, as 0 and 1.
    """
    if average == "micro":
        cells = cells.map(lambda cell: ops.sum(cell, 2, keepdims=True))
    thresholds, *sets = ops.shape(cells.tp)
    flat = cells.map(lambda cell: ops.reshape(cell, (thresholds, sets[0] * sets[1])))  # scores take two axes
    values, defined = (None if x is None else ops.reshape(x, sets) for x in scored(score, flat, zero_division))
    if average is not None:
        values, defined = mean(values, [defined, importance(cells, average)], axis=1)
    return values, ops.ones_like(values) if defined is None else defined


def values_of_matrices(score: Score, counts: Tensor, zero_division: ZeroDivision) -> tuple[Tensor, Tensor]:
    """Scores each of several c x c matrices, (sets, classes, classes), like `values_of_sets`."""
    if "costs" in score.parameters:  # inside the map, the error would come with the map's source code
        check_costs("costs", score.parameters["costs"], counts.shape[-1])
    both = ops.vectorized_map(lambda c: ops.stack(value_of_matrix(score, MulticlassMatrix(c), zero_division)), counts)
    return both[:, 0], both[:, 1]


_GRAPHS: dict[Any, Callable[[Tensor], tuple[Tensor, Tensor]]] = {}


def graph_of_matrices(
    score: Score, zero_division: ZeroDivision, classes: int
) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    """Returns `values_of_matrices` as a graph, which scores of this package keep: tracing takes longer than running.

    A user's function is traced anew, because what it does may depend on more than its parameters.
    """
    graph = as_graph(lambda counts: values_of_matrices(score, counts, zero_division))
    if not score.registered or not score.function.__module__.startswith("keras_softsets."):
        return graph
    if len(_GRAPHS) >= 64:  # as with a new matrix of costs in each call
        _GRAPHS.clear()
    return _GRAPHS.setdefault((score.function, repr(score.parameters), zero_division, classes), graph)
