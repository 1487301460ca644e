"""Offsets before the argmax that maximise a score on data: class by class, each found exactly by sorting once.

As the offset of class k rises from minus to plus infinity, the samples switch to class k one after the other, each when
the gap between its log p of class k and that of the best other class is closed. There are n + 1 decisions along the
way, and cumulative sums give the matrix of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_softsets import scores
from keras_softsets._backend import as_graph
from keras_softsets._inputs import as_samples
from keras_softsets._samples import Samples, check_values, range_of
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.decisions import TINY, Argmax
from keras_softsets.evaluation import evaluate

_SAME = 1e-12  # the effect of rounding on a logarithm or a score
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
    samples = _checked(y_true, y_pred, sample_weight, whole_rows=score.of == "classes", **options)
    label, p, weight = samples[:3]
    settings: Any = {"average": average, "from_logits": samples.logits}

    def value(offsets: np.ndarray) -> float:
        return float(evaluate(label, p, score, weight, threshold=Argmax(offsets=tuple(offsets)), **settings))

    along = _matrices_along(samples, score) if score.of == "classes" else _cells_along(samples, score, average)
    log_p = p.astype("float64") if samples.logits else np.log(np.maximum(p.astype("float64"), TINY))
    offsets = np.zeros(p.shape[1])
    best = _number(value(offsets), score)
    for _ in range(_SWEEPS):
        before = best
        for k in range(len(offsets)):
            path = _path(log_p, offsets, k)
            values = _number(np.concatenate(list(along(path, k))), score)
            if values.max() <= best:
                continue
            tried = offsets.copy()
            tried[k] = _best_offset(path, values)
            if (reached := value(tried)) > best + _SAME:  # never worse than no offsets
                offsets, best = tried, reached
        if best == before:
            break
    return Argmax(offsets=tuple(offsets)), best


def _checked(y_true: Any, y_pred: Any, sample_weight: Any, **options: Any) -> Samples:
    """Labels, predictions and weights of the samples that count, as metrics see them, in NumPy."""
    samples = as_samples(y_true, np.asarray(y_pred, "float32"), sample_weight, rivals=True, **options)
    label, p = (ops.convert_to_numpy(x) for x in (samples.label, samples.prediction))
    weight = np.ones_like(p[:, :1]) if samples.weight is None else ops.convert_to_numpy(samples.weight)
    rows = (weight != 0).any(1)  # weight 0 means absent
    if not rows.any():
        raise ValueError(
            f"`y_pred` must hold at least one sample that counts. Received: y_pred.shape={np.shape(y_pred)}"
        )
    if not np.isfinite(p[rows]).all():
        raise ValueError(f"`y_pred` must hold numbers. Received: {range_of(p[rows])}")
    kept = Samples(label[rows], p[rows], weight[rows], samples.logits)
    check_values(kept)
    return kept if kept.logits else kept._replace(prediction=np.clip(kept.prediction, 0, 1))


def _path(log_p: np.ndarray, offsets: np.ndarray, k: int) -> _Path:
    others = log_p + offsets
    others[:, k] = -np.inf
    source = others.argmax(1)
    offset = np.take_along_axis(others, source[:, None], 1)[:, 0] - log_p[:, k]
    order = np.argsort(offset, kind="stable")
    return _Path(order, source[order], offset[order])


def _best_offset(path: _Path, values: np.ndarray) -> float:
    """The offset of the best of the n + 1 decisions, halfway between two samples; if tied, the one nearest to 0."""
    ends = np.concatenate([path.offset[:1] - 2, path.offset, path.offset[-1:] + 2])
    middle = ends[:-1] + np.diff(ends) / 2
    values = np.where(np.diff(ends) > _SAME, values, -np.inf)  # samples that switch together
    best = np.flatnonzero(values >= values.max() - _SAME)
    return float(middle[best[np.argmin(np.abs(middle[best]))]])


Along = Callable[[_Path, int], Iterator[np.ndarray]]


def _cells_along(samples: Samples, score: scores.Score, average: Any) -> Along:
    """The score of each decision on the way, from cells of classes against the rest."""
    y, w = samples.label.astype("float64"), samples.weight
    both = np.concatenate([w * y, w * (1 - y)], 1)  # positives and negatives, (samples, 2 classes)
    classes = y.shape[1]
    columns = np.arange(2 * classes) % classes

    def along(path: _Path, k: int) -> Iterator[np.ndarray]:
        moves = (path.source[:, None] == columns) | (columns == k)
        staying = np.where(moves, 0, both[path.order]).sum(0)
        for before, after in _running(lambda rows: np.where(moves[rows], both[path.order[rows]], 0), len(moves)):
            decided = np.where(columns == k, before, after)
            rest = np.where(columns == k, after, staying + before)
            tp, fp, fn, tn = (x[None, :, half] for x in (decided, rest) for half in np.split(np.arange(2 * classes), 2))
            cells = ConfusionMatrix(*(ops.convert_to_tensor(x) for x in (tp, fp, fn, tn)))
            yield ops.convert_to_numpy(scores.averaged_sets(score, cells, average, 0.0)[0])

    return along


def _matrices_along(samples: Samples, score: scores.Score) -> Along:
    """The score of each decision on the way, from c x c matrices."""
    true = samples.label.astype("float64") * samples.weight
    classes = true.shape[1]
    values = as_graph(lambda counts: scores.of_matrices(score, counts, 0.0)[0])

    def along(path: _Path, k: int) -> Iterator[np.ndarray]:
        def moving(rows: slice) -> np.ndarray:
            moves = (path.source[rows, None] == np.arange(classes)) | (np.arange(classes) == k)
            return true[path.order[rows]][:, :, None] * moves[:, None, :]  # (rows, true class, decided class)

        for before, after in _running(moving, len(true)):
            yield ops.convert_to_numpy(values(np.where(np.arange(classes) == k, before, after)))

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
