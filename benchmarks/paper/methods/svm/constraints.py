"""The most violated constraint of each of the three losses, found by sorting."""

from __future__ import annotations

import numpy as np

from benchmarks.paper.methods.svm.cutting_planes import Constraint, Find


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
