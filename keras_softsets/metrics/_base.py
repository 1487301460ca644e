"""The base of all metrics: cells of everything since the last reset, in float64."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import keras
from keras import ops

from keras_softsets import _backend
from keras_softsets._adapters import Shown
from keras_softsets._backend import Tensor
from keras_softsets._evaluation import Evaluation
from keras_softsets.operating import KeptSamples, bins_for
from keras_softsets.samples import explain


class CellsMetric(Shown, keras.metrics.Metric):
    """Adds up cells over batches and replicas; subclasses compute `result` from them.

    Totals are kept in float64, so counts stay exact past 2^24 samples.
    """

    def __init__(
        self, evaluation: Evaluation, *, name: str, dtype: Any = None, class_names: Sequence[str] | None = None
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.evaluation = evaluation
        self.class_names = None if class_names is None else self._check_names(class_names)
        self._direction = "up"  # read by Keras's callbacks with mode="auto" (3.15.1)
        self._totals: Any = None
        self._kept: KeptSamples | None = None  # where the data determine the thresholds

    @_backend.untraced
    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Adds a batch to the cells; takes the same arguments as `confusion_matrix`."""
        samples = self.evaluation.samples(y_true, y_pred, sample_weight)
        if self.evaluation.totals.bits is not None:
            explain(samples, self._keep(samples.classes).add(samples))
            return
        totals = self.evaluation.sum(samples)
        self._build(tuple(totals.shape))
        self._totals.assign_add(totals)

    @_backend.untraced
    def merge_state(self, metrics: Iterable[CellsMetric]) -> None:
        """Adds the cells of other metrics of the same kind, for example from other shards of the data."""
        for metric in metrics:
            if not self.evaluation.totals.adds_up_with(metric.evaluation.totals):
                raise ValueError(
                    "Metrics that are merged must have the same `threshold` and `heaviside`. Received: "
                    f"{metric.evaluation.decision}, {metric.evaluation.heaviside!r}, where this one has "
                    f"{self.evaluation.decision}, {self.evaluation.heaviside!r}"
                )
            if metric._totals is not None:
                self._build(tuple(metric._totals.shape))
                self._totals.assign_add(_backend.value_of(metric._totals))
            if metric._kept is not None:
                self._keep(metric._kept.classes).merge(metric._kept)

    @_backend.untraced
    def _values(self) -> list[Tensor]:
        """The scores of everything since the last reset; there must have been a batch."""
        if self._kept is None:
            return self.evaluation.values(_backend.value_of(self._totals))
        totals, scores = self.evaluation.totals, self.evaluation.scores
        return self._kept.choose(
            lambda samples: [totals.of_samples(score, samples) for score in scores],
            lambda bins, weights: [totals.of_bins(score, bins, weights) for score in scores],
        )

    def _check_names(self, class_names: Sequence[str]) -> tuple[str, ...]:
        of_cells = all(score.of == "cells" for score in self.evaluation.scores)
        if self.evaluation.average is not None or not of_cells:
            raise ValueError(
                "`class_names` must be None unless `average` is None and scores have a value for each class. "
                f"Received: class_names={class_names!r}, average={self.evaluation.average!r}"
            )
        return check_names(class_names)

    def _named(self, key: str, value: Tensor) -> dict[str, Tensor]:
        """Returns one entry for the logs, or one for each class if these have names."""
        value = ops.cast(value, self.dtype)
        if self.class_names is None:
            return {key: value}
        keys = [f"{key}_{name}" for name in self.class_names]
        if self._empty:
            return dict.fromkeys(keys, value)
        if len(keys) != value.shape[0]:
            raise ValueError(
                f"`class_names` must have one name for each of the {value.shape[0]} classes. "
                f"Received: class_names={list(self.class_names)}"
            )
        return dict(zip(keys, ops.unstack(value)))

    @property
    def _empty(self) -> bool:
        """Whether there has never been a batch."""
        return self._totals is None and self._kept is None

    def _keep(self, classes: int | None) -> KeptSamples:
        if not classes:
            raise ValueError(f"`y_pred` must have a known number of classes, its last axis. Received: {classes}")
        if self._kept is None:
            self._kept = KeptSamples(self, bins_for(classes, self.evaluation.totals.bits), classes)
        check_classes(classes, self._kept.classes)
        return self._kept

    def _build(self, shape: tuple[int | None, ...]) -> None:
        if self._totals is None:
            if None in shape:
                raise ValueError(f"`y_pred` must have a known number of classes, its last axis. Received: {shape[-1]}")
            known: Any = shape
            self._totals = _backend.add_total(self, known, "cells")
        if tuple(self._totals.shape) != shape:
            check_classes(shape[-1], self._totals.shape[-1])

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "class_names": None if self.class_names is None else list(self.class_names)}

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        names = {} if self.class_names is None else {"class_names": list(self.class_names)}
        return {**self.evaluation.config(), **names, **super().get_config()}


def check_names(class_names: Any) -> tuple[str, ...]:
    """Returns names of classes if they are different strings."""
    listed = () if isinstance(class_names, str) else tuple(class_names)
    if not listed or not all(isinstance(name, str) and name for name in listed) or len(set(listed)) < len(listed):
        raise ValueError(
            f"`class_names` must be a sequence of different names, one for each class. Received: {class_names!r}"
        )
    return listed


def check_classes(classes: int | None, before: int) -> None:
    """Raises if the number of classes has changed."""
    if classes != before:
        raise ValueError(f"`y_pred` must have the same number of classes in every batch, {before}. Received: {classes}")
