"""The c x c confusion matrix of a batch, for mutually exclusive classes."""

from __future__ import annotations

from keras import ops

from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor
from keras_softsets._checks import check_flag
from keras_softsets._inputs import as_samples
from keras_softsets._totals import sum_counts
from keras_softsets.decisions import Argmax
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.matrices import MulticlassMatrix
from keras_softsets.samples import explain

__all__ = ["MulticlassMatrix", "multiclass_confusion_matrix"]


def multiclass_confusion_matrix(
    y_true: Tensor,
    y_pred: Tensor,
    sample_weight: Tensor | None = None,
    *,
    heaviside: HeavisideLike = "linear",
    temperature: float = 1.0,
    from_logits: bool = False,
    ignore_class: int | None = None,
) -> MulticlassMatrix:
    """Computes the c x c confusion matrix of a batch, soft or hard.

    Args:
        y_true: Class ids, `(n,)` or all axes of `y_pred` but the last; or one-hot (or soft) labels of the same shape.
        y_pred: Probabilities of the classes, `(..., classes)`, or logits.
        sample_weight: One weight for each sample, `(n,)` or all axes of `y_pred` but the last. Defaults to `None`.
        heaviside: `"step"` for the usual matrix, in which the largest class wins; `"linear"` divides a sample among the
            classes by the softmax of log p / temperature. Defaults to `"linear"`.
        temperature: Softness of the decision, at least 1e-6; without effect on the step. Defaults to `1.0`.
        from_logits: Whether `y_pred` holds the logits of a softmax. Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.

    Returns:
        A `MulticlassMatrix` of float32 counts.

    Examples:
        >>> p = [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]
        >>> multiclass_confusion_matrix([0, 1, 1], p, heaviside="step").counts.numpy().tolist()
        [[1.0, 0.0], [1.0, 1.0]]
        >>> multiclass_confusion_matrix([0, 1, 1], p).counts.numpy().tolist()
        [[0.75, 0.25], [0.75, 1.25]]
    """
    decision = Argmax(temperature)
    samples = as_samples(
        y_true,
        y_pred,
        sample_weight,
        from_logits=check_flag("from_logits", from_logits),
        ignore_class=ignore_class,
        argmax=True,
        c_x_c=True,
    )
    decision.check(heavisides.get(heaviside), samples.classes)
    counts = sum_counts(samples, decision, heavisides.get(heaviside))
    explain(samples, counts)
    return MulticlassMatrix(ops.cast(counts, "float32"))
