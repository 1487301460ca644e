"""What is reported about a trained classifier: the paper's columns, and those that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from keras_softsets import tune_threshold
from studies.harness.store import Line

Outputs = tuple[np.ndarray, np.ndarray]  # labels and logits of one part of the data
Columns = Callable[[Outputs, Outputs], dict[str, float]]  # of the validation and the test part
THRESHOLDS = tuple(round(0.1 * k, 1) for k in range(1, 10))


class Progress(NamedTuple):
    """How a trial went: the first columns of its line."""

    trial: int
    best_epoch: float
    epochs: float
    validation_loss: float
    seconds: float


def lines(progress: Progress, readings: tuple[str, ...], validation: Outputs, test: Outputs) -> list[Line]:
    """Returns the lines of a trial, one for each reading of its outputs."""
    return [{"reading": reading} | progress._asdict() | read(reading, validation, test) for reading in readings]


def read(reading: str, validation: Outputs, test: Outputs) -> dict[str, float]:
    """Evaluates logits correctly, or as the paper read them; a threshold is tuned on probabilities only."""
    if reading == "logits":
        return evaluate(*test)
    labels, logits = test
    return evaluate(labels, sigmoid(logits), tuned_threshold(validation[0], sigmoid(validation[1])))


def evaluate(labels: np.ndarray, outputs: np.ndarray, tuned: float | None = None) -> dict[str, float]:
    """Returns the metrics of one trial on test data.

    Args:
        labels: 0 or 1.
        outputs: Probabilities, or logits that are thresholded as if they were probabilities, as in the paper.
        tuned: A threshold chosen on validation data. Defaults to `None`: no column for it.
    """
    at = {threshold: _at(labels, outputs, threshold) for threshold in THRESHOLDS}
    values = {f"mean_{name}": float(np.mean([row[name] for row in at.values()])) for name in at[0.5]}
    values["f1_at_half"] = at[0.5]["f1"]
    values["f1_tuned"] = float("nan") if tuned is None else _at(labels, outputs, tuned)["f1"]
    values["threshold"] = float("nan") if tuned is None else tuned
    values["auroc"] = float(roc_auc_score(labels, outputs))
    values["auprc"] = float(average_precision_score(labels, outputs))
    return values | {f"f1_at_{threshold}": row["f1"] for threshold, row in at.items()}


def tuned_threshold(labels: np.ndarray, probabilities: np.ndarray) -> float:
    """Returns the threshold with the best F1."""
    return float(tune_threshold(labels, probabilities).threshold)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """Returns probabilities in float64, in which not even large logits are rounded to 1."""
    return np.exp(-np.logaddexp(0, -np.asarray(logits, "float64")))


def _at(labels: np.ndarray, outputs: np.ndarray, threshold: float) -> dict[str, float]:
    positive, truth = outputs >= threshold, labels == 1
    tp, fp = np.sum(positive & truth), np.sum(positive & ~truth)
    fn, tn = np.sum(~positive & truth), np.sum(~positive & ~truth)
    recall, specificity = _ratio(tp, tp + fn), _ratio(tn, tn + fp)
    return {
        "f1": _f_beta(tp, fp, fn, 1),
        "accuracy": (tp + tn) / len(labels),
        "balanced_accuracy": (recall + specificity) / 2,
        "precision": _ratio(tp, tp + fp),
        "recall": recall,
        "f2": _f_beta(tp, fp, fn, 2),
        "f3": _f_beta(tp, fp, fn, 3),
    }


def _f_beta(tp: int, fp: int, fn: int, beta: float) -> float:
    return _ratio((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp)


def _ratio(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator else 0.0


COLUMNS = {
    "f1_at_half": "F1 at 0.5",
    "mean_f1": "F1, mean over thresholds",
    "f1_tuned": "F1, tuned",
    "auroc": "AUROC",
    "auprc": "AUPRC",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "seconds": "seconds",
}
LOWER_IS_BETTER = ("brier", "calibration_error", "seconds")
BINS = 15


def columns(validation: Outputs, test: Outputs) -> dict[str, float]:
    """Returns everything except the seconds, and the recall at 0.5, which shows who is stuck."""
    labels, p = test[0], sigmoid(test[1])
    tuned = tuned_threshold(validation[0], sigmoid(validation[1]))
    values = evaluate(labels, p, tuned)
    found = {name: values[name] for name in ("f1_at_half", "mean_f1", "f1_tuned", "threshold", "auroc", "auprc")}
    found |= {"brier": brier(labels, p), "calibration_error": calibration_error(labels, p)}
    return found | {"recall_at_half": float(np.mean(p[labels == 1] >= 0.5))}


def brier(labels: np.ndarray, p: np.ndarray) -> float:
    """Returns the mean squared difference of probabilities and labels."""
    return float(np.mean(np.square(p - labels)))


def calibration_error(labels: np.ndarray, p: np.ndarray, bins: int = BINS) -> float:
    """Returns the mean over bins of equally many samples of |mean probability - share of positives|."""
    order = np.argsort(p, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return float(sum(len(part) * abs(p[part].mean() - labels[part].mean()) for part in parts) / len(p))
