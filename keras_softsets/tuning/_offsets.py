"""Offsets before the argmax that maximise a score on data: class by class, each found exactly by sorting once.

As the offset of class k rises from minus to plus infinity, the samples switch to class k one after the other, each when
the gap between its log p of class k and that of the best other class is closed. There are n + 1 decisions along the
way, and cumulative sums give the score of each.

The scores of the c x c matrix that this package has need only a few sums (`_linear`), so that a sweep of all classes
takes O(n c), besides sorting. For a score of your own, the whole matrix is followed, with c^2 numbers for each of n
decisions: O(n c^3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._totals import graph_of_matrices, values_of_sets
from keras_softsets.decisions import Argmax
from keras_softsets.decisions._decision import TINY
from keras_softsets.evaluation import evaluate
from keras_softsets.matrices import ConfusionMatrix
from keras_softsets.samples import Samples
from keras_softsets.tuning._linear import as_linear, switched
from keras_softsets.tuning._thresholds import checked

_SAME = 1e-12  # the effect of rounding on a logarithm or a score
_CLOSE = 1e-9  # of two ways to the same score
_AT_ONCE = 2**20  # numbers in a block of matrices
_SWEEPS = 100  # a bound that is not reached in practice: two to ten sweeps are enough


class _Path(NamedTuple):
    """The samples in the order in which they switch to a class, the class that each leaves, and the offset at which."""

    order: np.ndarray
    source: np.ndarray
    offset: np.ndarray


def tune_offsets(
    y_true: Any, y_pred: Any, score: scores.Score, sample_weight: Any, average: Any, **options: Any
) -> tuple[Argmax, float]:
    """Returns the argmax with the offsets found, and the score that it reaches; see `tune_threshold`."""
    data = (y_true, y_pred, sample_weight)
    samples = checked(*data, average=average, c_x_c=score.of == "classes", **options)
    label, p, weight = samples[:3]
    settings: Any = {"average": average, "from_logits": samples.logits}

    def value(offsets: np.ndarray) -> float:
        return float(evaluate(label, p, score, weight, threshold=Argmax(offsets=tuple(offsets)), **settings))

    along = _matrices_along(samples, score) if score.of == "classes" else _cells_along(samples, score, average)
    log_p = p.astype("float64") if samples.logits else np.log(np.maximum(p.astype("float64"), TINY))
    none = np.zeros(p.shape[1])
    start = _number(value(none), score)

    def ascended(evaluated: Callable[[np.ndarray], float] | None) -> tuple[np.ndarray, float]:
        return _ascended(lambda path, k: _number(np.concatenate(list(along(path, k))), score), log_p, start, evaluated)

    offsets, best = ascended(None)
    if (reached := value(offsets)) < best - _CLOSE:  # `evaluate` decides a sample otherwise, by rounding
        offsets, reached = ascended(value)
    return Argmax(offsets=tuple(offsets)), reached


def _ascended(
    scored: Callable[[_Path, int], np.ndarray],
    log_p: np.ndarray,
    start: float,
    evaluated: Callable[[np.ndarray], float] | None,
) -> tuple[np.ndarray, float]:
    """Returns offsets that no change of one class improves, and their score.

    Args:
        scored: The score of each decision on the way of a class.
        log_p: Logarithms of probabilities, (samples, classes).
        start: The score without offsets.
        evaluated: What says whether a step is one; `None` to trust the scores on the way.
    """
    offsets, largest, best = np.zeros(log_p.shape[1]), _Largest(log_p), start
    for _ in range(_SWEEPS):
        before = best
        for k in range(len(offsets)):
            path = largest.path(k)
            values = scored(path, k)
            if values.max() <= best + _SAME:
                continue
            tried = offsets.copy()
            tried[k], found = _best_offset(path, values)
            reached = found if evaluated is None else evaluated(tried)
            if reached > best + _SAME:  # never worse than no offsets
                offsets, best = tried, reached
                largest.move(k, tried[k])
        if best == before:
            break
    return offsets, best


class _Largest:
    """The two classes of the largest log p + offset of each sample, kept up to date, so that a path takes O(n).

    Args:
        log_p: Logarithms of probabilities, (samples, classes).
    """

    def __init__(self, log_p: np.ndarray) -> None:
        self._log_p, self._shifted = log_p, log_p.copy()
        self._two = np.empty((2, len(log_p)), "int64")
        self._find(np.arange(len(log_p)))

    def _find(self, rows: np.ndarray) -> None:
        values = self._shifted[rows]
        self._two[0, rows] = first = values.argmax(1)
        values[np.arange(len(rows)), first] = -np.inf
        self._two[1, rows] = values.argmax(1)

    def move(self, k: int, offset: float) -> None:
        """Gives class k another offset."""
        self._shifted[:, k] = self._log_p[:, k] + offset
        second = self._shifted[np.arange(len(self._shifted)), self._two[1]]
        self._find(np.flatnonzero((self._two == k).any(0) | (self._shifted[:, k] >= second)))

    def path(self, k: int) -> _Path:
        """Returns how samples switch to class k."""
        source = np.where(self._two[0] == k, self._two[1], self._two[0])
        offset = self._shifted[np.arange(len(source)), source] - self._log_p[:, k]
        order = np.argsort(offset, kind="stable")
        return _Path(order, source[order], offset[order])


def _best_offset(path: _Path, values: np.ndarray) -> tuple[float, float]:
    """The offset of the best of the n + 1 decisions, halfway between two samples, and its score.

    If several are tied, it is the offset nearest to 0.
    """
    ends = np.concatenate([path.offset[:1] - 2, path.offset, path.offset[-1:] + 2])
    middle = ends[:-1] + np.diff(ends) / 2
    values = np.where(np.diff(ends) > _SAME, values, -np.inf)  # samples that switch together
    best = np.flatnonzero(values >= values.max() - _SAME)
    nearest = best[np.argmin(np.abs(middle[best]))]
    return float(middle[nearest]), float(values[nearest])


Along = Callable[[_Path, int], Iterator[np.ndarray]]


def _cells_along(samples: Samples, score: scores.Score, average: Any) -> Along:
    """The score of each decision on the way, from cells of classes against the rest, in O(n) for each class.

    A sample that switches changes two classes only, the one that it leaves and class k.
    """
    y, w = samples.label.astype("float64"), samples.weight
    sides = w * y, w * (1 - y)  # positives and negatives, (samples, classes)
    if average == "micro":
        return _pooled_along(sides, score)
    importance = _importance(average, sides[0])

    def along(path: _Path, k: int) -> Iterator[np.ndarray]:
        outside = [_outside(side, path) for side in sides]
        steps = _steps(path, len(importance), k)
        cells = [_cells(sides, outside, path.order, rows, j, k) for j, rows in enumerate(steps)]
        found = np.split(_scored(score, np.concatenate(cells, 1)), np.cumsum([len(rows) + 1 for rows in steps])[:-1])
        changes = np.zeros(len(path.order) + 1)
        for j, rows in enumerate(steps):
            changes[0] += importance[j] * found[j][0]
            changes[rows + 1] += importance[j] * np.diff(found[j])
        yield np.cumsum(changes)

    return along


def _steps(path: _Path, classes: int, k: int) -> list[np.ndarray]:
    """The steps of the path at which each class changes: all for class k, those that leave it for any other."""
    order = np.argsort(path.source, kind="stable")
    steps = np.split(order, np.searchsorted(path.source[order], np.arange(1, classes)))
    steps[k] = np.arange(len(order))  # no sample leaves class k
    return steps


def _cells(sides: Any, outside: Any, order: np.ndarray, steps: np.ndarray, j: int, k: int) -> np.ndarray:
    """The cells of class j before its first step and after each, (4, steps + 1)."""
    moved = [np.append(0.0, np.cumsum(side[order[steps], j])) for side in sides]
    rest = [np.append(_from_end(side[order[steps], j]), 0.0) for side in sides]
    if j == k:
        return np.stack([*moved, *rest])
    return np.stack([*rest, *(x + other[j] for x, other in zip(moved, outside))])


def _outside(side: np.ndarray, path: _Path) -> np.ndarray:
    """Sums over the samples that are never decided for a class, (classes,); exactly 0 if there are none."""
    own = side[path.order, path.source]
    classes = side.shape[1]
    sums, numbers = (side.sum(0), (side != 0).sum(0))
    inside = np.bincount(path.source, own, classes), np.bincount(path.source, own != 0, classes)
    return np.where(numbers > inside[1], np.maximum(sums - inside[0], 0), 0.0)


def _importance(average: Any, positives: np.ndarray) -> np.ndarray:
    """The share of each class in the average."""
    total = positives.sum(0)
    weights = total if average == "weighted" and total.any() else np.ones_like(total)
    weights = weights if isinstance(average, str) else np.asarray(average, "float64")
    return weights / (weights.sum() or 1.0)


def _pooled_along(sides: tuple[np.ndarray, np.ndarray], score: scores.Score) -> Along:
    """The same from cells that are summed over classes."""
    missed = [side.sum(1, keepdims=True) - side for side in sides]

    def along(path: _Path, k: int) -> Iterator[np.ndarray]:
        yield _scored(score, np.stack([switched(x, path.order, path.source, k) for x in (*sides, *missed)]))

    return along


def _scored(score: scores.Score, cells: np.ndarray) -> np.ndarray:
    """Values of cells, (4, n), each by itself."""
    matrix = ConfusionMatrix(*(ops.convert_to_tensor(cell[None, :, None]) for cell in cells))
    return ops.convert_to_numpy(values_of_sets(score, matrix, None, 0.0)[0])[:, 0]


def _matrices_along(samples: Samples, score: scores.Score) -> Along:
    """The score of each decision on the way, from c x c matrices."""
    true = samples.label.astype("float64") * samples.weight
    classes, linear = true.shape[1], as_linear(score, true)
    if linear is not None:
        return lambda path, k: iter([linear.along(path.order, path.source, k)])
    values = graph_of_matrices(score, 0.0, classes)

    def along(path: _Path, k: int) -> Iterator[np.ndarray]:
        def moving(rows: slice) -> np.ndarray:
            moves = (path.source[rows, None] == np.arange(classes)) | (np.arange(classes) == k)
            return true[path.order[rows]][:, :, None] * moves[:, None, :]  # (rows, true class, decided class)

        for before, after in _running(moving, len(true)):
            yield ops.convert_to_numpy(values(np.where(np.arange(classes) == k, before, after))[0])

    return along


def _running(moving: Callable[[slice], np.ndarray], n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sums of what has moved and of what has not, before the first move and after each of the n, in blocks.

    Two sums, rather than one sum and a difference: an empty sum is exactly 0.
    """
    size = max(1, _AT_ONCE // moving(slice(0, 1)).size)
    blocks = [slice(start, start + size) for start in range(0, n, size)]
    sums = np.array([moving(rows).sum(0) for rows in blocks])
    none = np.zeros_like(sums[:1])
    earlier, later = np.concatenate([none, np.cumsum(sums, 0)]), np.concatenate([_from_end(sums), none])
    yield none, later[:1]
    for block, rows in enumerate(blocks):
        moved = moving(rows)
        yield earlier[block] + np.cumsum(moved, 0), later[block + 1] + np.concatenate([_from_end(moved)[1:], none])


def _from_end(x: np.ndarray) -> np.ndarray:
    return np.cumsum(x[::-1], 0)[::-1]


def _number(value: Any, score: scores.Score) -> Any:
    if np.isnan(value).any():
        raise ValueError(f"`score` must be a number everywhere, 0 for 0 / 0. Received: NaN from score={score!r}")
    return value
