"""Peers in PyTorch, where the `peers` extra is installed: forward + gradient on one batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

AP_PERF_BATCH = 20  # its projection is cubic in the batch: 20 samples take about as long as the others' million


def torch_btg(arrays: list[np.ndarray]) -> Callable[[], Any] | None:
    """The authors' F1 loss at 0.1, ..., 0.9; its hard-coded `.cuda()` is made a no-op."""
    try:
        import torch

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from torch_btg.loss import fb_loss
    except ImportError:
        return None
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[method-assign]  # replaced on purpose, see above
    loss = fb_loss()
    y, p = (torch.tensor(x[:, 0]) for x in arrays[:2])
    p.requires_grad_()

    def run() -> float:
        p.grad = None
        value = loss(p, y)[0]
        value.backward()
        return float(value)

    return run


def ap_perf(arrays: list[np.ndarray]) -> Callable[[], Any] | None:
    """AP-Perf's F1 layer, on the logits of the first few samples."""
    try:
        import torch
        from ap_perf import MetricLayer, PerformanceMetric
    except ImportError:
        return None

    class F1(PerformanceMetric):  # type: ignore[misc]  # the package has no types
        def define(self, C: Any) -> Any:
            return 2 * C.tp / (C.ap + C.pp)

    metric = F1()
    metric.initialize()
    metric.enforce_special_case_positive()
    layer = MetricLayer(metric)
    y = torch.tensor((np.arange(AP_PERF_BATCH) % 4 == 0).astype("float32"))
    p = np.clip(arrays[1][:AP_PERF_BATCH, 0], 1e-3, 1 - 1e-3)
    logits = torch.tensor(np.log(p / (1 - p)), requires_grad=True)

    def run() -> float:
        logits.grad = None
        value = layer(logits, y)
        value.backward()
        return float(value)

    return run
