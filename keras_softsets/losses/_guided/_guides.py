"""How a score weighs cross-entropy: at thresholds, and at the argmax.

A guide reduces a batch to totals, which may be added up over replicas and batches: the soft matrix, through which no
gradient passes, and the cross-entropy of each class. The weights follow from a matrix: what the score gains if one
sample moves to the right side.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets import _backend, _totals
from keras_softsets._backend import Tensor, clip, derivative, without_nan_gradient
from keras_softsets._evaluation import Evaluation
from keras_softsets.matrices import MulticlassMatrix
from keras_softsets.samples import Samples, explain, explain_in_graph
from keras_softsets.scores import Score


class Guide:
    """Base of the two guides.

    Args:
        evaluation: The score, the decision and how the data are read.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    def totals(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None) -> Tensor:
        """The matrix and the cross-entropies of a batch, in float64: `matrix` and `entropies` pick them out."""
        samples = self.evaluation.samples(y_true, y_pred, sample_weight)
        totals = self._totals(samples._replace(prediction=without_nan_gradient(samples.prediction)))
        explain(samples, totals)
        explain_in_graph(samples, totals)
        return totals

    def _totals(self, samples: Samples) -> Tensor:
        matrix = self.evaluation.sum(samples._replace(prediction=ops.stop_gradient(samples.prediction)))
        return self._joined(matrix, ops.cast(self._sum_entropies(samples.cleaned()), _backend.wide()))

    def weights(self, matrix: Tensor) -> Tensor:
        """What a sample of each kind counts: the gain of the score in the matrix, at least 0."""
        return _backend.maximum(self.gains(derivative(self.score, matrix), matrix), 0.0)

    def loss(self, totals: Tensor, matrix: Tensor) -> Tensor:
        """The weighted mean of the cross-entropy, with the weights of a matrix; 0 if all weights are 0.

        The mean weight is the matrix's: a mean of batches is then a mean of all samples, however few positives some
        batches hold.
        """
        weights = self.weights(matrix)
        share = _ratio(self.size(self.matrix(totals)), self.size(matrix))  # of the batch in the matrix
        return _ratio(ops.sum(weights * self.entropies(totals)), ops.sum(weights * self.counts(matrix) * share))

    def matrix(self, totals: Tensor) -> Tensor:
        """The matrix among the totals."""
        raise NotImplementedError

    def entropies(self, totals: Tensor) -> Tensor:
        """The cross-entropies among the totals, of each kind of sample."""
        raise NotImplementedError

    def counts(self, matrix: Tensor) -> Tensor:
        """The weight of each kind of sample in a matrix."""
        raise NotImplementedError

    def size(self, matrix: Tensor) -> Tensor:
        """The weight of the samples in a matrix, in a shape that broadcasts against it."""
        raise NotImplementedError

    def score(self, matrix: Tensor) -> Tensor:
        """The score of a matrix."""
        raise NotImplementedError

    def gains(self, gradient: Tensor, matrix: Tensor) -> Tensor:
        """What the score gains if a sample of each kind changes to the right side."""
        raise NotImplementedError

    def shifts(self, weights: np.ndarray) -> np.ndarray:
        """By how much weights move the logits, (classes,)."""
        raise NotImplementedError

    def _sum_entropies(self, samples: Samples) -> Tensor:
        raise NotImplementedError

    def _joined(self, matrix: Tensor, entropies: Tensor) -> Tensor:
        raise NotImplementedError


class ThresholdGuide(Guide):
    """Each class against the rest: kinds are positives and negatives of each class.

    Totals are (6, classes): tp, fp, fn, tn, and the cross-entropies of both sides.
    """

    def matrix(self, totals: Tensor) -> Tensor:
        """The cells, (4, classes)."""
        return totals[:4]

    def entropies(self, totals: Tensor) -> Tensor:
        """Those of positives and of negatives, (2, classes)."""
        return totals[4:]

    def counts(self, matrix: Tensor) -> Tensor:
        """Positives and negatives, (2, classes)."""
        tp, fp, fn, tn = ops.unstack(matrix, 4)
        return ops.stack([tp + fn, fp + tn])

    def size(self, matrix: Tensor) -> Tensor:
        """The weight of each class's samples, (1, classes)."""
        return ops.sum(matrix, 0, keepdims=True)

    def score(self, matrix: Tensor) -> Tensor:
        """The average of the classes' scores."""
        (value,) = self.evaluation.values(matrix[:, None])
        return _backend.mean(value)

    def gains(self, gradient: Tensor, matrix: Tensor) -> Tensor:
        """Those of a positive that is found, and of a negative that is rejected, (2, classes)."""
        tp, fp, fn, tn = ops.unstack(gradient, 4)
        return ops.stack([tp - fn, tn - fp])

    def _totals(self, samples: Samples) -> Tensor:
        if not samples.logits:
            return super()._totals(samples)
        thresholds = self.evaluation.decision.thresholds  # one, or one for each class
        at = thresholds[0] if len(thresholds) == 1 else np.asarray(thresholds)
        clean, offset = samples.cleaned(), np.log(self._odds()).astype("float32")
        totals = _backend.sum_sides(*clean[:3], lambda p: self.evaluation.heaviside(p, at), offset)
        return totals if samples.classes is None else ops.reshape(totals, (6, samples.classes))  # static again

    def _sum_entropies(self, samples: Samples) -> Tensor:
        w = 1.0 if samples.weight is None else samples.weight
        positive, negative = _binary_entropies(samples, self._odds())
        sides = [w * samples.label * positive, w * (1 - samples.label) * negative]
        return ops.stack([ops.sum(side, 0) for side in sides])

    def _odds(self) -> np.ndarray:
        decision: Any = self.evaluation.decision
        threshold = np.asarray(decision.thresholds, _backend.wide())  # one, or one for each class
        return threshold / (1 - threshold)

    def _joined(self, matrix: Tensor, entropies: Tensor) -> Tensor:
        return ops.concatenate([matrix[:, 0], entropies], 0)

    def shifts(self, weights: np.ndarray) -> np.ndarray:
        """By how much weights move the logits, (classes,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(weights[0]) - np.log(weights[1]) + np.log(self._odds())


class ArgmaxGuide(Guide):
    """Classes that exclude each other: kinds are the classes.

    Totals are (classes, classes + 1): the counts, and the cross-entropy of each class.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__(evaluation if evaluation.c_x_c else _of_classes(evaluation))

    def matrix(self, totals: Tensor) -> Tensor:
        """The counts, (classes, classes)."""
        return totals[:, :-1]

    def entropies(self, totals: Tensor) -> Tensor:
        """Those of each class, (classes,)."""
        return totals[:, -1]

    def counts(self, matrix: Tensor) -> Tensor:
        """The weight of each class, (classes,)."""
        return ops.sum(matrix, -1)

    def size(self, matrix: Tensor) -> Tensor:
        """The weight of all samples."""
        return ops.sum(matrix)

    def score(self, matrix: Tensor) -> Tensor:
        """The score."""
        return self.evaluation.values(matrix)[0]

    def gains(self, gradient: Tensor, matrix: Tensor) -> Tensor:
        """Those of a sample that is decided as its class instead of as others of the class are, (classes,)."""
        right = ops.eye(matrix.shape[-1], dtype=matrix.dtype)
        wrong = matrix * (1 - right)
        often = ops.where(ops.sum(wrong, -1, keepdims=True) > 0, wrong, 1 - right)
        return ops.diagonal(gradient) - ops.sum(often * gradient, -1) / ops.sum(often, -1)

    def _sum_entropies(self, samples: Samples) -> Tensor:
        decision: Any = self.evaluation.decision
        p = samples.prediction if samples.logits else _inside(samples.prediction)
        log_p = samples._replace(prediction=p).log_probability()
        log_p = log_p if decision.offsets is None else log_p + ops.cast(np.asarray(decision.offsets), log_p.dtype)
        entropy = -samples.label * ops.log_softmax(log_p, -1)
        return ops.sum(entropy if samples.weight is None else samples.weight * entropy, 0)

    def _joined(self, matrix: Tensor, entropies: Tensor) -> Tensor:
        return ops.concatenate([matrix, entropies[:, None]], 1)

    def shifts(self, weights: np.ndarray) -> np.ndarray:
        """By how much weights move the logits, (classes,)."""
        decision: Any = self.evaluation.decision
        with np.errstate(divide="ignore"):
            return np.log(weights) - np.asarray(decision.offsets or 0.0)


def guide_for(evaluation: Evaluation) -> Guide:
    """Returns the guide of a decision."""
    return (ArgmaxGuide if evaluation.decision.argmax else ThresholdGuide)(evaluation)


def _of_classes(evaluation: Evaluation) -> Evaluation:
    """The same score, averaged over classes against the rest, as a score of the c x c matrix."""
    (score,) = evaluation.scores

    def averaged(matrix: MulticlassMatrix) -> Tensor:
        average = "macro" if evaluation.average is None else evaluation.average
        return _totals.averaged(score, matrix.one_vs_rest(), average)

    return Evaluation(
        [Score(averaged, of="classes", registered=False)],
        threshold=evaluation.decision,
        heaviside="linear",
        from_logits=evaluation.from_logits,
        ignore_class=evaluation.ignore_class,
    )


def _binary_entropies(samples: Samples, odds: np.ndarray) -> tuple[Tensor, Tensor]:
    """The cross-entropies of probabilities: softplus(-z) and softplus(z), without z, which would cost digits."""
    p = _inside(samples.prediction)
    positive, negative = -ops.log(p), -ops.log(1 - p)
    if np.all(odds == 1):
        return positive, negative
    factor = ops.cast(odds, p.dtype)
    both = ops.log(p + factor * (1 - p))
    return positive + both, negative + both - ops.cast(np.log(odds), p.dtype)


def _inside(p: Tensor) -> Tensor:
    """Probabilities as far from 0 and 1 as Keras keeps them before it takes logarithms."""
    epsilon = keras.config.epsilon()
    return clip(p, epsilon, 1 - epsilon)


def _ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """0 where the denominator is 0, with a zero gradient; NaN stays NaN."""
    nothing = ops.equal(denominator, 0)
    return ops.where(nothing, ops.zeros_like(numerator), numerator / ops.where(nothing, 1.0, denominator))
