"""The cells themselves as a metric."""

from __future__ import annotations

from typing import Any

from keras import ops

from keras_softsets._backend import Tensor
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.decisions import DecisionLike
from keras_softsets.evaluation import Evaluation
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.metrics._cells import CellsMetric
from keras_softsets.metrics._score import register
from keras_softsets.scores import Score


@register
class Confusion(CellsMetric):
    """The cells themselves, as a dict with the keys `tp`, `fp`, `fn` and `tn`.

    Args:
        threshold: As in `SoftSetMetric`. Defaults to `0.5`.
        heaviside: As in `SoftSetMetric`. Defaults to `"step"`.
        average: `"micro"` sums the cells over classes, `"macro"` and `"weighted"` average them, and each averages over
            thresholds; `None` gives all of them, of shape (thresholds, classes). Defaults to `"micro"`.
        from_logits: As in `SoftSetMetric`. Defaults to `False`.
        name: Name of the metric. Any other than the default goes before the keys, `low_tp` for `name="low"`, so that
            several of them can be in one model: Keras logs the keys alone. Defaults to `"confusion"`.
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
        )
        super().__init__(evaluation, name=name, dtype=dtype)

    def result(self) -> dict[str, Tensor]:
        """Returns the cells of everything since the last reset."""
        prefix = "" if self.name == "confusion" else f"{self.name}_"
        keys = [prefix + cell for cell in ConfusionMatrix._fields]
        if self._totals is None:
            return dict.fromkeys(keys, ops.zeros((), dtype=self.dtype))
        totals = ops.convert_to_tensor(self._totals)
        cells = ops.unstack(totals, 4) if self.evaluation.average is None else self.evaluation.values(totals)
        return {key: ops.cast(cell, self.dtype) for key, cell in zip(keys, cells)}
