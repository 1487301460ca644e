"""Trains one SVM for each trial, its C chosen on validation data by the row's own score."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.paper.methods import evaluation
from benchmarks.paper.methods.data import Trials, load_trials
from benchmarks.paper.methods.protocol import Job
from benchmarks.paper.methods.svm.constraints import VIOLATIONS
from benchmarks.paper.methods.svm.cutting_planes import fit
from benchmarks.paper.records.store import Line

COSTS = (1.0, 10.0, 100.0, 1000.0)


def train(job: Job) -> Iterator[list[Line]]:
    """Yields the line of one trial after the other."""
    trials = load_trials(job.configuration.dataset, job.seeds, job.raw_dir)
    for trial in range(len(job.seeds)):
        yield [trial_line(job.configuration.loss, trials, trial)]


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
