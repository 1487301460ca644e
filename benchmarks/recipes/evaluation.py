"""The columns of the study, from labels and logits of the validation and the test part."""

from __future__ import annotations

import numpy as np

from benchmarks.paper.methods import evaluation as paper

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


def columns(validation: paper.Outputs, test: paper.Outputs) -> dict[str, float]:
    """Returns everything except the seconds, and the recall at 0.5, which shows who is stuck."""
    labels, p = test[0], paper.sigmoid(test[1])
    tuned = paper.tuned_threshold(validation[0], paper.sigmoid(validation[1]))
    values = paper.evaluate(labels, p, tuned)
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
