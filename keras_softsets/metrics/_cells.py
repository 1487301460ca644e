"""The base of all metrics: cells of everything since the last reset, in float64."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras
from keras import ops

from keras_softsets import _replicas
from keras_softsets._backend import Tensor
from keras_softsets._repr import Shown
from keras_softsets.decisions import AtRate
from keras_softsets.evaluation import Evaluation
from keras_softsets.metrics._first_samples import FirstSamples


class CellsMetric(Shown, keras.metrics.Metric):
    """Adds up cells over batches and replicas; subclasses compute `result` from them.

    Totals are kept in float64, so counts stay exact past 2^24 samples.
    """

    def __init__(self, evaluation: Evaluation, *, name: str, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.evaluation = evaluation
        self._direction = "up"  # read by Keras's callbacks with mode="auto" (3.15.1)
        self._totals: Any = None
        self._first: FirstSamples | None = None  # at an operating point

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Adds a batch to the cells; takes the same arguments as `confusion_matrix`."""
        data = self.evaluation.data(y_true, y_pred, sample_weight)
        totals = self.evaluation.totals_of(data, **({"additive": True} if self._at_rate() else {}))
        self._build(tuple(totals.shape))
        self._totals.assign_add(totals)
        if self._first is not None:
            self._first.add(data)

    def merge_state(self, metrics: Iterable[CellsMetric]) -> None:
        """Adds the cells of other metrics of the same kind, for example from other shards of the data."""
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
            if self._first is not None and metric._first is not None:
                self._first.merge(metric._first)

    def _values(self) -> list[Tensor]:
        """The scores of everything since the last reset; there must have been a batch."""
        totals, first = ops.convert_to_tensor(self._totals), self._first
        if first is None:
            return self.evaluation.values(totals)
        return ops.cond(
            first.complete(),
            lambda: self.evaluation.values_at_points(first.samples()),
            lambda: self.evaluation.values(totals),
        )

    def _at_rate(self) -> bool:
        return isinstance(self.evaluation.decision, AtRate)

    def _build(self, shape: tuple[int | None, ...]) -> None:
        if self._totals is None:
            if None in shape:
                raise ValueError(f"`y_pred` must have a known number of classes, its last axis. Received: {shape[-1]}")
            self._totals = _replicas.make_variable(
                lambda: self.add_variable(shape, "zeros", dtype="float64", name="cells")
            )
            self._first = FirstSamples(self, self._totals.shape[-1]) if self._at_rate() else None
        elif tuple(self._totals.shape) != shape:
            raise ValueError(
                f"`y_pred` must have the same number of classes in every batch, {self._totals.shape[-1]}. "
                f"Received: {shape[-1]}"
            )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return {**self.evaluation.config(), **super().get_config()}
