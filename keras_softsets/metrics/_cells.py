"""The base of all metrics: cells of everything since the last reset, in float64."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras

from keras_softsets import _replicas
from keras_softsets._backend import Tensor
from keras_softsets.decisions import AtRate
from keras_softsets.evaluation import Evaluation


class CellsMetric(keras.metrics.Metric):
    """Adds up cells over batches and replicas; subclasses say what `result` makes of them.

    Totals are kept in float64, so counts stay exact past 2^24 samples.
    """

    def __init__(self, evaluation: Evaluation, *, name: str, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        if isinstance(evaluation.decision, AtRate) and evaluation.heaviside.differentiable:
            raise ValueError(
                f"`heaviside` of a metric must be the step with threshold={evaluation.decision!r}. "
                f"Received: heaviside={evaluation.heaviside!r}"
            )
        self.evaluation = evaluation
        self._direction = "up"  # what Keras's callbacks look for with mode="auto" (3.15.1)
        self._totals: Any = None

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Adds a batch to the cells; arguments as in `confusion_matrix`."""
        totals = self.evaluation.totals(y_true, y_pred, sample_weight)
        self._build(tuple(totals.shape))
        self._totals.assign_add(totals)

    def merge_state(self, metrics: Iterable[CellsMetric]) -> None:
        """Adds what other metrics of the same kind have seen, for example on other shards of the data."""
        for metric in metrics:
            if not self.evaluation.adds_up_with(metric.evaluation):
                raise ValueError(
                    "Metrics that are merged must have the same `threshold` and `heaviside`. Received: "
                    f"{metric.evaluation.decision}, {metric.evaluation.heaviside!r}, where this one has "
                    f"{self.evaluation.decision}, {self.evaluation.heaviside!r}"
                )
            if metric._totals is not None:
                self._build(tuple(metric._totals.shape))
                self._totals.assign_add(metric._totals)

    def _build(self, shape: tuple[int | None, ...]) -> None:
        if self._totals is None:
            if None in shape:
                raise ValueError(f"`y_pred` must have a known number of classes, its last axis. Received: {shape[-1]}")
            self._totals = _replicas.make_variable(
                lambda: self.add_variable(shape, "zeros", dtype="float64", name="cells")
            )
        elif tuple(self._totals.shape) != shape:
            raise ValueError(
                f"`y_pred` must have the same number of classes in every batch, {self._totals.shape[-1]}. "
                f"Received: {shape[-1]}"
            )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return {**self.evaluation.config(), **super().get_config()}
