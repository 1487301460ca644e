"""Metrics: the same scores on cells that are accumulated over batches and replicas, so an epoch's value is exact.

The default, `heaviside="step"`, is the usual metric; `heaviside="linear"` gives the soft score that a loss optimises,
over the whole epoch instead of as a mean of batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import keras
from keras import ops

from keras_softsets import _replicas, scores
from keras_softsets._inputs import Tensor
from keras_softsets._recipe import HeavisideLike, Recipe, ScoreLike, ThresholdLike
from keras_softsets.confusion import ConfusionMatrix

# Hundredths, and closer to the ends powers of ten: set losses saturate, and a curve without points there reads low.
_ENDS = [10 ** (-k / 2) for k in range(13, 4, -1)]
CURVE_THRESHOLDS = (*_ENDS, *(k / 100 for k in range(1, 100)), *(1 - end for end in reversed(_ENDS)))

_register = keras.saving.register_keras_serializable(package="keras_softsets>metrics")


@_register
class SoftSetMetric(keras.metrics.Metric):
    """Metric for any score of the confusion matrix.

    Totals are kept in float64, so counts stay exact past 2^24 samples.

    Args:
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`.
        threshold: Where a probability turns positive, inside (0, 1); for a sequence the score is averaged over it.
            Defaults to `0.5`.
        heaviside: `"step"` (the usual metric), `"linear"`, `"sigmoid"` or a `Heaviside`. Defaults to `"step"`.
        average: How the values of several classes become one: `"macro"` (mean), `"micro"` (cells summed over classes),
            `"weighted"` (by positives), or `None` for one value for each class. Defaults to `"macro"`.
        from_logits: Whether predictions are logits, to which a sigmoid is applied. Defaults to `False`.
        name: Name of the metric. Defaults to `None`, the name of the score.
        dtype: Type of the result. Defaults to `None`, floatx.
        **score_args: Parameters of the score, such as `beta=2`.

    Examples:
        >>> metric = SoftSetMetric("f_beta", beta=2)
        >>> metric.update_state([0, 1], [0.6, 0.4])
        >>> metric.update_state([1, 1], [0.7, 0.9], sample_weight=[2, 1])
        >>> round(float(metric.result()), 4)
        0.75
    """

    def __init__(
        self,
        score: ScoreLike,
        *,
        threshold: ThresholdLike = 0.5,
        heaviside: HeavisideLike = "step",
        average: str | None = "macro",
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        **score_args: Any,
    ) -> None:
        self.recipe = Recipe(score, threshold, heaviside, average, from_logits, score_args)
        super().__init__(name=name or self.recipe.score.name, dtype=dtype)
        self._direction = "up"  # what Keras's callbacks look for with mode="auto" (3.15.1)
        self._cells: Any = None

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        """Adds a batch to the cells; arguments as in `confusion_matrix`."""
        cells = ops.stack(self.recipe.cells(y_true, y_pred, sample_weight, dtype="float64"))
        self._build(tuple(cells.shape))
        self._cells.assign_add(cells)

    def result(self) -> Tensor:
        """Returns the score of everything since the last reset; 0 before the first batch."""
        if self._cells is None:
            return ops.zeros((), dtype=self.dtype)
        return self._value(ConfusionMatrix(*ops.unstack(ops.convert_to_tensor(self._cells), 4)))

    def merge_state(self, metrics: Iterable[SoftSetMetric]) -> None:
        """Adds what other metrics of the same kind have seen, for example on other shards of the data."""
        for metric in metrics:
            if (metric.recipe.thresholds, metric.recipe.heaviside) != (self.recipe.thresholds, self.recipe.heaviside):
                raise ValueError(
                    "Metrics that are merged must have the same `threshold` and `heaviside`. "
                    f"Received: {metric.recipe.thresholds}, {metric.recipe.heaviside!r}, where this one has "
                    f"{self.recipe.thresholds}, {self.recipe.heaviside!r}"
                )
            if metric._cells is not None:
                self._build(tuple(metric._cells.shape))
                self._cells.assign_add(metric._cells)

    def _value(self, cells: ConfusionMatrix) -> Any:
        return ops.cast(self.recipe.value(cells), self.dtype)

    def _build(self, shape: tuple[int | None, ...]) -> None:
        if self._cells is None:
            if None in shape:
                raise ValueError(f"`y_pred` must have a known number of classes, its last axis. Received: {shape[-1]}")
            self._cells = _replicas.make_variable(
                lambda: self.add_variable(shape, "zeros", dtype="float64", name="cells")
            )
        elif tuple(self._cells.shape) != shape:
            raise ValueError(
                f"`y_pred` must have the same number of classes in every batch, {self._cells.shape[-1]}. "
                f"Received: {shape[-1]}"
            )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        return {**self.recipe.config(), **super().get_config()}


class NamedMetric(SoftSetMetric):
    """A `SoftSetMetric` whose score is given by its class; takes the same arguments otherwise."""

    score_name: ClassVar[str]

    def __init__(
        self,
        *,
        threshold: ThresholdLike = 0.5,
        heaviside: HeavisideLike = "step",
        average: str | None = "macro",
        from_logits: bool = False,
        name: str | None = None,
        dtype: Any = None,
        **score_args: Any,
    ) -> None:
        super().__init__(
            self.score_name,
            threshold=threshold,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            name=name,
            dtype=dtype,
            **score_args,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        config = super().get_config()
        del config["score"]
        return config


@_register
class FBeta(NamedMetric):
    """F-beta: recall counts `beta` times as much as precision. See `scores.f_beta`.

    Args:
        beta: Weight of recall, greater than 0. Defaults to `1.0`.
        **options: Those of `SoftSetMetric`.

    Examples:
        >>> round(float(FBeta(beta=2)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "f_beta"

    def __init__(self, beta: float = 1.0, **options: Any) -> None:
        super().__init__(beta=beta, **options)


@_register
class F1(NamedMetric):
    """F1. See `scores.f1`.

    Examples:
        >>> round(float(F1()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "f1"


@_register
class Accuracy(NamedMetric):
    """Accuracy. See `scores.accuracy`.

    Examples:
        >>> round(float(Accuracy()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.6
    """

    score_name = "accuracy"


@_register
class BalancedAccuracy(NamedMetric):
    """Balanced accuracy. See `scores.balanced_accuracy`.

    Examples:
        >>> round(float(BalancedAccuracy()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5833
    """

    score_name = "balanced_accuracy"


@_register
class Precision(NamedMetric):
    """Precision. See `scores.precision`.

    Examples:
        >>> round(float(Precision()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "precision"


@_register
class Recall(NamedMetric):
    """Recall. See `scores.recall`.

    Examples:
        >>> round(float(Recall()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "recall"


@_register
class Specificity(NamedMetric):
    """Specificity. See `scores.specificity`.

    Examples:
        >>> round(float(Specificity()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.6667
    """

    score_name = "specificity"


@_register
class Jaccard(NamedMetric):
    """Jaccard index (intersection over union). See `scores.jaccard`.

    Examples:
        >>> round(float(Jaccard()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.3333
    """

    score_name = "jaccard"


@_register
class GMean(NamedMetric):
    """Geometric mean of recall and specificity. See `scores.g_mean`.

    Examples:
        >>> round(float(GMean()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5774
    """

    score_name = "g_mean"


@_register
class MCC(NamedMetric):
    """Matthews correlation coefficient. See `scores.mcc`.

    Examples:
        >>> round(float(MCC()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.1667
    """

    score_name = "mcc"


@_register
class Tversky(NamedMetric):
    """Tversky index. See `scores.tversky`.

    Args:
        alpha: Price of a false positive, at least 0. Defaults to `0.5`.
        beta: Price of a false negative, at least 0. Defaults to `0.5`.
        **options: Those of `SoftSetMetric`.

    Examples:
        >>> round(float(Tversky(alpha=0.3, beta=0.7)([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.5
    """

    score_name = "tversky"

    def __init__(self, alpha: float = 0.5, beta: float = 0.5, **options: Any) -> None:
        super().__init__(alpha=alpha, beta=beta, **options)


@_register
class AUROC(NamedMetric):
    """Area under the ROC curve over `threshold`. See `scores.roc_auc`.

    Args:
        threshold: Thresholds of the curve; the end points are always added. Defaults to 0.01, 0.02, ..., 0.99
            and nine more towards each end.
        **options: Those of `SoftSetMetric`.

    Examples:
        >>> round(float(AUROC()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.8333
    """

    score_name = "roc_auc"

    def __init__(self, threshold: ThresholdLike = CURVE_THRESHOLDS, name: str = "auroc", **options: Any) -> None:
        super().__init__(threshold=threshold, name=name, **options)


@_register
class AUPRC(NamedMetric):
    """Area under the precision-recall curve over `threshold`. See `scores.pr_auc`.

    Args:
        threshold: Thresholds of the curve; the end points are always added. Defaults to 0.01, 0.02, ..., 0.99
            and nine more towards each end.
        **options: Those of `SoftSetMetric`.

    Examples:
        >>> round(float(AUPRC()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])), 4)
        0.7917
    """

    score_name = "pr_auc"

    def __init__(self, threshold: ThresholdLike = CURVE_THRESHOLDS, name: str = "auprc", **options: Any) -> None:
        super().__init__(threshold=threshold, name=name, **options)


@_register
class Confusion(SoftSetMetric):
    """The cells themselves, as a dict with the keys `tp`, `fp`, `fn` and `tn`.

    Args:
        threshold: As in `SoftSetMetric`. Defaults to `0.5`.
        heaviside: As in `SoftSetMetric`. Defaults to `"step"`.
        average: `"micro"` sums the cells over classes, `"macro"` and `"weighted"` average them, and each averages over
            thresholds; `None` gives all of them, of shape (thresholds, classes). Defaults to `"micro"`.
        from_logits: As in `SoftSetMetric`. Defaults to `False`.
        name: Name of the metric. Any other than the default goes before the keys, `low_tp` for `name="low"`, so that
            several of them can stand in one model: Keras logs the keys alone. Defaults to `"confusion"`.
        dtype: Type of the cells. Defaults to `None`, floatx.

    Examples:
        >>> cells = Confusion()([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.4, 0.9])
        >>> {name: float(cell) for name, cell in cells.items()}
        {'tp': 1.0, 'fp': 1.0, 'fn': 1.0, 'tn': 2.0}
    """

    def __init__(
        self,
        *,
        threshold: ThresholdLike = 0.5,
        heaviside: HeavisideLike = "step",
        average: str | None = "micro",
        from_logits: bool = False,
        name: str = "confusion",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "accuracy",
            threshold=threshold,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            name=name,
            dtype=dtype,
        )

    def result(self) -> dict[str, Tensor]:
        """Returns the cells of everything since the last reset."""
        zero = ops.zeros((), dtype=self.dtype)
        return super().result() if self._cells is not None else dict.fromkeys(self._keys().values(), zero)

    def _value(self, cells: ConfusionMatrix) -> dict[str, Tensor]:
        def one(name: str) -> Tensor:
            if self.recipe.average is None:
                return getattr(cells, name)
            return scores.averaged(scores.Score(lambda c: getattr(c, name)), cells, self.recipe.average)

        return {key: ops.cast(one(name), self.dtype) for name, key in self._keys().items()}

    def _keys(self) -> dict[str, str]:
        prefix = "" if self.name == "confusion" else f"{self.name}_"
        return {name: prefix + name for name in ConfusionMatrix._fields}

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        config = super().get_config()
        del config["score"]
        return config
