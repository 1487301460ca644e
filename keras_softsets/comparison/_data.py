"""Training, validation and test data: arrays, `tf.data` or `PyDataset`, used alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_softsets.samples import range_of


class Answers(NamedTuple):
    """What a model says about samples, beside their labels and weights (None: all 1)."""

    label: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray | None


class Part:
    """One of the three parts of the data.

    Args:
        name: What it is for, for errors.
        data: `(x, y)`, `(x, y, sample_weight)`, a `tf.data.Dataset` of batches, or a `keras.utils.PyDataset`.
    """

    def __init__(self, name: str, data: Any) -> None:
        self.arrays = isinstance(data, (tuple, list))
        known = self.arrays or isinstance(data, keras.utils.PyDataset) or hasattr(data, "element_spec")
        if not known or (self.arrays and len(data) not in (2, 3)):
            raise ValueError(
                f"`{name}` must be (x, y), (x, y, sample_weight), a tf.data.Dataset or a PyDataset. "
                f"Received: {name} of type {type(data).__name__}{f' and length {len(data)}' if self.arrays else ''}"
            )
        self.name, self.data = name, data
        if not self.arrays and _is_endless(data):
            raise ValueError(f"`{name}` must end, because it is read whole; leave out repeat(). Received: endless data")

    def labels(self) -> np.ndarray:
        """The labels of all samples."""
        return np.concatenate([np.asarray(y) for _, y, _ in self._batches()])

    def check(self, labels: np.ndarray, like: Part) -> None:
        """Raises what would fail after the training: labels that are no numbers, lengths or shapes that do not fit."""
        if not len(labels):
            raise ValueError(f"`{self.name}` must hold samples. Received: none")
        if labels.dtype.kind not in "biuf" or not np.isfinite(labels).all():
            said = f"labels of type {labels.dtype}" if labels.dtype.kind not in "biuf" else "NaN among the labels"
            raise ValueError(f"`{self.name}` must have labels that are numbers. Received: {said}")
        if any(x.ndim == 0 for x in self.features()):
            raise ValueError(f"`{self.name}` must have arrays as inputs, np.array(x). Received: a list of numbers")
        lengths = [len(x) for x in (*self.features(), labels, *_weights(self))]
        if self.arrays and len(set(lengths)) > 1:
            raise ValueError(f"`{self.name}` must have arrays of equal length. Received: lengths {lengths}")
        for weight in map(np.asarray, _weights(self)):
            numbers = weight.dtype.kind in "biuf"
            if not numbers or not np.isfinite(weight).all() or weight.min() < 0 or not weight.any():
                raise ValueError(
                    f"`{self.name}` must have sample weights that are finite and non-negative, and not all 0. "
                    f"Received: {range_of(weight) if numbers else f'weights of type {weight.dtype}'}"
                )
        shapes, known = ([x.shape[1:] for x in part.features()] for part in (self, like))
        if shapes and known and shapes != known:
            raise ValueError(
                f"`{self.name}` must have inputs of the shapes of `{like.name}`, {known}. Received: {shapes}"
            )

    def takes_class_weights(self) -> bool:
        """Whether `fit` can balance classes: Keras (3.15.1) refuses it for batches that have weights already."""
        return self.arrays or next(self._batches())[2] is None

    def features(self) -> list[np.ndarray]:
        """The arrays of all inputs; none of other kinds of data, which may take long to read."""
        return [np.asarray(x) for x in keras.tree.flatten(self.data[0])] if self.arrays else []

    def answers(self, model: keras.Model) -> Answers:
        """What the model says about each sample; labels come from the same batches, so data may be shuffled."""
        if self.arrays:
            x, y, w = _three(self.data)
            return Answers(np.asarray(y), _predicted(model, x, len(y)), _array(w))
        labels, predictions, weights = [], [], []
        for x, y, w in self._batches():
            labels.append(np.asarray(y))
            predictions.append(np.asarray(model.predict_on_batch(x)))
            weights.append(w)
        joined = None if weights[0] is None else np.concatenate([np.asarray(w) for w in weights])
        return Answers(np.concatenate(labels), np.concatenate(predictions), joined)

    def example(self, model: keras.Model, rows: int = 8) -> Answers:
        """What the model says about a few samples."""
        x, y, w = next(self._batches())
        few = keras.tree.map_structure(lambda array: array[:rows], x)
        return Answers(y[:rows], np.asarray(model.predict_on_batch(few)), None if w is None else w[:rows])

    def fit(self, model: keras.Model, batch_size: int, class_weight: dict[int, float] | None, **options: Any) -> None:
        """Trains a model on the data."""
        if not self.arrays:
            shuffle = isinstance(self.data, keras.utils.PyDataset)  # of data sets, Keras would warn that it cannot
            model.fit(self.data, class_weight=class_weight, verbose=0, shuffle=shuffle, **options)
            return
        x, y, w = _three(self.data)
        if class_weight is not None:
            each = np.vectorize(class_weight.get, otypes=["float32"])(_ids(np.asarray(y)))
            w = each if w is None else each * np.asarray(w).reshape(-1)
        model.fit(x, np.asarray(y), sample_weight=w, batch_size=batch_size, verbose=0, **options)

    def _batches(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray | None]]:
        if self.arrays:
            x, y, w = _three(self.data)
            yield x, np.asarray(y), _array(w)
            return
        length = len(self.data) if isinstance(self.data, keras.utils.PyDataset) else None
        batches = iter(self.data) if length is None else (self.data[k] for k in range(length))
        for batch in batches:
            self._check_batch(batch)
            x, y, w = _three(batch)
            yield x, ops.convert_to_numpy(y), _array(w)

    def _check_batch(self, batch: Any) -> None:
        if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
            said = type(batch).__name__
            raise ValueError(f"`{self.name}` must hold (x, y) or (x, y, sample_weight). Received: {said}")
        if len(np.shape(batch[1])) == 0:
            raise ValueError(f"`{self.name}` must hold batches: dataset.batch(128). Received: single samples")


def _is_endless(data: Any) -> bool:
    """Whether a data set is known to have no end."""
    if isinstance(data, keras.utils.PyDataset):
        return data.num_batches is None
    return int(data.cardinality()) == -1  # tf.data.INFINITE_CARDINALITY


def _weights(part: Part) -> list[Any]:
    return [w for w in part.data[2:] if w is not None] if part.arrays else []


def _predicted(model: keras.Model, x: Any, samples: int, size: int = 1024) -> np.ndarray:
    """What `model.predict` returns, without its pipeline, which after each epoch takes longer than the predictions."""
    found = []
    for rows in (slice(start, start + size) for start in range(0, samples, size)):
        batch = keras.tree.map_structure(lambda array, rows=rows: array[rows], x)
        found.append(np.asarray(model.predict_on_batch(batch)))
    return np.concatenate(found)


def class_weights(labels: np.ndarray) -> dict[int, float]:
    """Returns weights with which all classes count the same in total.

    Examples:
        >>> class_weights(np.array([0, 0, 0, 1]))
        {0: 0.6666666666666666, 1: 2.0}
    """
    found, counts = np.unique(_ids(labels), return_counts=True)
    return {int(k): float(len(labels) / (len(found) * count)) for k, count in zip(found, counts)}


def _ids(labels: np.ndarray) -> np.ndarray:
    labels = labels.reshape(len(labels), -1)
    return (labels.argmax(1) if labels.shape[1] > 1 else labels[:, 0]).astype("int64")


def _three(batch: Any) -> tuple[Any, Any, Any]:
    x, y, *rest = batch
    return x, y, rest[0] if rest else None


def _array(weight: Any) -> np.ndarray | None:
    return None if weight is None else ops.convert_to_numpy(weight)
