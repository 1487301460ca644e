"""Cross-entropy, weighted by the gradient of the score."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_softsets import _backend
from keras_softsets._adapters import Shown, written_dtype
from keras_softsets._backend import Tensor, is_differentiated, logits_behind, untraced
from keras_softsets._checks import Average, check_whole_number
from keras_softsets._evaluation import Evaluation
from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.losses._base import register
from keras_softsets.losses._guided._guides import Guide, guide_for
from keras_softsets.losses._guided._running import RunningMatrix
from keras_softsets.scores._registry import ScoreLike, resolve

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from keras_softsets._adapters import ScoreParameters


class GuidedWeights(NamedTuple):
    """What a sample counts, as numbers or, for several classes, as arrays; the average sample counts 1.

    Attributes:
        positive: Weight of a positive.
        negative: Weight of a negative.
    """

    positive: Any
    negative: Any


@register
class GuidedCrossentropy(Shown, keras.losses.Loss):
    """Cross-entropy in which each class counts as much as the score gains from it.

    Formula: `loss = sum w (u y softplus(-z) + v (1 - y) softplus(z)) / (u P + v N)`, where
    `z = logit(p) - logit(threshold)`, `u = ds/dTP - ds/dFN` is what the score s gains if a positive is found, and
    `v = ds/dTN - ds/dFP` what it gains if a negative is rejected, both at the running soft confusion matrix.

    * `"accuracy"` is plain cross-entropy, and `"balanced_accuracy"` is cross-entropy with balanced class weights. For
      `"f1"`, `u : v = (2 - F1) : F1`, which follows the model as it learns.
    * At the argmax, class i counts `G[i, i]` minus the mean of `G[i, j]` over its confusions j, where G is the gradient
      of the score in the c x c matrix.
    * It never saturates, so it learns whatever cross-entropy learns, and it ranks as well. Probabilities are shifted
      by a known number, `shift()`, which `as_classifier` takes off again; labels stay as they are.

    **The running matrix** is that of about the last `window` samples (pixels, time steps) of *training*: a batch that
    is not differentiated, as in `evaluate`, is weighted by it and leaves it unchanged, so `val_loss` is a mean over
    samples, whatever their batches. Before the first training batch, each batch is weighted by its own matrix. The
    matrix is saved with the model and its weights, so that a run that `keras.callbacks.BackupAndRestore` resumes goes
    on with it. It belongs to one output of one model: use one instance for each.

    Where the score has no gradient at all (no positive yet), the loss is 0, with a zero gradient.

    Args:
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`: of
            one threshold, or of the c x c matrix. Defaults to `"f1"`.
        threshold: How probabilities become decisions: a number inside (0, 1), `PerClass([0.2, 0.7])`, `"argmax"` or an
            `Argmax`, whose offsets are added to the logits. Defaults to `None`: 0.5, and the argmax for scores of the
            c x c matrix.
        average: How the values of several classes become the score: `"macro"` (mean; also `None`), `"micro"`,
            `"weighted"` or a sequence of the classes' importances. Defaults to `"macro"`.
        window: Number of samples after which a batch has faded to 1 / e in the running matrix, or `None` to weight each
            batch by its own matrix. Defaults to `4096`.
        from_logits: Whether predictions are logits, of a sigmoid or, at the argmax, of a softmax. Defaults to `False`:
            probabilities. The logits behind a sigmoid or softmax of Keras are found, so no digit is lost; where they
            cannot be found, probabilities are kept 1e-7 away from 0 and 1, as in Keras.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
        name: Name of the loss. Defaults to `None`: `guided_` and the name of the score.
        dtype: Type of the result; it is computed from float32, whatever the model's dtype. Defaults to `None`, floatx.
        **score_args: Parameters of the score, such as `beta=2`.

    Examples:
        >>> y, p = [0, 0, 0, 1], [0.1, 0.2, 0.6, 0.7]
        >>> round(float(GuidedCrossentropy("accuracy")(y, p)), 4), round(float(GuidedCrossentropy("f1")(y, p)), 4)
        (0.4004, 0.3905)
        >>> weights = GuidedCrossentropy("balanced_accuracy").weights(y, p)
        >>> [round(float(weight), 4) for weight in weights]
        [2.0, 0.6667]

    Reference:
        [Koyejo et al., 2014](https://papers.nips.cc/paper/5454), [Parambath et al., 2014](
        https://papers.nips.cc/paper/5508): the best decision for such a score is that of a weighted error.
    """

    name_prefix = "guided_"

    def __init__(
        self,
        score: ScoreLike = "f1",
        *,
        threshold: DecisionLike | None = None,
        average: Average = "macro",
        window: int | None = 4096,
        from_logits: bool = False,
        ignore_class: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        **score_args: Unpack[ScoreParameters],
    ) -> None:
        self.evaluation = Evaluation(
            [resolve(score, score_args, type(self))],
            threshold=threshold,
            heaviside="linear",
            average=average,
            from_logits=from_logits,
            ignore_class=ignore_class,
        )
        _check_one_decision(self.evaluation)
        super().__init__(name=name or self.name_prefix + self.evaluation.scores[0].name, dtype=dtype)
        self.window = None if window is None else check_whole_number("window", window, 1, 2**53)
        self._guides = {logits: guide_for(_with(self.evaluation, logits)) for logits in (False, True)}
        self._running = None if self.window is None else RunningMatrix(self.window, self._guide.size)

    @untraced
    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Computes the loss of the global batch, divided by the number of replicas.

        This replaces Keras's method (3.15.1), because weights and masks enter the matrix as well as the mean.
        """
        with keras.name_scope(self.name):
            totals = _backend.sum_over_replicas(self.totals(y_true, y_pred, sample_weight))
            loss = self._guide.loss(totals, self._matrix(totals, is_differentiated(y_pred)))
            return ops.cast(loss / _backend.replica_count(), self.dtype)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Computes the loss without weights."""
        return self(y_true, y_pred)

    def totals(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """The soft matrix and the cross-entropies of a batch, which may be added up, in float64."""
        logits = None if self.from_logits else logits_behind(y_pred, self._activation)
        if logits is None:
            return self._guide.totals(y_true, y_pred, sample_weight)
        return self._guides[True].totals(y_true, logits, sample_weight)

    def of_totals(self, totals: Tensor) -> Tensor:
        """The loss of totals, wherever they were summed, with the weights of their own matrix."""
        return self._guide.loss(totals, self._guide.matrix(totals))

    def weights(
        self, y_true: Tensor | None = None, y_pred: Tensor | None = None, sample_weight: Tensor | None = None
    ) -> GuidedWeights | np.ndarray:
        """Returns what a sample of each kind counts now, or on the given data; the average sample counts 1.

        Returns:
            `GuidedWeights(positive, negative)`, or at the argmax an array with the weight of each class.
        """
        weights = self._weights(y_true, y_pred, sample_weight)
        if self.evaluation.decision.argmax:
            return weights
        return GuidedWeights(*(float(side[0]) if len(side) == 1 else side for side in weights))

    def shift(
        self, y_true: Tensor | None = None, y_pred: Tensor | None = None, sample_weight: Tensor | None = None
    ) -> float | np.ndarray:
        """Returns by how much the weights shift the logits now, or on the given data.

        `logit(p) - shift` is calibrated if the model has been trained with this loss alone. It is
        `log(u / v) + logit(threshold)`, a float or one number for each class; at the argmax, an array that is taken off
        the logits of the softmax. `as_classifier(model, shift=loss.shift())` does so and leaves labels unchanged.
        """
        shifts = self._guide.shifts(self._weights(y_true, y_pred, sample_weight))
        return float(shifts[0]) if len(shifts) == 1 else shifts

    @property
    def from_logits(self) -> bool:
        """Whether predictions are logits."""
        return self.evaluation.from_logits

    @property
    def _guide(self) -> Guide:
        return self._guides[self.from_logits]

    @property
    def _activation(self) -> str:
        return "softmax" if self.evaluation.decision.argmax else "sigmoid"

    def _matrix(self, totals: Tensor, training: bool) -> Tensor:
        """The matrix that determines the weights of a batch."""
        batch = ops.stop_gradient(self._guide.matrix(totals))
        if self._running is None:
            return batch
        return self._running.advanced(batch) if training else self._running.current(batch)

    def _weights(self, y_true: Tensor | None, y_pred: Tensor | None, sample_weight: Tensor | None) -> np.ndarray:
        if (y_true is None) != (y_pred is None):
            raise ValueError(
                f"`y_true` and `y_pred` must be given together. Received: y_true={y_true!r}, y_pred={y_pred!r}"
            )
        given = y_true is not None
        matrix: Any = self._guide.matrix(self.totals(y_true, y_pred, sample_weight)) if given else self._known()
        weights, counts = (ops.convert_to_numpy(x) for x in (self._guide.weights(matrix), self._guide.counts(matrix)))
        mean = np.sum(weights * counts) / np.sum(counts)
        return weights / mean if mean > 0 else weights

    def _known(self) -> Tensor:
        value = None if self._running is None else self._running.value
        if value is None:
            raise ValueError(
                "`y_true` and `y_pred` must be given before the first training batch, and if `window` is None. "
                f"Received: window={self.window}"
            )
        return ops.convert_to_tensor(value)

    def save_own_variables(self, store: Any) -> None:
        """Writes the running matrix to a file of weights."""
        value = None if self._running is None else self._running.value
        if value is not None:
            store["running_matrix"] = value

    def load_own_variables(self, store: Any) -> None:
        """Reads the running matrix from a file of weights, where there is one."""
        if self._running is not None and "running_matrix" in list(store.keys()):
            self._running.restore(store["running_matrix"])

    def _arguments(self) -> dict[str, Any]:
        score, written = self.evaluation.scores[0], self.evaluation.arguments()
        return {
            "score": score.name if score.registered else score.function,
            **{name: written[name] for name in ("threshold", "average", "from_logits", "ignore_class")},
            "window": self.window,
            **score.parameters,
            "name": None if self.name == self.name_prefix + score.name else self.name,
            "dtype": written_dtype(self),
        }

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the loss."""
        settings = {**self._arguments(), "threshold": self.evaluation.decision.config()}
        return {**settings, **self.evaluation.score_config(), "name": self.name, "dtype": self.dtype}


def _check_one_decision(evaluation: Evaluation) -> None:
    (score,), decision = evaluation.scores, evaluation.decision
    if score.curve:
        raise ValueError(
            "`score` must be a score of one threshold or of the c x c matrix, not the area under a curve, which has no "
            f"single decision to guide; use SoftAUROC, SoftAUPRC or cross-entropy. Received: score={score.name!r}"
        )
    if decision.rates or decision.rows != 1:
        raise ValueError(
            "`threshold` must be a number, PerClass([...]) or an argmax, not a sweep or an operating point, whose "
            f"threshold moves with the data. Received: threshold={decision.written()!r}"
        )
    if getattr(decision, "costs", None) is not None:
        raise ValueError(
            "`threshold` must be an argmax without costs, which are a decision of their own; guide by the score `cost` "
            f"instead. Received: threshold={decision!r}"
        )
    if evaluation.per_sample:
        raise ValueError(
            "`average` must be 'macro', 'micro', 'weighted', None or a sequence, because one matrix guides all "
            "samples. Received: average='samples'"
        )


def _with(evaluation: Evaluation, from_logits: bool) -> Evaluation:
    """The same evaluation of predictions that are logits, or not."""
    changed = copy.copy(evaluation)
    changed.from_logits = from_logits
    return changed
