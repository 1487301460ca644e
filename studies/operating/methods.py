"""The rows: what each model is trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_softsets import SoftF1, SoftPrecisionAtRecall

RECALLS = (0.955, 0.965, 0.975, 0.985, 0.995)
Loss = Callable[..., Any]


def cross_entropy(labels: np.ndarray) -> Loss:
    """Binary cross-entropy."""
    return keras.losses.BinaryCrossentropy()


def balanced_cross_entropy(labels: np.ndarray) -> Loss:
    """Binary cross-entropy in which both classes weigh the same."""
    plain, share = keras.losses.BinaryCrossentropy(), float(labels.mean())

    def loss(y: Any, p: Any) -> Any:
        return plain(y, p, y / (2 * share) + (1 - y) / (2 * (1 - share)))

    return loss


def soft_f1(labels: np.ndarray) -> Loss:
    """Our F1 loss."""
    return SoftF1()


def precision_at_recall(labels: np.ndarray) -> Loss:
    """Our loss at operating points."""
    return SoftPrecisionAtRecall(RECALLS)


METHODS = {
    "cross_entropy": cross_entropy,
    "balanced_cross_entropy": balanced_cross_entropy,
    "soft_f1": soft_f1,
    "precision_at_recall": precision_at_recall,
}
