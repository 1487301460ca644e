"""The losses by name; each maps (labels, logits, weights), all (samples, trials), to one loss for each trial.

The set losses are the package's: to them a trial is a class, so `average=None` gives each trial its own loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

import keras_softsets as kss
from studies.engine import baselines
from studies.engine.evaluation import THRESHOLDS
from studies.paper.methods import authors

Objective = Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]


def _soft(loss: Callable[..., Any], **options: Any) -> Objective:
    return loss(average=None, reduction=None, from_logits=True, **options)


OBJECTIVES: dict[str, Objective] = {
    **{f"f1_{h}": _soft(kss.SoftF1, heaviside=h) for h in ("linear", "sigmoid")},
    **{f"accuracy_{h}": _soft(kss.SoftAccuracy, heaviside=h) for h in ("linear", "sigmoid")},
    **{f"auroc_{h}": _soft(kss.SoftAUROC, heaviside=h) for h in ("linear", "sigmoid")},
    **{f"f1_{h}_authors": authors.soft_f1(h) for h in ("linear", "sigmoid")},
    "f1_linear_mean": _soft(kss.SoftF1, threshold=THRESHOLDS, heaviside=kss.LinearHeaviside(delta=0.2)),
    "f2_linear": _soft(kss.SoftFBeta, beta=2),
    "f3_linear": _soft(kss.SoftFBeta, beta=3),
    "bce": baselines.binary_crossentropy,
    "wmw": baselines.wmw,
    "wmw_authors": authors.wmw,
    "dice": baselines.dice,
    "dice_authors": authors.dice,
    "dice_logits": baselines.dice_logits,
    "dice_logits_authors": authors.dice_logits,
}

# How the test outputs are read; BCE is read both ways, since only the reading differs.
READINGS = {
    "bce": ("probabilities", "logits"),
    **dict.fromkeys(("wmw_authors", "dice_logits", "dice_logits_authors"), ("logits",)),
}


def readings(loss: str) -> tuple[str, ...]:
    """Returns how the outputs of a network trained on `loss` are read: as probabilities, as logits, or both."""
    return READINGS.get(loss, ("probabilities",))
