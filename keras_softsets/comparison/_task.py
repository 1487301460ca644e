"""What is compared: the kind of labels, the score with its decision, and the losses, one for each row."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_softsets import evaluation, losses, scores
from keras_softsets.blends import BlendedLoss, loss_for
from keras_softsets.comparison._data import Answers
from keras_softsets.evaluation import evaluate
from keras_softsets.losses import GuidedCrossentropy, SoftSetLoss
from keras_softsets.tuning import tune_threshold


class Task(NamedTuple):
    """The problem and its score.

    Attributes:
        kind: `"binary"`, `"multilabel"` or `"classes"`.
        ids: Whether labels are class ids.
        score: The score to be compared.
    """

    kind: str
    ids: bool
    score: scores.Score

    @property
    def default(self) -> Any:
        """The decision without tuning; None if the score reads every threshold."""
        return None if self.score.curve else "argmax" if self.kind == "classes" else 0.5

    @property
    def cross_entropy(self) -> keras.losses.Loss:
        """The cross-entropy of such labels."""
        if self.kind != "classes":
            return keras.losses.BinaryCrossentropy()
        return keras.losses.SparseCategoricalCrossentropy() if self.ids else keras.losses.CategoricalCrossentropy()

    def tuned(self, answers: Answers) -> Any:
        """The decision that is best on these answers."""
        if self.score.curve:
            return None
        label, p, weight = answers
        options: Any = {"decision": "argmax", "offsets": "auto"} if self.kind == "classes" else {}
        return tune_threshold(label, p, self.score, weight, **options).threshold

    def deciding(self, decision: Any) -> Any:
        """The decision, or the usual one if the score reads every threshold and none was tuned."""
        return decision if decision is not None else "argmax" if self.kind == "classes" else 0.5

    def value(self, answers: Answers, threshold: Any) -> float:
        """The score of answers with this decision."""
        label, p, weight = answers
        return float(evaluation.evaluate(label, p, self.score, weight, threshold=threshold))


def task_of(labels: np.ndarray, outputs: int, score: scores.Score) -> Task:
    """Returns the task of labels and of a model with this many outputs, or raises what does not fit."""
    if outputs == 1:
        if score.of == "classes":
            raise ValueError(
                "`score` must be a score of one class for a model with one output, such as 'cohen_kappa' instead of "
                f"'kappa'. Received: score={score!r}"
            )
        return Task("binary", False, score)
    ids = labels.ndim == 1 or labels.shape[-1] == 1
    exclusive = ids or bool(np.all(labels.sum(-1) == 1))
    if score.of == "classes" and not exclusive:
        raise ValueError(
            f"`score` must be a score of one class against the rest for labels of several classes at once. "
            f"Received: score={score!r}"
        )
    return Task("classes" if exclusive else "multilabel", ids, score)


def check_labels(name: str, labels: np.ndarray, outputs: int) -> None:
    """Raises if the labels of a part do not fit the outputs, or are all of one class."""
    found = np.unique(labels)
    ids = labels.ndim == 1 or labels.shape[-1] == 1
    if outputs == 1 and not np.isin(found, (0, 1)).all():
        raise ValueError(
            f"`{name}` must have labels 0 and 1 for a model with one output; for several classes, give it one output "
            f"for each. Received: labels {found[:5].tolist()}"
        )
    if outputs > 1 and ids and not np.isin(found, np.arange(outputs)).all():
        raise ValueError(
            f"`{name}` must have class ids from 0 to {outputs - 1} for a model with {outputs} outputs. "
            f"Received: labels from {found[0]:g} to {found[-1]:g}"
        )
    if not ids and labels.shape[-1] != outputs:
        raise ValueError(
            f"`{name}` must have class ids, or a label for each of the {outputs} outputs. "
            f"Received: labels of shape {labels.shape}"
        )
    if len(found) < 2:
        raise ValueError(f"`{name}` must have labels of more than one class. Received: only {found[0]:g}")


_BINS = 15


def ranking(task: Task, answers: Answers) -> float:
    """Returns the area under the precision-recall curve, or for one of several classes the mean AUROC."""
    label, p, weight = answers
    return float(evaluate(label, p, "roc_auc" if task.kind == "classes" else "pr_auc", weight))


def calibration_error(task: Task, answers: Answers) -> float:
    """Returns the expected calibration error: |probability - frequency| in 15 equal bins of samples, averaged.

    For one of several classes, of the largest probability; otherwise of every probability. The bins of
    `keras_softsets.calibration` are those of equal width, which can be added up over batches.
    """
    label, p, weight = answers
    if task.kind == "classes":
        ids = label.reshape(len(p), -1)
        ids = ids[:, 0] if ids.shape[1] == 1 else ids.argmax(1)
        right, p = p.argmax(-1) == ids, p.max(-1)
    else:
        right = label.reshape(p.shape)
    w = np.ones(p.shape) if weight is None else np.broadcast_to(weight.reshape(len(p), *[1] * (p.ndim - 1)), p.shape)
    return expected_calibration_error(right.ravel(), p.ravel(), w.ravel())


def expected_calibration_error(right: np.ndarray, p: np.ndarray, weight: np.ndarray) -> float:
    """Returns the error of probabilities `p` that something is `right`.

    Examples:
        >>> round(expected_calibration_error(np.array([0, 1, 0, 1]), np.full(4, 0.7), np.ones(4)), 3)
        0.2
    """
    order = np.argsort(p, kind="stable")
    gaps = [np.sum((weight * (p - right))[part]) for part in np.array_split(order, _BINS) if len(part)]
    if p.min() == p.max():  # equal probabilities belong together
        gaps = [np.sum(weight * (p - right))]
    return float(np.sum(np.abs(gaps)) / weight.sum())


BASELINE = "cross-entropy"
_CROSS_ENTROPIES = (
    keras.losses.BinaryCrossentropy,
    keras.losses.CategoricalCrossentropy,
    keras.losses.SparseCategoricalCrossentropy,
)


class Row(NamedTuple):
    """One row of the comparison: a loss, and whether training weights balance the classes."""

    name: str
    loss: keras.losses.Loss
    balanced: bool = False

    def fresh(self) -> keras.losses.Loss:
        """A new loss with the same settings: some losses remember what they have seen."""
        try:
            return type(self.loss).from_config(self.loss.get_config())
        except (NotImplementedError, TypeError, ValueError):
            return copy.deepcopy(self.loss)

    def is_cross_entropy(self) -> bool:
        """Whether the loss is plain cross-entropy."""
        return type(self.loss) in _CROSS_ENTROPIES and not self.balanced


def rows_of(given: Mapping[str, Any] | Sequence[Any] | None, task: Task) -> list[Row]:
    """Returns the rows, the one that the others are compared with first."""
    if given is None:
        return _defaults(task)
    rows = [Row(name, _loss(name, loss)) for name, loss in _named(given)]
    if len(rows) == 1 and not rows[0].is_cross_entropy():
        rows.append(Row(BASELINE, task.cross_entropy))
    if len(rows) < 2 or len({row.name for row in rows}) < len(rows):
        raise ValueError(
            "`losses` must hold two or more losses with different names, or one besides cross-entropy. "
            f"Received: {', '.join(row.name for row in rows) or 'none'}"
        )
    first = next((row for row in rows if row.is_cross_entropy()), rows[0])
    return [first, *(row for row in rows if row is not first)]


def _named(given: Any) -> list[tuple[str, Any]]:
    if isinstance(given, Mapping) and all(isinstance(name, str) for name in given):
        return list(given.items())
    if not isinstance(given, (list, tuple)):
        raise ValueError(
            "`losses` must be None, a dictionary of losses by name, {'mine': SoftF1(), ...}, or a list. "
            f"Received: losses={given!r}"
        )
    return [(_name_of(loss), loss) for loss in given]


def _name_of(loss: Any) -> str:
    return loss if isinstance(loss, str) else str(getattr(loss, "name", getattr(loss, "__name__", type(loss).__name__)))


def _loss(name: str, loss: Any) -> keras.losses.Loss:
    """What `compile(loss=...)` takes: a loss, its class, a function, or a name, also of this package's losses."""
    found = loss
    if isinstance(loss, str) or getattr(keras.losses, getattr(loss, "__name__", ""), None) is loss:
        found = _by_name(_name_of(loss))
    if isinstance(found, type) and issubclass(found, keras.losses.Loss):
        with contextlib.suppress(TypeError):  # arguments that it must have
            found = found()
    if inspect.isfunction(found):
        found = _OfFunction(found, name)
    if not isinstance(found, keras.losses.Loss):
        raise ValueError(
            "`losses` must hold instances of keras.losses.Loss, functions of y_true and y_pred, or names. "
            f"Received: {name!r}: {loss!r}"
        )
    return found


def _by_name(name: str) -> Any:
    kinds = {**vars(losses), **vars(keras.losses)}
    named = {key.lower(): kind for key, kind in kinds.items() if isinstance(kind, type)}
    with contextlib.suppress(ValueError):  # not known to Keras
        name = getattr(keras.losses.get(name), "__name__", name)  # 'bce' is a function's
    return named.get(name.replace("_", "").lower())


class _OfFunction(keras.losses.Loss):
    """A function of labels and predictions as a loss."""

    def __init__(self, function: Callable[[Any, Any], Any], name: str) -> None:
        super().__init__(name)
        self._function = function

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The function's value."""
        return self._function(y_true, y_pred)

    def get_config(self) -> dict[str, Any]:
        """The function, too."""
        return {"function": self._function, "name": self.name}


def _defaults(task: Task) -> list[Row]:
    rows = [Row(BASELINE, task.cross_entropy)]
    if task.kind != "multilabel":
        rows.append(Row("balanced cross-entropy", task.cross_entropy, balanced=True))
    return rows + [Row(name, loss) for name, loss in _recommended(task).items()]


def _recommended(task: Task) -> dict[str, keras.losses.Loss]:
    if task.score.curve:
        parts = {"set": SoftSetLoss(task.score), "cross_entropy": task.cross_entropy}
        return {f"{task.score.name} + cross-entropy": BlendedLoss(parts)}
    threshold = "argmax" if task.kind == "classes" else None
    return {
        "guided cross-entropy": GuidedCrossentropy(task.score, threshold=threshold),
        f"recommended for {task.score.name}": loss_for(task.score, threshold=threshold),
    }
