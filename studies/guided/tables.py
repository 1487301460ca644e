"""Guided losses on tables: methods, plan and columns."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

import keras_softsets as kss
from studies.engine import evaluation
from studies.engine.data import FEW
from studies.engine.evaluation import calibration_error
from studies.engine.evaluation import columns as usual
from studies.engine.memory import Guided
from studies.engine.objectives import Plain, soft
from studies.engine.tabular import DATA, Method, tabular_study
from studies.harness.study import product
from studies.recipes.plan import TABULAR

_F1 = soft(kss.SoftF1)
METHODS = {
    "guided": Method("guided", Guided(kss.scores.f1)),
    "f1_guided_1": Method("SoftF1 + guided", Guided(kss.scores.f1, _F1)),
    "f1_guided_0.3": Method("SoftF1 + 0.3 guided", Guided(kss.scores.f1, _F1, 0.3)),
    "f1_guided_3": Method("SoftF1 + 3 guided", Guided(kss.scores.f1, _F1, 3.0)),
    **{
        f"{name}_{matrix}": Method(f"{label}, {matrix} matrix", Guided(kss.scores.f1, beside, heaviside=heaviside))
        for matrix, heaviside in (("sharp", kss.SigmoidHeaviside(20.0)), ("hard", "step"))
        for name, label, beside in (("guided", "guided", None), ("f1_guided_1", "SoftF1 + guided", _F1))
    },
}
DECISIVE, OF_WEIGHT = ("guided", "f1_guided_1"), ("f1_guided_0.3", "f1_guided_3")
OF_MATRIX = tuple(name for name in METHODS if name.endswith(("sharp", "hard")))
BATCH_SIZES = (1024, 128, 16)


def columns(validation: evaluation.Outputs, test: evaluation.Outputs) -> dict[str, float]:
    """Returns the usual columns, those of the validation part, and the calibration after the shift."""
    on_validation, shift = usual(validation, validation), shift_of(validation)
    return {
        **usual(validation, test),
        **{f"validation_{name}": on_validation[name] for name in ("f1_at_half", "f1_tuned", "auroc")},
        "shift": shift,
        "shifted_calibration_error": calibration_error(test[0], evaluation.sigmoid(test[1] - shift)),
    }


def shift_of(part: evaluation.Outputs) -> float:
    """Returns by how much cross-entropy that F1 guides moves the logits, by the matrix of a part."""
    labels, logits = (np.asarray(x, "float32") for x in part)
    return float(kss.GuidedCrossentropy("f1", from_logits=True).shift(labels, logits))


STUDY = tabular_study(
    "guided",
    "cross-entropy guided by F1, alone and beside SoftF1, on eight data sets",
    [
        *product(batch_size=BATCH_SIZES, data=DATA, method=DECISIVE),
        *product(batch_size=BATCH_SIZES[:2], data=DATA, method=OF_MATRIX),
        *product(batch_size=BATCH_SIZES, data=DATA, method=OF_WEIGHT),
    ],
    METHODS,
    columns=columns,
)

# Kaggle is left out: a thousand of its rows hold two positives.
FEW_DATA = {f"{name}{FEW}": title for name, title in DATA.items() if name != "creditcard_fraud"}
FEW_METHODS = {name: TABULAR[name] for name in ("bce", "bce_weighted", "focal", "f1_bce_1")} | {
    name: METHODS[name] for name in DECISIVE
}


def _missed_f1(labels: tf.Tensor, logits: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """One minus the F1 of the decisions at 0.5."""
    positive = weights * tf.cast(logits >= 0, tf.float32)
    both = tf.reduce_sum(positive + weights * labels, 0)
    return 1 - tf.math.divide_no_nan(2 * tf.reduce_sum(positive * labels, 0), both)


FEW_METHODS |= {
    f"{name}_by_f1": method._replace(label=f"{method.label}, epoch by F1", validated=Plain(_missed_f1))
    for name, method in FEW_METHODS.items()
    if name in ("bce", *DECISIVE)
}
FEW_STUDY = tabular_study(
    "guided_few_rows",
    "the same with a thousand rows to train on",
    product(batch_size=(128,), data=FEW_DATA, method=FEW_METHODS),
    FEW_METHODS,
)
