"""Which data, methods and scores are in the study."""

from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np

from keras_softsets import (
    BlendedLoss,
    GuidedCrossentropy,
    SoftF1,
    SoftKappa,
    SoftMulticlassMCC,
    datasets,
    loss_for,
    scores,
)
from studies.classes import ordinal

Part = tuple[np.ndarray, np.ndarray]


def load(name: str, seed: int, raw_dir: str | None = None) -> datasets.Splits:
    parts = datasets.load(name, seed=seed, raw_dir=raw_dir)
    if name != "letter":
        return parts
    return datasets.Splits(*(thinned(part, (seed, number)) for number, part in enumerate(parts)))


def thinned(part: Part, seed: tuple[int, int]) -> Part:
    """Keeps 1/k of the rows of the k-th class, at least one, in their order."""
    x, ids = part
    random = np.random.default_rng(seed)
    kept = []
    for k, name in enumerate(np.unique(ids), start=1):
        rows = np.flatnonzero(ids == name)
        kept.append(random.choice(rows, max(1, round(len(rows) / k)), replace=False))
    rows = np.sort(np.concatenate(kept))
    return x[rows], ids[rows]


SHARE_OF_CROSS_ENTROPY = 0.3
SEEDS = 10
SCORES = {"kappa": scores.kappa(weights="quadratic"), "f1": scores.f1, "mcc": scores.multiclass_mcc}
SOFT: dict[str, Callable[[], keras.losses.Loss]] = {
    "kappa": SoftKappa,
    "f1": lambda: SoftF1(threshold="argmax"),
    "mcc": SoftMulticlassMCC,
}


# The plain argmax, and offsets from the validation part: one for each class; one number, a multiple of log shares; or
# what `offsets="auto"` chooses. A bound has its offsets from the test part itself.
DECISIONS = ("argmax", "offsets")
BOUND, ONE_NUMBER, AUTO = "bound", "one number", "auto"

GUIDED: dict[str, Callable[[], keras.losses.Loss]] = {
    "guided_kappa": lambda: GuidedCrossentropy("kappa", weights="quadratic"),
    "kappa+guided": lambda: loss_for("kappa", weights="quadratic"),
    "guided_f1": lambda: GuidedCrossentropy("f1", threshold="argmax"),
    "f1+guided": lambda: loss_for("f1", threshold="argmax"),
    "f1+guided_0.3": lambda: BlendedLoss({"f1": SOFT["f1"](), "guided": GUIDED["guided_f1"]()}, [1.0, 0.3]),
}
ORDINAL = tuple(ordinal.HEADS)


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
    """One data set, the scores that are trained on and reported, and the methods of the study of guided losses."""

    data: str
    scores: tuple[str, ...]
    training: Training = Training()
    guided: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        soft = [name for score in self.scores for name in (score, f"{score}+ce")]
        return ("ce", *soft, *self.guided)

    def decisions(self, method: str) -> tuple[str, ...]:
        """Returns how the predictions of a method are decided."""
        if method != "ce":
            return DECISIONS
        return (*DECISIONS, ONE_NUMBER, AUTO, BOUND) if self.guided else (*DECISIONS, BOUND)


_WINE = Study("wine_quality", ("kappa", "f1", "mcc"), guided=(*GUIDED, *ORDINAL))
STUDIES = {
    "wine_quality": _WINE,
    "wine_quality_by_score": _WINE._replace(training=Training(epochs=200, kept="best score"), guided=()),
    "wine_quality_as_in_demo": _WINE._replace(training=Training((128, 64), 3e-3, 784, 100, "last")),
    "letter": Study("letter", ("f1", "mcc"), guided=tuple(name for name in GUIDED if "f1" in name)),  # without order
}


def cross_entropy() -> keras.losses.Loss:
    return keras.losses.SparseCategoricalCrossentropy()


def loss(method: str) -> keras.losses.Loss:
    """Returns the loss of a method, such as "ce", "kappa", "kappa+ce" or "kappa+guided"."""
    if method in GUIDED:
        return GUIDED[method]()
    if method in ORDINAL:
        return ordinal.loss(method)
    if method == "ce":
        return cross_entropy()
    score = method.removesuffix("+ce")
    if method == score:
        return SOFT[score]()
    parts = {score: SOFT[score](), "ce": cross_entropy()}
    return BlendedLoss(parts, weights={score: 1.0, "ce": SHARE_OF_CROSS_ENTROPY})
