"""Work on blocks of samples that stay in the cache, and sums that keep their digits.

Two things about XLA on CPUs shape these kernels. A float32 reduction is one chain of additions, which stops at 2^24
(16,777,216) and drifts long before; so short float32 sums side by side are joined in float64. And whatever is stored
between two steps costs more than computing it (above 32 MB every call gets its memory page by page from the operating
system); so several thresholds are worked off in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from keras_softsets._backend import Tensor

_BLOCK = 2**13  # elements whose bins are counted at a time: 32 KB for each array
_SLICES = 4
_LONGEST_SUM = 2**9  # numbers that are added up in float32
_FEW = 2**13  # numbers that are added up in float64 from the first
_GPU_BLOCK = 2**16  # a GPU waits at the start of each block; still larger ones would lose digits in float32 sums


def fold(step: Callable[..., list[Tensor]], start: list[Tensor], most: int, *arrays: Tensor | None) -> list[Tensor]:
    """Carries a state through blocks of samples, and through those that are left over."""
    count, size, rest = _blocks(arrays[0], most)

    def body(k: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        return (k + 1, *step(list(state), *rows(arrays, k * size, size)))

    state = tf.while_loop(lambda k, *_: k < count, body, (0, *start))[1:]
    return step(list(state), *rows(arrays, count * size, rest))


def map_blocks(function: Callable[..., Tensor], most: int, *arrays: Tensor | None) -> Tensor:
    """Applies an elementwise `function` block by block, so that what it needs in between stays small."""
    count, size, rest = _blocks(arrays[0], most)
    blocks = tf.TensorArray(tf.float32, count)

    def body(k: Tensor, blocks: tf.TensorArray) -> tuple[Tensor, tf.TensorArray]:
        return k + 1, blocks.write(k, function(*rows(arrays, k * size, size)))

    _, blocks = tf.while_loop(lambda k, _: k < count, body, (0, blocks))
    head = tf.reshape(blocks.stack(), [count * size, tf.shape(arrays[0])[1]])
    return tf.concat([head, function(*rows(arrays, count * size, rest))], 0)


def _blocks(x: Tensor, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """The number of blocks, the samples in each (at most `most` elements, times 1 to 2), and the samples left over."""
    samples, classes = tf.unstack(tf.shape(x))
    # A batch that fits is one block, and XLA removes the loop; a block has at least one sample.
    count = tf.maximum(tf.minimum(samples * classes // most, samples), 1)
    return count, samples // count, samples % count


def room() -> int:
    """The number of elements in a block."""
    return _GPU_BLOCK if a_gpu_is_visible() else _BLOCK


def a_gpu_is_visible() -> bool:
    """Whether kernels may run on a GPU."""
    return bool(tf.config.list_physical_devices("GPU"))


def rows(arrays: Sequence[Tensor | None], start: Tensor, size: Tensor) -> list[Tensor | None]:
    """The same samples of each array."""
    # With -1 in the place of the number of classes, XLA would pad each array to twice its sides.
    return [None if x is None else tf.slice(x, [start, 0], [size, tf.shape(x)[1]]) for x in arrays]


def sum_in_float64(x: Tensor, axis: int = 0) -> Tensor:
    """Sums what is already short."""
    return tf.reduce_sum(tf.cast(x, tf.float64), axis)


def sum_samples(*arrays: Tensor) -> Tensor:
    """Sums each over samples, to (arrays, classes).

    XLA computes neighbours side by side in an addition of slices, but not in a reduction that an elementwise function
    is fused into; so a few slices are added up first, and the reduction, of rows that are long for any number of
    classes, has little left to do: rows of several samples in float32, and the long row that is left in float64.
    """
    samples, classes = tf.unstack(tf.shape(arrays[0]))
    size = samples // _SLICES
    lanes = tf.where(size * classes <= _FEW, size, (size + _LONGEST_SUM - 1) // _LONGEST_SUM)
    lanes = tf.maximum(lanes, 1)
    count = size // lanes
    whole, in_rows = _SLICES * size, count * lanes

    def total(x: Tensor) -> Tensor:
        first, second, third, fourth = tf.split(_head(x, whole), _SLICES)
        joined = (first + second) + (third + fourth)
        rows = tf.reshape(_head(joined, in_rows), [count, lanes * classes])
        together = tf.reshape(tf.reduce_sum(rows, 0), [lanes, classes])
        return sum(map(sum_in_float64, (together, _tail(joined, in_rows), _tail(x, whole))))

    return tf.stack([total(x) for x in arrays])


def _head(x: Tensor, samples: Tensor) -> Tensor:
    return tf.slice(x, [0, 0], [samples, -1])


def _tail(x: Tensor, samples: Tensor) -> Tensor:
    return tf.slice(x, [samples, 0], [-1, -1])


def gradients(function: Callable[..., Tensor], x: list[Tensor], upstream: Tensor | None = None) -> list[Tensor]:
    """The gradients of a function in its arguments; 0 where it does not depend on one.

    Kernels are graphs, where forward-mode differentiation may trace them with recording stopped, and then a tape sees
    nothing. Only `tf.config.run_functions_eagerly` runs them outside a graph.
    """
    if not tf.executing_eagerly():
        return tf.gradients(function(*x), x, upstream, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = function(*x)
    return tape.gradient(value, x, upstream, unconnected_gradients=tf.UnconnectedGradients.ZERO)
