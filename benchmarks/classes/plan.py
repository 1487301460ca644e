"""Which data, methods and scores are in the study."""

from collections.abc import Callable
from typing import NamedTuple

import keras

from keras_softsets import BlendedLoss, SoftF1, SoftKappa, SoftMulticlassMCC, scores

SHARE_OF_CROSS_ENTROPY = 0.3
SEEDS = 10
SCORES = {"kappa": scores.kappa(weights="quadratic"), "f1": scores.f1, "mcc": scores.multiclass_mcc}
SOFT: dict[str, Callable[[], keras.losses.Loss]] = {
    "kappa": SoftKappa,
    "f1": lambda: SoftF1(threshold="argmax"),
    "mcc": SoftMulticlassMCC,
}


class Study(NamedTuple):
    """One data set, and the scores that are trained on and reported."""

    data: str
    scores: tuple[str, ...]
    epochs: int = 400  # at most
    epoch_by_score: bool = False  # else by the method's own loss

    @property
    def methods(self) -> tuple[str, ...]:
        soft = [name for score in self.scores for name in (score, f"{score}+ce")]
        return ("ce", *soft)


STUDIES = {
    "wine_quality": Study("wine_quality", ("kappa", "f1", "mcc")),
    "wine_quality_by_score": Study("wine_quality", ("kappa", "f1", "mcc"), 200, epoch_by_score=True),
    "letter": Study("letter", ("f1", "mcc")),  # letters have no order
}


def cross_entropy() -> keras.losses.Loss:
    return keras.losses.SparseCategoricalCrossentropy()


def loss(method: str) -> keras.losses.Loss:
    """Returns the loss of "ce", "kappa" or "kappa+ce"."""
    if method == "ce":
        return cross_entropy()
    score = method.removesuffix("+ce")
    if method == score:
        return SOFT[score]()
    parts = {score: SOFT[score](), "ce": cross_entropy()}
    return BlendedLoss(parts, weights={score: 1.0, "ce": SHARE_OF_CROSS_ENTROPY})
