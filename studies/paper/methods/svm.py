"""The most violated constraint of each of the three losses, found by sorting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from studies.engine import evaluation
from studies.engine.data import Trials
from studies.harness.store import Line
from studies.harness.study import Job
from studies.paper.methods.side_by_side import load_trials


def error_constraint(x: np.ndarray, y: np.ndarray, scores: np.ndarray) -> Constraint:
    """Error rate: every sample inside the margin is flipped."""
    sign = 2 * y - 1
    flipped = sign * scores < 1
    return (sign * flipped) @ x / len(y), float(flipped.mean())


def roc_constraint(x: np.ndarray, y: np.ndarray, scores: np.ndarray) -> Constraint:
    """ROC area: every pair (positive, negative) inside the margin is swapped; counted by two sorts, not by pairs."""
    positive, negative = y == 1, y == 0
    above = np.sort(scores[negative])
    below = np.sort(scores[positive])
    counts = np.zeros(len(y))
    counts[positive] = len(above) - np.searchsorted(above, scores[positive] - 1, side="right")
    counts[negative] = -np.searchsorted(below, scores[negative] + 1, side="left")
    pairs = len(above) * len(below)
    return counts @ x / pairs, float(counts[positive].sum() / pairs)


def f1_constraint(x: np.ndarray, y: np.ndarray, scores: np.ndarray) -> Constraint:
    """F1: the best labelling with tp true and fp false positives takes the highest scores of each class.

    For each tp the value is concave in fp (a concave loss and a sum of falling terms), so bisection finds the best fp
    for all tp at once: O(n log n), where trying every pair is O(positives x negatives).
    """
    positives, negatives = (np.flatnonzero(y == label) for label in (1, 0))
    positives, negatives = (rows[np.argsort(-scores[rows], kind="stable")] for rows in (positives, negatives))
    total = len(positives)
    kept, added = (np.append(0, np.cumsum(scores[rows])) for rows in (positives, negatives))
    tp = np.arange(total + 1)

    def value(fp: np.ndarray) -> np.ndarray:
        return 1 - 2 * tp / (total + tp + fp) + (kept[tp] + added[fp]) / total

    low, high = np.zeros(total + 1, int), np.full(total + 1, len(negatives))
    while (low < high).any():
        middle = (low + high) // 2
        rising = value(np.minimum(middle + 1, len(negatives))) > value(middle)
        low, high = np.where(rising & (low < high), middle + 1, low), np.where(rising, high, middle)
    best = int(value(low).argmax())
    gap = (x[positives[best:]].sum(axis=0) - x[negatives[: low[best]]].sum(axis=0)) / total
    return gap, float(1 - 2 * best / (total + best + low[best]))


VIOLATIONS: dict[str, Find] = {"svm_error": error_constraint, "svm_f1": f1_constraint, "svm_roc": roc_constraint}


TOLERANCE = 1e-3
MOST_CONSTRAINTS = 300

Constraint = tuple[np.ndarray, float]
Find = Callable[[np.ndarray, np.ndarray, np.ndarray], Constraint]


def fit(x: np.ndarray, y: np.ndarray, find: Find, cost: float) -> np.ndarray:
    """Returns the weights w.

    Args:
        x: Features (samples, features).
        y: Labels 0 or 1.
        find: Returns the most violated constraint for features, labels and scores.
        cost: C, what a unit of the loss costs.
    """
    weights = np.zeros(x.shape[1])
    # The true labelling is a constraint too (gap 0, loss 0); with it, the multipliers always sum to C.
    gaps, losses, multipliers = np.zeros((1, x.shape[1])), np.zeros(1), np.array([float(cost)])
    for _ in range(MOST_CONSTRAINTS):
        gap, loss = find(x, y, x @ weights)
        slack = (losses - gaps @ weights).max()
        if loss - gap @ weights <= slack + TOLERANCE:
            break
        gaps, losses = np.vstack([gaps, gap]), np.append(losses, loss)
        multipliers = solve(gaps @ gaps.T, losses, np.append(multipliers, 0.0))
        weights = multipliers @ gaps
    return weights


def solve(gram: np.ndarray, losses: np.ndarray, multipliers: np.ndarray, most_steps: int = 20_000) -> np.ndarray:
    """Maximises losses . a - 1/2 a . gram a over a >= 0 of constant sum, two multipliers at a time."""
    a, gradient = multipliers.copy(), losses - gram @ multipliers
    for _ in range(most_steps):
        up = int(gradient.argmax())
        down = int(np.where(a > 0, gradient, np.inf).argmin())
        if gradient[up] - gradient[down] < TOLERANCE / 10:
            break
        curvature = gram[up, up] + gram[down, down] - 2 * gram[up, down]
        step = min(a[down], (gradient[up] - gradient[down]) / max(curvature, 1e-12))
        a[up], a[down] = a[up] + step, a[down] - step
        gradient -= step * (gram[:, up] - gram[:, down])
    return a


COSTS = (1.0, 10.0, 100.0, 1000.0)


def train(job: Job) -> Iterator[Line]:
    """Yields the line of one trial after the other."""
    trials = load_trials(job.key["data"], job.trials, job.raw_dir)
    for trial in range(len(job.trials)):
        yield trial_line(job.key["loss"], trials, trial)


def trial_line(loss: str, trials: Trials, trial: int) -> Line:
    """Trains one SVM for each C, and returns the line of the best."""
    started = time.perf_counter()
    train, validation, test = (
        (_with_bias(part.x[trial]), part.y[trial]) for part in (trials.train, trials.validation, trials.test)
    )
    machines = {cost: fit(*train, VIOLATIONS[loss], cost) for cost in COSTS}
    best = max(machines, key=lambda cost: _score(loss, validation[1], validation[0] @ machines[cost]))
    outputs = [(labels, x @ machines[best]) for x, labels in (validation, test)]
    progress = {"trial": int(trials.seeds[trial]), "reading": "decision", "best_epoch": 0, "epochs": 0, "cost": best}
    return progress | {"seconds": time.perf_counter() - started} | _evaluate(*outputs)


def _evaluate(validation: evaluation.Outputs, test: evaluation.Outputs) -> dict[str, float]:
    """Evaluates decisions at 0: SVM outputs are not probabilities, so this replaces the mean over thresholds."""
    labels, scores = test
    values = evaluation.evaluate(labels, _decision(scores))
    ranking = evaluation.evaluate(labels, scores)
    tuned = evaluation.read("probabilities", validation, test)
    return (
        values
        | {name: ranking[name] for name in ("auroc", "auprc")}
        | {name: tuned[name] for name in ("threshold", "f1_tuned")}
    )


def _score(loss: str, labels: np.ndarray, scores: np.ndarray) -> float:
    if loss == "svm_roc":
        return evaluation.evaluate(labels, scores)["auroc"]
    return evaluation.evaluate(labels, _decision(scores))["mean_f1" if loss == "svm_f1" else "mean_accuracy"]


def _decision(scores: np.ndarray) -> np.ndarray:
    return (scores > 0).astype("float64")


def _with_bias(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, np.ones((len(x), 1))], axis=1, dtype="float64")
