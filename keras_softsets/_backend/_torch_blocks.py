"""Cells of many samples with PyTorch, block by block: what stays in the cache of a processor is not fetched again."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from keras_softsets import _backend
from keras_softsets._backend._types import Tensor
from keras_softsets._backend.portable import AtOnce, sides

_IN_CACHE, _IN_MEMORY = 2**18, 2**24  # numbers in a block, for each thread and on another device


class Blocks(AtOnce):
    """Cells of a block of samples at a time, which stays in the cache of a processor."""

    def __init__(self, intervals: Any) -> None:
        super().__init__(intervals)
        start, width = intervals.edges[:-1], np.diff(intervals.edges)
        # Distances from the float32 numbers beside the edges lose no digit; they are clamped at the edges themselves.
        near = start.astype("float32")
        beside = near - start
        # The last row is 1, and counts the weight.
        bounds = np.array([[*near, 0], [*-beside, 1], [*(width - beside), 1]])
        self.bounds = bounds.astype("float32")
        self.to_shares = np.diag([*1 / width, 1])
        self.to_shares[:-1, -1] = beside / width

    def reached(self, y: Tensor, p: Tensor, w: Tensor | None) -> Tensor:
        """How much weight has reached each interval, and the totals, (classes, label, intervals + 1)."""
        dtype = getattr(torch, _backend.wide())
        near, low, high = (torch.as_tensor(x[:, None], device=p.device) for x in self.bounds)
        found = torch.zeros((p.shape[1], 2, self.intervals.size + 1), dtype=dtype, device=p.device)
        for start, end in self._blocks(p):
            far = p[start:end].T[:, None] - near  # (classes, intervals, samples)
            torch.clamp(far, low, high, out=far)
            both = torch.stack(sides(y[start:end], None if w is None else w[start:end])[::-1])
            found += torch.matmul(both.permute(2, 0, 1), far.transpose(1, 2)).to(dtype)
        return torch.matmul(found, torch.as_tensor(self.to_shares.T, dtype=dtype, device=p.device))

    def slopes(self, negative: Tensor, positive: Tensor, y: Tensor, p: Tensor) -> Tensor:
        """The gradient in p, from how much a loss rises with h of negatives and of positives, (rows, classes)."""
        if torch.is_grad_enabled():  # for a second derivative
            return super().slopes(negative, positive, y, p)
        slope, edges = (torch.as_tensor(x, device=p.device) for x in (self.intervals.slope, self.intervals.rounded))
        one, edges, found = torch.ones_like(edges), edges[:, None], torch.empty_like(p)
        tables = [pull.T @ slope for pull in (negative, positive)]  # (classes, places)
        for start, end in self._blocks(p):
            for k in range(p.shape[1]):
                reached = torch.matmul(one, (p[start:end, k] - edges).sign_())
                place = (reached + self.intervals.size).to(torch.int32).clamp_(0, 2 * self.intervals.size)
                of = [torch.index_select(table[k], 0, place) for table in tables]
                found[start:end, k] = torch.lerp(*of, y[start:end, k])
        return found

    def _blocks(self, p: Tensor) -> Any:
        room = _IN_CACHE * torch.get_num_threads() if p.device.type == "cpu" else _IN_MEMORY
        size = max(room // (self.intervals.size * max(p.shape[1], 1)), 1)
        return [(start, start + size) for start in range(0, p.shape[0], size)]
