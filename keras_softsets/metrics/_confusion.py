"""The cells themselves as a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keras import ops

from keras_softsets import _backend
from keras_softsets._backend import Tensor
from keras_softsets._evaluation import Evaluation
from keras_softsets._totals import averaged, sum_cells
from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.matrices import ConfusionMatrix
from keras_softsets.metrics._base import CellsMetric, check_names
from keras_softsets.metrics._soft_set import register
from keras_softsets.samples import Samples
from keras_softsets.scores import Score, get


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
        if evaluation.per_sample:
            raise ValueError(
                "`average` must not be 'samples' for cells, which add up over samples. Received: average='samples'"
            )
        super().__init__(evaluation, name=name, dtype=dtype)

    def result(self) -> dict[str, Tensor]:
        """Returns the cells of everything since the last reset."""
        prefix = "" if self.name == "confusion" else f"{self.name}_"
        keys = [prefix + cell for cell in ConfusionMatrix._fields]
        if self._empty:
            return dict.fromkeys(keys, ops.zeros((), dtype=self.dtype))
        cells = self._cells()
        if self.evaluation.average is not None:
            cells = ConfusionMatrix(
                *(averaged(score, cells, self.evaluation.average) for score in self.evaluation.scores)
            )
        return {key: ops.cast(cell, self.dtype) for key, cell in zip(keys, cells)}

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "threshold": self.evaluation.decision.written()}

    def _cells(self) -> ConfusionMatrix:
        """The cells of everything; at an operating point, where the rate is just met, as in `confusion_matrix`."""
        if self._kept is None:
            return ConfusionMatrix.from_stacked(_backend.value_of(self._totals))

        def at_boundary(samples: Samples) -> Tensor:
            return sum_cells(samples, self.evaluation.decision, self.evaluation.heaviside)

        stacked = self._kept.choose(at_boundary, lambda bins, weights: at_boundary(bins.samples(weights)))
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
        class_names: Names of the classes: the result is then a dict of numbers with the keys `cat_as_cat`, `cat_as_dog`
            (a cat decided as a dog) and so on. Defaults to `None`: a matrix, of which Keras's progress bar shows the
            mean.
        name: Name of the metric. Any name other than the default is put before the keys. Defaults to
            `"multiclass_confusion"`.
        dtype: Type of the counts. Defaults to `None`, floatx.

    Examples:
        >>> MulticlassConfusion()([0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]]).numpy().tolist()
        [[1.0, 0.0], [1.0, 1.0]]
        >>> named = MulticlassConfusion(class_names=["cat", "dog"])
        >>> counts = named([0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]])
        >>> {key: float(count) for key, count in counts.items()}
        {'cat_as_cat': 1.0, 'cat_as_dog': 0.0, 'dog_as_cat': 1.0, 'dog_as_dog': 1.0}
    """

    def __init__(
        self,
        *,
        threshold: DecisionLike = "argmax",
        heaviside: HeavisideLike = "step",
        from_logits: bool = False,
        ignore_class: int | None = None,
        class_names: Sequence[str] | None = None,
        name: str = "multiclass_confusion",
        dtype: Any = None,
    ) -> None:
        evaluation = Evaluation(
            [get("multiclass_accuracy")],
            threshold=threshold,
            heaviside=heaviside,
            average="macro",
            from_logits=from_logits,
            ignore_class=ignore_class,
        )
        super().__init__(evaluation, name=name, dtype=dtype, class_names=class_names)

    def result(self) -> Tensor | dict[str, Tensor]:
        """Returns the matrix of everything since the last reset, by class if these have names; 0 before any batch."""
        counts = ops.cast(0 if self._empty else _backend.value_of(self._totals), self.dtype)
        if self.class_names is None:
            return counts
        prefix = "" if self.name == "multiclass_confusion" else f"{self.name}_"
        keys = [f"{prefix}{true}_as_{decided}" for true in self.class_names for decided in self.class_names]
        if self._empty:
            return dict.fromkeys(keys, counts)
        if len(self.class_names) != counts.shape[0]:
            raise ValueError(
                f"`class_names` must have one name for each of the {counts.shape[0]} classes. "
                f"Received: class_names={list(self.class_names)}"
            )
        return dict(zip(keys, ops.unstack(ops.reshape(counts, (-1,)), len(keys))))

    def _check_names(self, class_names: Sequence[str]) -> tuple[str, ...]:
        return check_names(class_names)

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "threshold": self.evaluation.decision.written()}

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        unused = ("zero_division", "per_sample", "average")
        return {name: value for name, value in super().get_config().items() if name not in unused}
