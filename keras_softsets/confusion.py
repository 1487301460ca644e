"""The soft confusion matrix: weighted sums of memberships, one row for each threshold, one column for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keras import ops

from keras_softsets import _kernels
from keras_softsets import heaviside as heavisides
from keras_softsets._inputs import Samples, Tensor, as_samples, as_thresholds


class ConfusionMatrix(NamedTuple):
    """Cells of shape (thresholds, classes), as real numbers.

    Attributes:
        tp: True positives, sum of w y h.
        fp: False positives, sum of w (1 - y) h.
        fn: False negatives, sum of w y (1 - h).
        tn: True negatives, sum of w (1 - y) (1 - h).
    """

    tp: Tensor
    fp: Tensor
    fn: Tensor
    tn: Tensor

    @property
    def positives(self) -> Tensor:
        """Weight of the positive class, the same at every threshold."""
        return self.tp + self.fn

    @property
    def negatives(self) -> Tensor:
        """Weight of the negative class, the same at every threshold."""
        return self.fp + self.tn

    @property
    def predicted_positives(self) -> Tensor:
        """Weight of what is called positive."""
        return self.tp + self.fp

    @property
    def predicted_negatives(self) -> Tensor:
        """Weight of what is called negative."""
        return self.fn + self.tn

    @property
    def total(self) -> Tensor:
        """Weight of everything."""
        return self.positives + self.negatives


def confusion_matrix(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    threshold: float | Sequence[float] = 0.5,
    heaviside: heavisides.HeavisideLike = "linear",
    from_logits: bool = False,
) -> ConfusionMatrix:
    """Computes the soft confusion matrix of a batch.

    TP + FN and FP + TN are the weighted class totals for every approximation and threshold.

    Args:
        y_true: Labels in [0, 1]: `(n,)` or `(..., classes)`, bool, integer or float. Soft labels are allowed.
        y_pred: Probabilities of the same shape (up to a last axis of length 1), or logits.
        sample_weight: Weights that broadcast to `y_pred`: per sample `(n,)`, per element, per class `(1, classes)`.
            Weight 2 equals two copies, weight 0 equals absence. Defaults to `None`.
        threshold: A number inside (0, 1), or a sequence of them. Defaults to `0.5`.
        heaviside: `"linear"`, `"sigmoid"`, `"step"` (the usual, hard matrix) or a `Heaviside`. Defaults to `"linear"`.
        from_logits: Whether `y_pred` holds logits, to which a sigmoid is applied. Defaults to `False`.

    Returns:
        A `ConfusionMatrix` of float32 cells of shape (thresholds, classes).

    Examples:
        >>> cells = confusion_matrix([0, 1, 1], [0.3, 0.4, 0.9], heaviside="step")
        >>> [float(cell[0, 0]) for cell in cells]
        [1.0, 0.0, 1.0, 1.0]
        >>> soft = confusion_matrix([0, 1, 1], [0.3, 0.4, 0.9])
        >>> [round(float(cell[0, 0]), 2) for cell in soft]
        [1.3, 0.18, 0.7, 0.82]

    Reference:
        [Tsoi et al., 2022](https://arxiv.org/abs/2009.01367), Section 3.2
    """
    thresholds, approximation = as_thresholds(threshold), heavisides.get(heaviside)
    samples = as_samples(y_true, y_pred, sample_weight, from_logits=from_logits)
    return cells_of(samples, thresholds, approximation, dtype="float32")


def cells_of(
    samples: Samples, thresholds: Sequence[float], heaviside: heavisides.Heaviside, *, dtype: str
) -> ConfusionMatrix:
    """Sums checked samples; `dtype` float64 keeps counts exact past 2^24."""
    cells = ops.cast(_kernels.sum_cells(samples, thresholds, heaviside), dtype)
    classes = samples.probability.shape[1]
    if classes is not None:  # inside a graph the kernel, made for any shape, has forgotten it
        cells = ops.reshape(cells, (4, len(thresholds), classes))
    return ConfusionMatrix(*ops.unstack(cells, 4))
