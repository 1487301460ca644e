"""Keras on PyTorch: every operation runs at once, and values are always known.

Totals are float64, but for Apple's GPUs, which have none. `_torch_processes` sums them over processes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from keras import ops
from keras.src.backend.torch.core import get_device

from keras_softsets._backend import _single
from keras_softsets._backend._neutral import assert_in_graph as assert_in_graph
from keras_softsets._backend._neutral import keep_nan as keep_nan
from keras_softsets._backend._neutral import keras_scales as keras_scales
from keras_softsets._backend._neutral import make_variable as make_variable
from keras_softsets._backend._neutral import mask_of as mask_of
from keras_softsets._backend._neutral import replica_count as replica_count
from keras_softsets._backend._neutral import try_out as try_out
from keras_softsets._backend._neutral import with_mask as with_mask
from keras_softsets._backend._torch_blocks import Blocks
from keras_softsets._backend._torch_processes import gather_samples as gather_samples
from keras_softsets._backend._torch_processes import is_eager as is_eager
from keras_softsets._backend._torch_processes import replica_index as replica_index
from keras_softsets._backend._torch_processes import replicas_in_sync as replicas_in_sync
from keras_softsets._backend._torch_processes import sum_over_replicas as sum_over_replicas
from keras_softsets._backend._types import Tensor
from keras_softsets._backend.portable import boundary as boundary
from keras_softsets._backend.portable import sum_cells as sum_cells
from keras_softsets._backend.portable import sum_moving_cells as sum_moving_cells
from keras_softsets._backend.portable import sum_sides as sum_sides

DTYPE_ERRORS = (TypeError, ValueError, RuntimeError)  # what an operation raises for tensors of different dtypes
FEW_ROWS = 0  # thresholds up to which it does not matter whether h consists of straight lines
_FEW_ROWS = 2  # thresholds up to which h itself is cheaper than a histogram: every operation passes over the data
_FEW_INTERVALS = 40  # up to which a product of matrices is cheaper than a histogram
_NO_FLOAT64 = ("mps",)
_FEW_BOUNDS = 32  # with which to compare all numbers is cheaper than a search
_BLOCK = 2**12  # numbers that are added up in float32
STATE = (
    "float64" if torch.device(get_device()).type not in _NO_FLOAT64 else "float32"
)  # the type of variables in losses


# Values and types


def wide() -> str:
    """The type of totals."""
    return "float32" if torch.device(get_device()).type in _NO_FLOAT64 else "float64"


def is_dense(x: Any) -> bool:
    """Whether it is a dense tensor."""
    return isinstance(x, torch.Tensor) and x.layout == torch.strided and not x.is_nested


def one_hot(ids: Tensor, classes: int, dtype: str) -> Tensor:
    """One-hot vectors along a new last axis; 0 for ids that do not exist."""
    return ops.cast(ids[..., None] == torch.arange(classes, device=ids.device), dtype)


def cumsum(x: Tensor, axis: int) -> Tensor:
    """Running sums, in the type of the numbers."""
    return torch.cumsum(x, axis)  # that of Keras (3.15.1) is float32


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """The matrix product, in the type of the numbers."""
    return torch.matmul(x, y)  # likewise


def maximum(x: Tensor, low: float) -> Tensor:
    """The larger of a tensor and a number, in the type of the tensor."""
    return torch.clamp(x, min=low)  # likewise


def mean(x: Tensor, axis: int | None = None) -> Tensor:
    """The mean, in the type of the numbers."""
    return torch.mean(x) if axis is None else torch.mean(x, axis)  # likewise


def constant(x: np.ndarray) -> Any:
    """An array as operations with tensors take it."""
    return ops.convert_to_tensor(x)


def clip(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """`ops.clip`, in which NaN stays NaN."""
    return ops.clip(x, low, high)


def bit_patterns(x: Tensor) -> Tensor:
    """The bit patterns of float32 numbers, as int32."""
    return x.contiguous().view(torch.int32)


def from_bit_patterns(x: Tensor) -> Tensor:
    """The float32 numbers of bit patterns."""
    return x.to(torch.int32).contiguous().view(torch.float32)


def count_below(p: Tensor, bounds: np.ndarray) -> Tensor:
    """How many of the bounds, in rising order, each number reaches, as int32."""
    if len(bounds) <= _FEW_BOUNDS:
        count = torch.zeros_like(p, dtype=torch.int8)
        for bound in bounds.tolist():
            count += p.detach() >= bound
        return count.to(torch.int32)
    return torch.bucketize(p.detach(), torch.as_tensor(bounds, device=p.device), right=True, out_int32=True)


def look_up(table: Tensor, index: Tensor) -> Tensor:
    """The entries of a table of one axis."""
    return torch.index_select(table, 0, index.reshape(-1)).reshape(index.shape)  # `ops.take` takes thrice as long


# Sums


def total(x: Tensor, axis: int = 0) -> Tensor:
    """The sum along an axis, in the type of totals."""
    if wide() == "float32":
        return _single.sum_in_steps(x, axis)
    x = torch.movedim(x, axis, 0)
    whole = len(x) // _BLOCK * _BLOCK  # short float32 sums, joined in float64: casting all of x would be a copy of it
    blocks = x[:whole].reshape(-1, _BLOCK, *x.shape[1:]).sum(1)
    return blocks.sum(0, dtype=torch.float64) + x[whole:].sum(0, dtype=torch.float64)


def faster(by_row: Any, intervals: Any, shape: tuple[int, ...]) -> Any:
    """The fastest of the kernels."""
    if intervals.plain and intervals.size <= _FEW_INTERVALS:
        return Blocks(intervals)
    if len(by_row.rows) > _FEW_ROWS:
        return intervals
    by_row.slopes = intervals.slopes  # a look-up is cheaper than differentiating h
    return by_row


def cleaned(samples: Any) -> Any:
    """The samples with the rules about values; if all are valid, as nearly always, they are only looked at."""
    y, p, w = samples.label, samples.prediction, samples.weight
    if not is_eager(p) or p.numel() == 0:
        return samples.cleaned()
    ends = [torch.aminmax(x.detach()) for x in (y, p)]
    valid = all(bool(low >= 0) and bool(high <= 1) for low, high in ends)
    if valid and w is not None:
        low, high = torch.aminmax(w)
        valid = bool(low > 0) and bool(high < np.inf)
    return samples if valid else samples.cleaned()


def sum_samples(*arrays: Tensor) -> Tensor:
    """Sums each array over samples, to (arrays, classes)."""
    return torch.stack([total(x) for x in arrays])


def bin_sums(index: Tensor, values: list[Tensor], size: int) -> Tensor:
    """Sums numbers by bin, (values, size)."""
    dtype = getattr(torch, wide())
    flat = index.reshape(-1)
    sums = [torch.bincount(flat, x.detach().reshape(-1).to(dtype), minlength=size) for x in values]
    return torch.stack(sums).to(dtype)  # of nothing, they are integers


def add_total(metric: Any, shape: tuple[int, ...], name: str) -> Any:
    """A variable of a metric for exact totals."""
    if wide() == "float32":
        return _single.Pair(metric, shape, name)
    return metric.add_variable(shape, "zeros", dtype="float64", name=name)


def cond(condition: Tensor, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """One of two values."""
    return ops.cond(condition, yes, no)


def assign_either(condition: Tensor, yes: Callable[[], Any], no: Callable[[], Any], totals: list[Any]) -> None:
    """Calls one of two functions that assign to variables of a metric."""
    ops.cond(condition, yes, no)


def value_of(total: Any) -> Tensor:
    """The value of a variable of `add_total`."""
    return total.value if isinstance(total, _single.Pair) else ops.convert_to_tensor(total)


# Gradients


class _WithSlope(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, function: Any, slope: Any, p: Tensor) -> Tensor:
        context.save_for_backward(p)
        context.slope = slope
        return function(p)

    @staticmethod
    def backward(context: Any, upstream: Tensor) -> tuple[None, None, Tensor]:
        return None, None, context.slope(*context.saved_tensors, upstream)


def or_zero(x: Tensor) -> Tensor:
    """0 in place of NaN: one invalid batch must not make all weights NaN."""
    return torch.nan_to_num(x, nan=0.0, posinf=np.inf, neginf=-np.inf)


def with_gradient(function: Callable[[Tensor], Tensor], slope: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """A function of p with a gradient of its own, slope(p, upstream), which can be differentiated again."""
    return lambda p: _WithSlope.apply(function, slope, p)


def gradient(function: Callable[[Tensor], Tensor], x: Tensor, upstream: Tensor) -> Tensor:
    """The gradient of an elementwise function; it can be differentiated again if a graph is being recorded."""
    again = torch.is_grad_enabled()
    with torch.enable_grad():
        at = x if x.requires_grad else x.detach().requires_grad_()
        value = function(at)
        if not value.requires_grad:
            return torch.zeros_like(x)
        (found,) = torch.autograd.grad(value, at, upstream, create_graph=again, allow_unused=True)
    return torch.zeros_like(x) if found is None else found


def derivative(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The gradient of a function of one tensor, as a constant; 0 where it does not depend on the tensor."""
    with torch.enable_grad():
        at = x.detach().requires_grad_()
        value = function(at)
        found = torch.autograd.grad(value, at, allow_unused=True)[0] if value.requires_grad else None
    return torch.zeros_like(x) if found is None else found.detach()


def without_nan_gradient(x: Tensor) -> Tensor:
    """Returns `x`, with a gradient of 0 where it would be NaN: one invalid batch must not make all weights NaN."""
    return with_gradient(lambda x: x.clone(), lambda x, upstream: torch.where(torch.isnan(upstream), 0.0, upstream))(x)


def is_differentiated(x: Tensor) -> bool:
    """Whether a gradient with respect to what `x` was computed from is being recorded: in a training step."""
    return torch.is_grad_enabled() and bool(getattr(x, "requires_grad", False))


# Masks and logits


def logits_behind(p: Tensor, activation: str) -> Tensor | None:
    """The logits from which Keras has just computed `p`, by `"sigmoid"` or `"softmax"`; `None` if it has not."""
    logits = getattr(p, "_keras_logits", None)
    if logits is None or not is_eager(logits):
        return None
    again = torch.sigmoid(logits) if activation == "sigmoid" else torch.softmax(logits, -1)
    if again.shape != p.shape or not bool(torch.all(torch.abs(again - p) < 1e-2)):
        return None
    mask = mask_of(p)
    return logits if mask is None else with_mask(logits.view_as(logits), mask)


# Tracing, of which there is none


def untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return function


def as_graph(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function of tensors, which may be passed as arrays."""
    return lambda *arrays: function(*map(ops.convert_to_tensor, arrays))


def compiled(function: Callable[..., Tensor]) -> list[Callable[..., Tensor]]:
    """None: this backend runs functions as they are."""
    return []


def outside_of_graphs() -> contextlib.AbstractContextManager[Any]:
    """A scope in which variables have values."""
    return contextlib.nullcontext()
