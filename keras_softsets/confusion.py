"""The soft confusion matrix of a batch."""

from __future__ import annotations

from keras import ops

from keras_softsets import decisions
from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor
from keras_softsets._checks import check_flag
from keras_softsets._inputs import as_samples
from keras_softsets._totals import sum_cells
from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.matrices import ConfusionMatrix
from keras_softsets.samples import explain

__all__ = ["ConfusionMatrix", "confusion_matrix"]


def confusion_matrix(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    threshold: DecisionLike = 0.5,
    heaviside: HeavisideLike = "linear",
    from_logits: bool = False,
    ignore_class: int | None = None,
) -> ConfusionMatrix:
    """Computes the soft confusion matrix of a batch.

    TP + FN and FP + TN are the weighted class totals for every approximation and threshold.

    Args:
        y_true: Labels in [0, 1]: `(n,)` or `(..., classes)`, bool, integer or float; soft labels are allowed. Or class
            ids, without the last axis of `y_pred`.
        y_pred: Probabilities of the same shape (up to a last axis of length 1), or logits.
        sample_weight: Weights that line up with `y_pred` from the left: per sample `(n,)`, per element, or per class
            `(1, classes)`. Weight 2 means two copies, weight 0 means absent. Defaults to `None`.
        threshold: A number inside (0, 1), a sequence of them, or a decision such as `PerClass([0.2, 0.7])`; see
            `keras_softsets.decisions`. With the step, also 0, 1 and inf. Defaults to `0.5`.
        heaviside: `"linear"`, `"sigmoid"`, `"step"` (the usual, hard matrix) or a `Heaviside`. Defaults to `"linear"`.
        from_logits: Whether `y_pred` holds logits, of a sigmoid or, with `Argmax`, of a softmax. Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.

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
    decision, approximation = decisions.get(threshold), heavisides.get(heaviside)
    samples = as_samples(
        y_true,
        y_pred,
        sample_weight,
        from_logits=check_flag("from_logits", from_logits),
        ignore_class=ignore_class,
        argmax=decision.argmax,
    )
    decision.check(approximation, samples.classes)
    cells = sum_cells(samples, decision, approximation)
    explain(samples, cells)
    return ConfusionMatrix.from_stacked(ops.cast(cells, "float32"))
