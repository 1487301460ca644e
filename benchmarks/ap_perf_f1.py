"""Fathony and Kolter's adversarial F1, from their own package `ap-perf` (PyTorch), which the `peers` extra installs."""

from __future__ import annotations

from typing import Any

from ap_perf import MetricLayer, PerformanceMetric


class F1(PerformanceMetric):
    """The metric in the package's own notation."""

    def define(self, C: Any) -> Any:
        return 2 * C.tp / (C.ap + C.pp)


def layer() -> MetricLayer:
    """Returns the loss, a function of logits and labels."""
    metric = F1()
    metric.initialize()
    metric.enforce_special_case_positive()
    return MetricLayer(metric)
