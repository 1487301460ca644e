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


# The plain argmax, and offsets from the validation part; a bound has its offsets from the test part itself.
DECISIONS = ("argmax", "offsets")
BOUND = "bound"


def decisions(method: str) -> tuple[str, ...]:
    """Returns how the predictions of a method are decided."""
    return (*DECISIONS, BOUND) if method == "ce" else DECISIONS


class Training(NamedTuple):
    """How networks are trained.

    Attributes:
        units: Of the hidden layers.
        rate: Of Adam.
        batch: Samples in a batch.
        epochs: At most.
        kept: Which epoch: the `"best loss"` or the `"best score"` on validation data, or the `"last"`.
    """

    units: tuple[int, ...] = (64, 32)
    rate: float = 1e-3
    batch: int = 512
    epochs: int = 400
    kept: str = "best loss"


class Study(NamedTuple):
    """One data set, and the scores that are trained on and reported."""

    data: str
    scores: tuple[str, ...]
    training: Training = Training()

    @property
    def methods(self) -> tuple[str, ...]:
        soft = [name for score in self.scores for name in (score, f"{score}+ce")]
        return ("ce", *soft)


_WINE = Study("wine_quality", ("kappa", "f1", "mcc"))
STUDIES = {
    "wine_quality": _WINE,
    "wine_quality_by_score": _WINE._replace(training=Training(epochs=200, kept="best score")),
    "wine_quality_as_in_demo": _WINE._replace(training=Training((128, 64), 3e-3, 784, 100, "last")),
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
