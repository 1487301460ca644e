"""Work on blocks of samples that stay in the cache, and sums that keep their digits.

Two properties of XLA on CPUs shape these kernels:

* A float32 reduction is one chain of additions, which stops growing at 2^24 (16,777,216) and drifts long before that.
  So short float32 sums are computed side by side and joined in float64.
* Storing anything between two steps costs more than computing it (above 32 MB, every call gets its memory from the
  operating system page by page). So several thresholds are processed in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from keras_softsets._backend._types import Tensor

_BLOCK = 2**13  # elements whose bins are counted at a time: 32 KB for each array
_SLICES = 4
_LONGEST_SUM = 2**9  # numbers that are added up in float32
_EVEN_SUM = 2**5  # the same if samples are padded; XLA makes two loops, and compiles them, of a longer sum
_POWERS = 2 ** np.arange(31, dtype="int32")
_FEW = 2**13  # up to this many numbers are added up in float64 from the start
_GPU_BLOCK = 2**16  # a GPU waits at the start of each block, but larger blocks would lose digits in float32 sums


def fold(
    step: Callable[..., list[Tensor]], start: list[Tensor], most: int, *arrays: Tensor | None, even: bool = False
) -> list[Tensor]:
    """Carries a state through all blocks of samples, then through the samples that are left over.

    Args:
        step: Takes the state and a block of each array, and returns the state.
        start: The first state.
        most: The number of elements in a block.
        *arrays: The arrays, (samples, classes).
        even: Whether they are padded to one of the sizes of `_sizes.py`, so that equal blocks leave nothing over.
    """
    count, size, rest = _blocks(arrays[0], most)
    if even:  # a power of two divides every size, as often as blocks of this length need
        count = _power_of_two(count)
        size = tf.shape(arrays[0])[0] // count

    def body(k: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        return (k + 1, *step(list(state), *rows(arrays, k * size, size)))

    state = tf.while_loop(lambda k, *_: k < count, body, (0, *start))[1:]
    return list(state) if even else step(list(state), *rows(arrays, count * size, rest))


def map_blocks(function: Callable[..., Tensor], most: int, *arrays: Tensor | None) -> Tensor:
    """Applies an elementwise `function` block by block, so that its intermediate results stay small."""
    count, size, rest = _blocks(arrays[0], most)
    blocks = tf.TensorArray(tf.float32, count)

    def body(k: Tensor, blocks: tf.TensorArray) -> tuple[Tensor, tf.TensorArray]:
        return k + 1, blocks.write(k, function(*rows(arrays, k * size, size)))

    _, blocks = tf.while_loop(lambda k, _: k < count, body, (0, blocks))
    head = tf.reshape(blocks.stack(), [count * size, tf.shape(arrays[0])[1]])
    return tf.concat([head, function(*rows(arrays, count * size, rest))], 0)


def _power_of_two(most: Tensor) -> Tensor:
    """The largest power of two up to a number; it divides every size of `_sizes.py` that is eight times as long."""
    return tf.reduce_max(tf.where(most >= _POWERS, _POWERS, 1))


def _blocks(x: Tensor, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """The number of blocks, the samples in each (1 to 2 times `most` elements), and the samples left over."""
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
    # With -1 in place of the number of classes, XLA would pad each array to twice its length in both axes.
    return [None if x is None else tf.slice(x, [start, 0], [size, tf.shape(x)[1]]) for x in arrays]


def sum_in_float64(x: Tensor, axis: int = 0) -> Tensor:
    """Sums a few numbers."""
    return tf.reduce_sum(tf.cast(x, tf.float64), axis)


def sum_samples(*arrays: Tensor, even: bool = False) -> Tensor:
    """Sums each array over samples, to (arrays, classes); `even` as in `fold`.

    XLA vectorizes an addition of slices, but not a reduction into which an elementwise function is fused. So a few
    slices are added up first, which leaves little for the reduction. Its rows hold several samples, so that they are
    long for any number of classes: they are added up in float32, and the one long row that is left in float64.
    """
    samples, classes = tf.unstack(tf.shape(arrays[0]))
    size = samples // _SLICES
    short = _power_of_two(size // _EVEN_SUM) if even else (size + _LONGEST_SUM - 1) // _LONGEST_SUM
    lanes = tf.maximum(tf.where(size * classes <= _FEW, size, short), 1)
    count = size // lanes
    in_rows, in_slices = (_Cut(count * lanes, classes), _Cut(_SLICES * size, classes))
    rows, lane = tf.stack([count, lanes * classes]), tf.stack([lanes, classes])

    def total(x: Tensor) -> Tensor:
        first, second, third, fourth = tf.split(x if even else in_slices.head(x), _SLICES)
        joined = (first + second) + (third + fourth)
        long = tf.reduce_sum(tf.reshape(joined if even else in_rows.head(joined), rows), 0)
        together = sum_in_float64(tf.reshape(long, lane))
        if even:
            return together
        return sum(map(sum_in_float64, (in_rows.tail(joined), in_slices.tail(x))), together)

    return tf.stack([total(x) for x in arrays])


class _Cut:
    """Divides arrays after a number of samples."""

    def __init__(self, samples: Tensor, classes: Tensor) -> None:
        self._start, self._size = tf.stack([0, 0]), tf.stack([samples, classes])
        self._end, self._all = tf.stack([samples, 0]), tf.constant([-1, -1])

    def head(self, x: Tensor) -> Tensor:
        return tf.slice(x, self._start, self._size)

    def tail(self, x: Tensor) -> Tensor:
        return tf.slice(x, self._end, self._all)


def gradients(function: Callable[..., Tensor], x: list[Tensor], upstream: Tensor | None = None) -> list[Tensor]:
    """The gradients of a function with respect to its arguments; 0 for an argument that it does not depend on.

    Kernels are graphs. Forward-mode differentiation may trace them while recording is stopped, and a tape would then
    see nothing. Only `tf.config.run_functions_eagerly` runs them outside a graph.
    """
    if not tf.executing_eagerly():
        return tf.gradients(function(*x), x, upstream, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = function(*x)
    return tape.gradient(value, x, upstream, unconnected_gradients=tf.UnconnectedGradients.ZERO)
