"""Recall at few false positives, on images: FNR at FPR 1 % and 5 % on CIFAR-10-Frog with Tiny Darknet.

Protocol, fixed before any test figure was seen:

* Data and splits are those of `datasets.load("cifar10_frog", seed)`; batches of 128, Adam 1e-4, the same initial
  weights and order of the images for every row.
* Rows: cross-entropy, balanced cross-entropy, `SoftF1`, and `SoftSensitivityAtSpecificity` at 0.99 and at 0.95. Six
  epochs each, one trial.
* Added after the rows above were known: `SoftSensitivityAtSpecificity(0.99)` blended with cross-entropy, 1 : 1.
* The epoch with the lowest FNR on the validation part is tested, separately for each rate.
* Two numbers for each rate: at the ROC point of the test part, as in ICO's table 2, and at the threshold that was
  tuned on the validation part (`tune_threshold(..., "recall", at_least={"specificity": 0.99})`), with the FPR that is
  then reached on the test part.

    python -m studies run operating_images        # resumes after the last whole epoch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_softsets as kss
from keras_softsets.datasets import Splits
from studies.harness.store import RESULTS, Line
from studies.harness.study import Job, Study, product
from studies.images import frog, training
from studies.images.frog import Method

NETWORK, RATES = "tiny_darknet", (0.01, 0.05)


def _of_logits(kind: Callable[..., Any], *arguments: float) -> Callable[[], keras.losses.Loss]:
    return lambda: kind(*arguments, from_logits=True)


def _blend() -> kss.BlendedLoss:
    score = kss.SoftSensitivityAtSpecificity(0.99, from_logits=True)
    return kss.BlendedLoss({"score": score, "cross_entropy": keras.losses.BinaryCrossentropy(from_logits=True)})


METHODS = {
    "cross_entropy": Method("cross-entropy", _of_logits(keras.losses.BinaryCrossentropy)),
    "balanced_cross_entropy": Method("balanced cross-entropy", _of_logits(keras.losses.BinaryCrossentropy), "weighted"),
    "soft_f1": Method("SoftF1", _of_logits(kss.SoftF1)),
    "at_99": Method("SoftSensitivityAtSpecificity(0.99)", _of_logits(kss.SoftSensitivityAtSpecificity, 0.99)),
    "at_95": Method("SoftSensitivityAtSpecificity(0.95)", _of_logits(kss.SoftSensitivityAtSpecificity, 0.95)),
    "at_99_and_cross_entropy": Method("SoftSensitivityAtSpecificity(0.99) + cross-entropy", _blend),
}


def tested(model: keras.Model, splits: Splits) -> dict[str, float]:
    """Returns the rates of the validation and the test part, in %."""
    validation, test = ((y, np.float64(logits)) for y, logits in training.outputs(model, splits))
    return columns(validation, test)


def columns(validation: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]) -> dict[str, float]:
    """Returns the false negative rates at each false positive rate, from labels and logits."""
    parts = [(np.asarray(y, "float64"), 1 / (1 + np.exp(-np.float64(logits)))) for y, logits in (validation, test)]
    found: dict[str, float] = {}
    for rate in RATES:
        at, name = kss.AtSpecificity(1 - rate), f"{100 * rate:g}"
        chosen = kss.tune_threshold(*parts[0], "recall", at_least={"specificity": 1 - rate}).threshold
        there = [kss.evaluate(*parts[1], score, threshold=chosen) for score in ("recall", "specificity")]
        found |= {
            f"{part}_fnr_at_{name}": 100 * (1 - kss.evaluate(*data, "recall", threshold=at))
            for part, data in zip(("validation", "test"), parts)
        }
        found |= {f"tuned_fnr_at_{name}": 100 * (1 - there[0]), f"tuned_fpr_at_{name}": 100 * (1 - there[1])}
    return found


def _train(job: Job) -> Iterator[Line]:
    return frog.train(job, NETWORK, METHODS, tested)


STUDY = Study(
    "operating_images",
    "recall at few false positives, on CIFAR-10-Frog with Tiny Darknet",
    ("method", "trial", "epoch"),
    product(method=METHODS),
    _train,
    trials=1,
    epochs=6,
    minutes=12.0,
)


def table(folder: Path = RESULTS) -> str:
    """Returns the table: the best epochs by the validation part."""
    lines = [
        "| trained on | FNR at FPR 1 % | tuned: FNR (FPR) | FNR at FPR 5 % | tuned: FNR (FPR) |",
        "|---|---|---|---|---|",
    ]
    for name, method in METHODS.items():
        for trial in frog.finished(STUDY.store(folder), STUDY.epochs, method=name).values():
            cells = [_cells(trial, f"{100 * rate:g}") for rate in RATES]
            lines.append(f"| {method.label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(epochs: list[dict[str, Any]], rate: str) -> str:
    best = min(epochs, key=lambda line: float(line[f"validation_fnr_at_{rate}"]))
    found = [float(best[f"{name}_at_{rate}"]) for name in ("test_fnr", "tuned_fnr", "tuned_fpr")]
    return "{:.1f} | {:.1f} ({:.2f})".format(*found)
