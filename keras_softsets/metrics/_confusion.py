"""The cells themselves as a metric."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets._operating import samples_of_bins
from keras_softsets._samples import Samples
from keras_softsets.confusion import ConfusionMatrix, sum_stacked_cells
from keras_softsets.decisions import DecisionLike, written
from keras_softsets.evaluation import Evaluation
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.metrics._cells import CellsMetric
from keras_softsets.metrics._score import register
from keras_softsets.scores import Score, averaged


@register
class Confusion(CellsMetric):
    """The cells themselves, as a dict with the keys `tp`, `fp`, `fn` and `tn`.

    Args:
        threshold: As in `SoftSetMetric`; at an operating point, the cells are taken where the rate is just met, as in
            `confusion_matrix`. Defaults to `0.5`.
        heaviside: As in `SoftSetMetric`. Defaults to `"step"`.
        average: `"micro"` sums the cells over classes, `"macro"` and `"weighted"` average them, and all three average
            over thresholds; `None` gives all cells, of shape (thresholds, classes). Defaults to `"micro"`.
        from_logits: As in `SoftSetMetric`. Defaults to `False`.
        ignore_class: As in `SoftSetMetric`. Defaults to `None`.
        name: Name of the metric. Any name other than the default is put before the keys, `low_tp` for `name="low"`, so
            that one model can have several: Keras logs the keys alone. Defaults to `"confusion"`.
        dtype: Type of the cells. Defaults to `None`, floatx.

    Examples:
        >>> cells = Confusion()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])
        >>> {name: float(cell) for name, cell in cells.items()}
        {'tp': 1.0, 'fp': 1.0, 'fn': 1.0, 'tn': 2.0}
    """

    def __init__(
        self,
        *,
        threshold: DecisionLike = 0.5,
        heaviside: HeavisideLike = "step",
        average: str | None = "micro",
        from_logits: bool = False,
        ignore_class: int | None = None,
        name: str = "confusion",
        dtype: Any = None,
    ) -> None:
        evaluation = Evaluation(
            [
                Score(lambda cells, cell=cell: getattr(cells, cell), registered=False)
                for cell in ConfusionMatrix._fields
            ],
            threshold=threshold,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            ignore_class=ignore_class,
        )
        super().__init__(evaluation, name=name, dtype=dtype)

    def result(self) -> dict[str, Tensor]:
        """Returns the cells of everything since the last reset."""
        prefix = "" if self.name == "confusion" else f"{self.name}_"
        keys = [prefix + cell for cell in ConfusionMatrix._fields]
        if self._totals is None:
            return dict.fromkeys(keys, ops.zeros((), dtype=self.dtype))
        cells = self._cells()
        if self.evaluation.average is not None:
            cells = ConfusionMatrix(
                *(averaged(score, cells, self.evaluation.average) for score in self.evaluation.scores)
            )
        return {key: ops.cast(cell, self.dtype) for key, cell in zip(keys, cells)}

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "threshold": written(self.evaluation.decision)}

    def _cells(self) -> ConfusionMatrix:
        """The cells of everything; at an operating point, where the rate is just met, as in `confusion_matrix`."""
        totals, first = ops.convert_to_tensor(self._totals), self._first
        if first is None:
            return ConfusionMatrix.from_stacked(totals)

        def at_boundary(samples: Samples) -> Tensor:
            return sum_stacked_cells(samples, self.evaluation.decision, self.evaluation.heaviside)

        stacked = ops.cond(
            first.complete(), lambda: at_boundary(first.samples()), lambda: at_boundary(samples_of_bins(totals))
        )
        return ConfusionMatrix.from_stacked(stacked)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        unused = ("zero_division", "per_sample")
        return {name: value for name, value in super().get_config().items() if name not in unused}


@register
class MulticlassConfusion(CellsMetric):
    """The c x c confusion matrix itself: weight by true class (rows) and by decided class (columns).

    Args:
        threshold: `"argmax"`, or a value such as `Argmax(offsets=[0.0, 0.3])`. Defaults to `"argmax"`.
        heaviside: `"step"` for counts; anything else for the soft matrix. Defaults to `"step"`.
        from_logits: Whether predictions are the logits of a softmax. Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
        name: Name of the metric. Defaults to `"multiclass_confusion"`.
        dtype: Type of the counts. Defaults to `None`, floatx.

    Examples:
        >>> MulticlassConfusion()([0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]]).numpy().tolist()
        [[1.0, 0.0], [1.0, 1.0]]
    """

    def __init__(
        self,
        *,
        threshold: DecisionLike = "argmax",
        heaviside: HeavisideLike = "step",
        from_logits: bool = False,
        ignore_class: int | None = None,
        name: str = "multiclass_confusion",
        dtype: Any = None,
    ) -> None:
        evaluation = Evaluation(
            ["multiclass_accuracy"],
            threshold=threshold,
            heaviside=heaviside,
            average="macro",
            from_logits=from_logits,
            ignore_class=ignore_class,
        )
        super().__init__(evaluation, name=name, dtype=dtype)

    def result(self) -> Tensor:
        """Returns the matrix of everything since the last reset; 0 before the first batch."""
        return ops.cast(0 if self._totals is None else ops.convert_to_tensor(self._totals), self.dtype)

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "threshold": written(self.evaluation.decision)}

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        unused = ("zero_division", "per_sample", "average")
        return {name: value for name, value in super().get_config().items() if name not in unused}
