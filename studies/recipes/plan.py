"""What is trained: three questions about tables, which share rows and a table of results."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras_softsets as kss
from keras_softsets.losses import PAPER_THRESHOLDS
from studies.engine.baselines import binary_crossentropy
from studies.engine.memory import Remembered
from studies.engine.objectives import Plain, Scheduled, blended, dice, focal, soft
from studies.engine.tabular import DATA as DATA
from studies.engine.tabular import Method, tabular_study
from studies.harness.study import Key, product

MISS = 50.0  # what a missed fraud costs, in alerts: examples/custom_score.py


def savings(cells: kss.ConfusionMatrix) -> Any:
    """Cost avoided per transaction, in alerts, by the same formula as in examples/custom_score.py."""
    return (MISS * cells.tp - cells.predicted_positives) / cells.total


_F1, _NINE = soft(kss.SoftF1), soft(kss.SoftF1, threshold=PAPER_THRESHOLDS)
_BCE = Plain(binary_crossentropy)

TABULAR = {
    "bce": Method("BCE", _BCE),
    "bce_weighted": Method("balanced BCE", _BCE, balance="weighted"),
    "bce_oversampled": Method("BCE, oversampled", _BCE, balance="oversampled"),
    "focal": Method("BinaryFocalCrossentropy", Plain(focal)),
    "dice": Method("Keras Dice", Plain(dice)),
    "f1": Method("SoftF1", Plain(_F1)),
    "f1_nine": Method("SoftF1, nine thresholds", Plain(_NINE)),
    "f1_sigmoid": Method("SoftF1, sigmoid", Plain(soft(kss.SoftF1, heaviside="sigmoid"))),
    "f1_bce_0.3": Method("SoftF1 + 0.3 BCE", Plain(blended(_F1, 0.3))),
    "f1_bce_1": Method("SoftF1 + BCE", Plain(blended(_F1, 1.0))),
    "f1_bce_3": Method("SoftF1 + 3 BCE", Plain(blended(_F1, 3.0))),
    "f1_nine_bce_0.3": Method("SoftF1, nine thresholds + 0.3 BCE", Plain(blended(_NINE, 0.3))),
    "f1_bce_scheduled": Method("SoftF1 + BCE, scheduled", Scheduled(_F1)),
    "auroc_bce_1": Method("SoftAUROC + BCE", Plain(blended(soft(kss.SoftAUROC), 1.0))),
}
MEMORY = {
    **{name: TABULAR[name] for name in ("bce", "f1", "f1_bce_1")},
    "f1_memory": Method("SoftF1, memory of 4,096 samples", Remembered(kss.scores.f1), validated=Plain(_F1)),
    "f1_stratified": Method("SoftF1, stratified batches", Plain(_F1), stratified=True),
    "f1_bce_1_stratified": Method("SoftF1 + BCE, stratified batches", Plain(blended(_F1, 1.0)), stratified=True),
}


def _cures(name: str, label: str, kind: Any, *arguments: Any) -> dict[str, Method]:
    """Returns a loss that gets stuck, and what may cure it."""

    def loss(**options: Any) -> Any:
        return soft(lambda **more: kind(*arguments, **more), **options)

    return {
        name: Method(label, Plain(loss())),
        f"{name}_bce_1": Method(f"{label} + BCE", Plain(blended(loss(), 1.0))),
        f"{name}_bce_scheduled": Method(f"{label} + BCE, scheduled", Scheduled(loss())),
        f"{name}_delta_0.2": Method(f"{label}, delta=0.2", Plain(loss(heaviside=kss.LinearHeaviside(0.2)))),
        f"{name}_bias": Method(f"{label}, output bias", Plain(loss()), output_bias=True),
    }


STUCK = {
    **_cures("accuracy", "SoftAccuracy", kss.SoftAccuracy),
    **_cures("savings", "savings", kss.SoftSetLoss, savings),
    "f1": TABULAR["f1"],
    "bce": TABULAR["bce"],
}
STUDIES = {"tabular": TABULAR, "memory": MEMORY, "stuck": STUCK}
ALL = {name: method for study in STUDIES.values() for name, method in study.items()}


STUCK_DATA = "creditcard_fraud"
BATCH_SIZES = {"tabular": (1024, 128, 16), "memory": (32, 16, 8), "stuck": (1024,)}
TRIALS = 10


class Row(NamedTuple):
    """One method on one data set at one batch size, trained over all trials."""

    data: str
    method: str
    batch_size: int


def _plan() -> list[Key]:
    """Returns the rows of all questions, each once, the quickest batch size first and grouped by data set."""
    rows = [
        Row(key["data"], key["method"], key["batch_size"])
        for name, methods in STUDIES.items()
        for key in product(batch_size=BATCH_SIZES[name], data=[STUCK_DATA] if name == "stuck" else DATA, method=methods)
    ]
    return [row._asdict() for row in dict.fromkeys(rows)]


STUDY = tabular_study("recipes", "which loss when, on eight data sets", _plan(), ALL, trials=TRIALS)
