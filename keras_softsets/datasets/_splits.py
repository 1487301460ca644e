"""Training, validation and test parts: which sample goes where, standardisation, and `tf.data` pipelines."""

from typing import Any, NamedTuple

import numpy as np

from keras_softsets.datasets._data_set import Array

_ROWS_AT_ONCE = 4_096


class Scaling(NamedTuple):
    """Mean and standard deviation of each feature or colour channel, float32."""

    mean: Array
    deviation: Array

    def apply(self, x: Array) -> Array:
        """Returns `(x - mean) / deviation` as float32."""
        scaled = np.array(x, "float32", order="C")
        rows = _as_rows(scaled)  # A view, so what follows changes `scaled`.
        rows -= _repeat(self.mean, rows)
        rows /= _repeat(self.deviation, rows)
        return scaled


def stratified_indices(strata: Array, shares: tuple[float, ...], seed: int) -> list[Array]:
    """Splits samples at random, each stratum in the same proportions.

    Args:
        strata: `(samples,)`, the stratum of each sample.
        shares: The share of each part but the first, which takes the rest.
        seed: Decides which sample goes where.

    Returns:
        The indices of each part, in random order; together they contain every sample once.
    """
    # RandomState, because NumPy promises that its stream of numbers never changes.
    random = np.random.RandomState(seed)
    parts: list[list[Array]] = [[] for _ in range(len(shares) + 1)]
    for stratum in np.unique(strata):
        members = random.permutation(np.flatnonzero(strata == stratum))
        ends = np.cumsum([round(share * len(members)) for share in shares])
        for part, indices in zip((*parts[1:], parts[0]), np.split(members, ends), strict=True):
            part.append(indices)
    return [random.permutation(np.concatenate(part)) for part in parts]


def fit_scaling(x: Array) -> Scaling:
    """Returns the statistics of `x` over all axes but the last; a constant feature gets a deviation of 1."""
    rows, channels = _as_rows(x), x.shape[-1]
    mean = rows.mean(axis=0, dtype="float64").reshape(-1, channels).mean(axis=0)
    centre, squares = _repeat(mean, rows), np.zeros(rows.shape[1])
    for start in range(0, len(rows), _ROWS_AT_ONCE):  # In pieces: 40,000 images as float64 would need a gigabyte.
        squares += np.square(rows[start : start + _ROWS_AT_ONCE] - centre).sum(axis=0)
    deviation = np.sqrt(squares.reshape(-1, channels).mean(axis=0) / len(rows))
    # For a constant feature it is exactly zero, since float64 adds up 2**29 equal float32 numbers without rounding.
    deviation[deviation == 0] = 1.0
    return Scaling(mean.astype("float32"), deviation.astype("float32"))


def _as_rows(x: Array) -> Array:
    # NumPy is several times faster on long rows than on a last axis of three colours.
    return x.reshape(len(x), -1)


def _repeat(values: Array, rows: Array) -> Array:
    """Repeats one value for each channel so that it fits a flattened row of pixels."""
    return np.tile(values, rows.shape[1] // len(values))


def pipeline(part: tuple[Array, Array], scaling: Scaling, batch_size: int, shuffle_seed: int | None = None) -> Any:
    """Returns a `tf.data.Dataset` of standardised batches, reshuffled in each epoch if there is a seed.

    Row numbers are shuffled and rows are gathered by the batch, which is much faster than shuffling rows; images stay
    uint8 in memory until their batch is made.
    """
    import tensorflow as tf

    with tf.device("CPU:0"):
        rows, labels = (tf.constant(array) for array in part)

    def gather(indices: Any) -> tuple[Any, Any]:
        batch = tf.cast(tf.gather(rows, indices), tf.float32)
        return (batch - scaling.mean) / scaling.deviation, tf.gather(labels, indices)

    indices = tf.data.Dataset.range(len(labels))
    if shuffle_seed is not None:
        indices = indices.shuffle(len(labels), seed=shuffle_seed, reshuffle_each_iteration=True)
    return indices.batch(batch_size).map(gather, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
