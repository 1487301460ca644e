"""Keras on JAX: steps are compiled, tensors have no attributes, and float64 is missing unless asked for.

* **Variables.** Keras hands a compiled step the variables of model, optimizer and metrics. Any other, such as the
  weights of a blend, would be read once, while the step is traced, and never again. `untraced` therefore reads and sets
  them by callbacks to the host.
* **Precision.** In a compiled step totals are float32: sums of short sums, and pairs of numbers in metrics. Where
  values are known, `untraced` turns float64 on.
* **Devices.** Under `keras.distribution` arrays are global, so that plain sums are those of the global batch.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from keras import ops

from keras_softsets._backend import _single
from keras_softsets._backend._jax_tracing import is_eager as is_eager
from keras_softsets._backend._jax_tracing import seeing_the_same
from keras_softsets._backend._jax_tracing import untraced as untraced
from keras_softsets._backend._neutral import assert_in_graph as assert_in_graph
from keras_softsets._backend._neutral import gather_samples as gather_samples
from keras_softsets._backend._neutral import keep_nan as keep_nan
from keras_softsets._backend._neutral import keras_scales as keras_scales
from keras_softsets._backend._neutral import make_variable as make_variable
from keras_softsets._backend._neutral import mask_of as mask_of
from keras_softsets._backend._neutral import replica_count as replica_count
from keras_softsets._backend._neutral import replica_index as replica_index
from keras_softsets._backend._neutral import replicas_in_sync as replicas_in_sync
from keras_softsets._backend._neutral import sum_over_replicas as sum_over_replicas
from keras_softsets._backend._neutral import try_out as try_out
from keras_softsets._backend._neutral import with_mask as with_mask
from keras_softsets._backend._types import Tensor
from keras_softsets._backend.portable import AtOnce
from keras_softsets._backend.portable import boundary as boundary
from keras_softsets._backend.portable import sum_cells as sum_cells
from keras_softsets._backend.portable import sum_moving_cells as sum_moving_cells
from keras_softsets._backend.portable import sum_sides as sum_sides

DTYPE_ERRORS = (TypeError, ValueError)  # what an operation raises for tensors of different dtypes
FEW_ROWS = 2  # thresholds up to which h itself, fused with its sums, is cheaper than a histogram: on CPUs
_FEW_ELSEWHERE = 16  # and on accelerators, where histograms are slow
_AT_ONCE = 2**16  # samples times intervals, up to which a product of matrices is cheaper than a histogram
_FEW_BOUNDS = 32  # with which to compare all numbers is cheaper than a search
_LANES = 512  # groups of samples with bins of their own, so that sums are short
_DIFFERENTIATED = ("JVPTracer", "LinearizeTracer")


# Values and types


STATE = "float32"  # the type of variables in losses, which compiled steps read


def wide() -> str:
    """The type of totals: float64 where values are known, because `untraced` turns it on there."""
    return "float64" if jax.config.jax_enable_x64 else "float32"


def is_dense(x: Any) -> bool:
    """Whether it is a dense tensor."""
    return isinstance(x, jax.Array)


def one_hot(ids: Tensor, classes: int, dtype: str) -> Tensor:
    """One-hot vectors along a new last axis; 0 for ids that do not exist."""
    return ops.one_hot(ids, classes, dtype=dtype)


def cumsum(x: Tensor, axis: int) -> Tensor:
    """Running sums, in the type of the numbers."""
    return ops.cumsum(x, axis)


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """The matrix product, in the type of the numbers."""
    return jnp.matmul(x, y)


def maximum(x: Tensor, low: float) -> Tensor:
    """The larger of a tensor and a number, in the type of the tensor."""
    return ops.maximum(x, ops.cast(low, x.dtype))


def mean(x: Tensor, axis: int | None = None) -> Tensor:
    """The mean, in the type of the numbers."""
    return jnp.mean(x, axis)


def constant(x: np.ndarray) -> Any:
    """An array as operations with tensors take it."""
    return x


def clip(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """`ops.clip` with the whole gradient on the bounds, where JAX has half of it; NaN stays NaN."""
    low, high = ops.cast(low, x.dtype), ops.cast(high, x.dtype)
    return ops.where(x < low, low, ops.where(x > high, high, x))


def bit_patterns(x: Tensor) -> Tensor:
    """The bit patterns of float32 numbers, as int32."""
    return jax.lax.bitcast_convert_type(x, jnp.int32)


def from_bit_patterns(x: Tensor) -> Tensor:
    """The float32 numbers of bit patterns."""
    return jax.lax.bitcast_convert_type(x, jnp.float32)


def count_below(p: Tensor, bounds: np.ndarray) -> Tensor:
    """How many of the bounds, in rising order, each number reaches, as int32."""
    if len(bounds) <= _FEW_BOUNDS:
        return sum([(p >= bound).astype("int32") for bound in bounds], jnp.zeros(p.shape, "int32"))
    return jnp.searchsorted(jnp.asarray(bounds), p, side="right", method="scan_unrolled").astype("int32")


def look_up(table: Tensor, index: Tensor) -> Tensor:
    """The entries of a table of one axis."""
    return ops.take(table, index)


# Sums


def total(x: Tensor, axis: int = 0) -> Tensor:
    """The sum along an axis, in the type of totals."""
    return jnp.sum(x.astype(wide()), axis) if wide() == "float64" else _single.sum_in_steps(x, axis)


def sum_samples(*arrays: Tensor) -> Tensor:
    """Sums each array over samples, to (arrays, classes)."""
    return jnp.stack([total(x) for x in arrays])


def products(x: Tensor, y: Tensor) -> Tensor:
    """Sums of products over samples, (classes, rows, columns), of (samples, classes, rows) and (..., columns)."""
    x, y = x.astype(wide()), y.astype(wide())
    if x.shape[1] == 1:  # XLA runs a batch of products in threads of its own, which start slowly
        return (x[:, 0].T @ y[:, 0])[None]
    return jnp.einsum("ncr,nck->crk", x, y)


def bin_sums(index: Tensor, values: list[Tensor], size: int) -> Tensor:
    """Sums numbers by bin, (values, size); each bin is the sum of many short sums, those of neighbouring samples."""
    most = min(_LANES, max(2**22 // size, 1), max(index.size // 32, 1))
    groups = _single.split(index.size, most // 8, most) or most

    def grouped(x: Tensor) -> Tensor:
        return jnp.pad(x.reshape(-1), (0, -x.size % groups)).reshape(groups, -1)

    def of_group(place: Tensor, x: Tensor) -> Tensor:
        return jnp.zeros(size, wide()).at[place].add(x)

    sums = jnp.stack([jax.vmap(of_group)(grouped(index), grouped(x).astype(wide())) for x in values])
    return total(sums, 1)


def faster(by_row: Any, intervals: Any, shape: tuple[int, ...]) -> Any:
    """The fastest of the kernels, which may depend on the device."""
    if intervals.plain and math.prod(shape) * intervals.size <= _AT_ONCE:
        return AtOnce(intervals)
    return intervals if len(by_row.rows) > _FEW_ELSEWHERE else _ByDevice(intervals, by_row)


class _ByDevice:
    """A kernel for CPUs and one for other devices; a compiled step has that of the device it is compiled for."""

    def __init__(self, on_cpu: Any, elsewhere: Any) -> None:
        self.on_cpu, self.elsewhere = on_cpu, elsewhere

    def cells(self, *arrays: Any) -> Tensor:
        """The cells, (4, rows, classes)."""
        return self._either("cells", arrays)

    def slopes(self, *arrays: Any) -> Tensor:
        """The gradient in p."""
        return self._either("slopes", arrays)

    def _either(self, name: str, arrays: tuple[Any, ...]) -> Tensor:
        on_cpu, elsewhere = getattr(self.on_cpu, name), getattr(self.elsewhere, name)
        known = [x for x in arrays if x is not None]
        if all(map(is_eager, known)):
            cpu = all(device.platform == "cpu" for x in known for device in x.devices())
            return on_cpu(*arrays) if cpu else elsewhere(*arrays)
        return jax.lax.platform_dependent(*arrays, cpu=on_cpu, default=elsewhere)


def cleaned(samples: Any) -> Any:
    """The samples with the rules about values."""
    return samples.cleaned()


def add_total(metric: Any, shape: tuple[int, ...], name: str) -> Any:
    """A variable of a metric for exact totals."""
    return _single.Pair(metric, shape, name)


def cond(condition: Tensor, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """One of two values; where the condition is known, only that one is computed."""
    if is_eager(condition):
        return yes() if condition else no()
    return jax.lax.cond(condition, yes, no)


def assign_either(condition: Tensor, yes: Callable[[], Any], no: Callable[[], Any], totals: list[Any]) -> None:
    """Calls one of two functions that assign to variables of a metric."""
    if is_eager(condition):
        cond(condition, yes, no)
        return
    variables = [getattr(total, "both", total) for total in totals]

    def after(assign: Callable[[], Any]) -> Callable[[list[Tensor]], list[Any]]:
        def values(before: list[Tensor]) -> list[Any]:
            with keras.StatelessScope(state_mapping=list(zip(variables, before))) as scope:
                assign()
            return [scope.get_current_value(variable) for variable in variables]

        return values

    before = [ops.convert_to_tensor(variable) for variable in variables]
    for variable, value in zip(variables, jax.lax.cond(condition, after(yes), after(no), before)):
        variable.assign(value)


def value_of(total: Any) -> Tensor:
    """The value of a variable of `add_total`."""
    return total.value


# Gradients


def or_zero(x: Tensor) -> Tensor:
    """0 in place of NaN: one invalid batch must not make all weights NaN."""
    return jnp.where(jnp.isnan(x), jnp.zeros_like(x), x)


def with_gradient(function: Callable[[Tensor], Tensor], slope: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """A function of p with a gradient of its own, slope(p, upstream), which can be differentiated again."""
    found, slope = jax.custom_vjp(function), seeing_the_same(slope)
    found.defvjp(lambda p: (function(p), p), lambda p, upstream: (slope(p, upstream),))
    return found


def gradient(function: Callable[[Tensor], Tensor], x: Tensor, upstream: Tensor) -> Tensor:
    """The gradient of an elementwise function."""
    return jax.vjp(function, x)[1](upstream)[0]


def derivative(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The gradient of a function of one tensor, as a constant; 0 where it does not depend on the tensor."""
    return jax.lax.stop_gradient(jax.grad(function)(jax.lax.stop_gradient(x)))


def without_nan_gradient(x: Tensor) -> Tensor:
    """Returns `x`, with a gradient of 0 where it would be NaN: one invalid batch must not make all weights NaN."""
    return with_gradient(lambda x: x, lambda x, upstream: jnp.where(jnp.isnan(upstream), 0.0, upstream))(x)


def is_differentiated(x: Tensor) -> bool:
    """Whether a gradient with respect to what `x` was computed from is being recorded: in a training step."""
    return type(x).__name__ in _DIFFERENTIATED


# Masks and logits, which Keras cannot attach to tensors of JAX


def logits_behind(p: Tensor, activation: str) -> Tensor | None:
    """`None`: Keras cannot say from which logits it computed `p`."""
    return None


# Tracing


def as_graph(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a function that is compiled, for code that is slow to trace."""
    return jax.jit(function)


def compiled(function: Callable[..., Tensor]) -> list[Callable[..., Tensor]]:
    """The function in every way in which this backend runs it, besides eagerly."""
    return [jax.jit(function)]


def outside_of_graphs() -> contextlib.AbstractContextManager[Any]:
    """A scope in which variables have values, even while a step is being traced."""
    return jax.ensure_compile_time_eval()
