"""The c x c confusion matrix of mutually exclusive classes: its definition, and the matrix of a batch."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from keras_softsets import heaviside as heavisides
from keras_softsets._backend import Tensor
from keras_softsets._inputs import as_samples
from keras_softsets._samples import Samples, explain
from keras_softsets.confusion import ConfusionMatrix
from keras_softsets.decisions import Argmax, Decision
from keras_softsets.heaviside import Heaviside, HeavisideLike


class MulticlassMatrix(NamedTuple):
    """Weights by true and by decided class, as real numbers.

    Attributes:
        counts: `counts[i, j]` is the weight of true class i decided as j, (classes, classes).
    """

    counts: Tensor

    @property
    def true(self) -> Tensor:
        """Weight of each true class, (classes,)."""
        return ops.sum(self.counts, -1)

    @property
    def decided(self) -> Tensor:
        """Weight decided as each class, (classes,)."""
        return ops.sum(self.counts, -2)

    @property
    def right(self) -> Tensor:
        """Weight of each class decided as itself, (classes,)."""
        return ops.diagonal(self.counts, axis1=-2, axis2=-1)

    @property
    def total(self) -> Tensor:
        """Weight of everything."""
        return ops.sum(self.counts, (-2, -1))

    def one_vs_rest(self) -> ConfusionMatrix:
        """Returns each class against the rest: cells of shape (1, classes)."""
        tp, fp, fn = self.right, self.decided - self.right, self.true - self.right
        return ConfusionMatrix(tp, fp, fn, self.total - tp - fp - fn).map(lambda cell: cell[None])


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
        heaviside: `"step"` for the usual matrix, in which the largest class wins; anything else divides a sample among
            the classes by the softmax of log p / temperature. Defaults to `"linear"`.
        temperature: Softness of the decision, at least 1e-6. Defaults to `1.0`.
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
        from_logits=from_logits,
        ignore_class=ignore_class,
        rivals=True,
        whole_rows=True,
    )
    decision.check(heavisides.get(heaviside), samples.classes)
    counts = sum_counts(samples, decision, heavisides.get(heaviside))
    explain(samples, counts)
    return MulticlassMatrix(ops.cast(counts, "float32"))


def sum_counts(samples: Samples, decision: Decision, heaviside: Heaviside) -> Tensor:
    """The definition: counts[i, j] is the sum of w y_i h_j, in float64, so that counts are exact past 2^24."""
    samples = samples.counted()
    h = decision.memberships(samples, heaviside)[0]  # (..., samples, classes)
    label = samples.label if samples.weight is None else samples.weight * samples.label
    label, h = ops.cast(label, "float64"), ops.cast(h, "float64")
    return ops.matmul(ops.swapaxes(label, -1, -2), h)
