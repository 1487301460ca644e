"""Sums over the processes of torch.distributed.

Each process sees its part of the batch. Totals are summed over processes before they are scored, by a sum whose
gradient is the sum of the processes' gradients. Every process then holds the loss L of the global batch, and N times
the gradient of L by its own part of the batch, where N is the number of processes: what DistributedDataParallel, which
averages gradients, needs. Metrics count what their own process sees, in variables that can be added up: samples that
are kept have rows of their own in every process.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from keras_softsets._backend._types import Tensor


def is_eager(x: Any) -> bool:
    """Whether a tensor has values that Python can look at: not while Keras tries a step out, or one is compiled."""
    return getattr(getattr(x, "device", None), "type", "") != "meta" and not torch.compiler.is_compiling()


def replicas_in_sync() -> int:
    """The number of processes."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def replica_index() -> int:
    """Which of them this is."""
    return dist.get_rank() if replicas_in_sync() > 1 else 0


class _SumOverProcesses(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        summed = x.clone()
        dist.all_reduce(summed)
        return summed

    @staticmethod
    def backward(context: Any, upstream: Tensor) -> Tensor:
        summed = upstream.clone()
        dist.all_reduce(summed)
        return summed


def sum_over_replicas(totals: Tensor) -> Tensor:
    """The sum over processes; its gradient is the sum of their gradients."""
    return totals if replicas_in_sync() == 1 or not is_eager(totals) else _SumOverProcesses.apply(totals)


def gather_samples(samples: Any) -> Any:
    """The samples of all processes, without gradients."""
    if replicas_in_sync() == 1 or not is_eager(samples.prediction):
        return samples
    label, prediction = (_gathered(x.detach()) for x in (samples.label, samples.prediction))
    weight = None if samples.weight is None else _gathered(samples.weight.detach())
    return samples._replace(label=label, prediction=prediction, weight=weight)


def _gathered(x: Tensor) -> Tensor:
    """Along the first axis, whose length differs between processes."""
    own = torch.tensor([x.shape[0]], device=x.device)
    counts = [torch.zeros_like(own) for _ in range(replicas_in_sync())]
    dist.all_gather(counts, own)
    most = int(max(counts))
    padded = torch.cat([x, x.new_zeros((most - x.shape[0], *x.shape[1:]))])
    found = [torch.zeros_like(padded) for _ in counts]
    dist.all_gather(found, padded.contiguous())
    return torch.cat([part[: int(count)] for part, count in zip(found, counts)])
