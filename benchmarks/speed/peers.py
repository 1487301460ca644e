"""Peers in PyTorch, where the `peers` extra is installed: forward + gradient on one batch."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.speed.batch import Batch
from benchmarks.speed.timing import Run

AP_PERF_BATCH = 20  # its projection is cubic in the batch: 20 samples take about as long as the others' million


@dataclass(frozen=True)
class Peer:
    """A loss of another package.

    Attributes:
        name: What tables call it.
        package: What has to be installed.
        build: Returns a step on labels and probabilities.
    """

    name: str
    package: str
    build: Callable[[list[np.ndarray]], Run]

    def step(self, batch: Batch, compiled: bool) -> Run | None:
        """Returns a step; None if the package is not installed. PyTorch is not compiled in either case."""
        return self.build(batch.arrays()) if importlib.util.find_spec(self.package) else None


def _torch_btg(arrays: list[np.ndarray]) -> Run:
    """The authors' F1 loss at 0.1, ..., 0.9; its hard-coded `.cuda()` is made a no-op."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch_btg.loss import fb_loss
    torch.Tensor.cuda = lambda self, *_, **__: self  # replaced on purpose, see above
    loss = fb_loss()
    y, p = (torch.tensor(x[:, 0]) for x in arrays[:2])
    return _step(p, lambda: loss(p, y)[0])


def _ap_perf(arrays: list[np.ndarray]) -> Run:
    """AP-Perf's F1 layer, on the logits of the first few samples."""
    import torch

    from benchmarks import ap_perf_f1

    layer = ap_perf_f1.layer()
    y = torch.tensor((np.arange(AP_PERF_BATCH) % 4 == 0).astype("float32"))
    p = np.clip(arrays[1][:AP_PERF_BATCH, 0], 1e-3, 1 - 1e-3)
    logits = torch.tensor(np.log(p / (1 - p)))
    return _step(logits, lambda: layer(logits, y))


def _step(variable: Any, loss: Callable[[], Any]) -> Run:
    variable.requires_grad_()

    def run() -> float:
        variable.grad = None
        value = loss()
        value.backward()
        return float(value)

    return run


TORCH_BTG = Peer("torch-btg, 9 thresholds", "torch_btg", _torch_btg)
AP_PERF = Peer(f"AP-Perf, batch of {AP_PERF_BATCH}", "ap_perf", _ap_perf)
