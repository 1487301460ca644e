"""What is compared, and the most that it may cost compared with cross-entropy."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras

from benchmarks.speed.cases import BASE, Batch, Group
from benchmarks.speed.losses import LOSSES, Loss
from keras_softsets import (
    GuidedCrossentropy,
    SoftAUROC,
    SoftF1,
    SoftKappa,
    SoftPrecisionAtRecall,
    SoftRecallAtPrecision,
    loss_for,
)

MILLION = 1_000_000
CATEGORICAL = "Keras CategoricalCrossentropy"
ONE, SEVERAL, MANY, AREA = "linear, 1 threshold", "linear, 9 thresholds", "linear, 99 thresholds", "SoftAUROC"
SIGMOID = "sigmoid, 9 thresholds"
AT_RECALL, AT_PRECISION = "SoftPrecisionAtRecall(0.9)", "SoftRecallAtPrecision(0.9)"
ARGMAX, KAPPA = "SoftF1 at the argmax", "SoftKappa"
GUIDED, RECOMMENDED = "GuidedCrossentropy", 'loss_for("f1")'
LEAST = "the least for any set loss"


class Least(keras.losses.Loss):
    """What no set loss can be quicker than: it reads labels and predictions for a sum, and again for a gradient."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Returns (sum y p^2)^2, whose gradient is 4 y p sum y p^2."""
        return keras.ops.square(keras.ops.sum(y_true * keras.ops.square(y_pred)))


EVERY = LOSSES | {
    loss.name: loss
    for loss in (
        Loss(AREA, SoftAUROC),
        Loss(CATEGORICAL, keras.losses.CategoricalCrossentropy),
        Loss(ARGMAX, SoftF1, {"threshold": "argmax"}),
        Loss(KAPPA, SoftKappa),
        Loss(AT_RECALL, SoftPrecisionAtRecall, {"recall": 0.9}),
        Loss(AT_PRECISION, SoftRecallAtPrecision, {"precision": 0.9}),
        Loss(GUIDED, GuidedCrossentropy),
        Loss(RECOMMENDED, loss_for),
        Loss(LEAST, Least),
    )
}


class Goal(NamedTuple):
    """What some losses may cost on a batch; without a limit if the cost is only reported."""

    batch: Batch
    limits: dict[str, float | None]
    base: str = BASE

    @property
    def group(self) -> Group:
        """The losses and their base, to be timed in turn."""
        return Group(self.batch, tuple(EVERY[name] for name in (self.base, *self.limits)), base=self.base)


GOALS = (
    Goal(Batch(1024, 1000), {ONE: 1.0, SEVERAL: 2.5, AREA: 2.5}),
    Goal(Batch(256, 20_000), {ONE: 1.2, SEVERAL: 4.0, AREA: 4.0}),
    Goal(Batch(8, 5, sides=(256, 256)), {ONE: 1.0, SEVERAL: 1.8}),
    Goal(Batch(8, 1, sides=(256, 256)), {ONE: 0.78, SEVERAL: 1.54}),
    Goal(
        Batch(MILLION),
        {ONE: None, SEVERAL: None, SIGMOID: 2.0, AT_RECALL: 3.0, AT_PRECISION: 5.0, GUIDED: 1.3, RECOMMENDED: None},
    ),
    Goal(Batch(MILLION, weighted=True), {ONE: 1.0, SEVERAL: 1.8, MANY: 1.8, SIGMOID: 3.5}),
    Goal(Batch(1024), {AT_RECALL: 1.5, AT_PRECISION: None, GUIDED: 1.5, RECOMMENDED: None}),
    Goal(Batch(10 * MILLION), {LEAST: None, ONE: None, SEVERAL: None}),
    Goal(Batch(1024, 10, exclusive=True), {ARGMAX: 1.5}, CATEGORICAL),
    Goal(Batch(65_536, 10, exclusive=True), {ARGMAX: 1.5}, CATEGORICAL),
    Goal(Batch(1024, 100, exclusive=True), {KAPPA: 3.0}, CATEGORICAL),
)
QUICK = (Goal(Batch(64, 5), {ONE: 1.0}), Goal(Batch(64, 3, exclusive=True), {ARGMAX: 1.5}, CATEGORICAL))

# How time grows: one number changes, the others stay.
SAMPLES = tuple(10**k for k in range(3, 8))
CLASSES = tuple(10**k for k in range(6))  # of 10^6 labels
THRESHOLDS = (1, 3, 9, 31, 99, 315, 999)  # at 10^5 samples
REPLICAS = (1, 2, 4)


def growing_classes(classes: int) -> Goal:
    """A million labels of that many classes."""
    return Goal(Batch(MILLION // classes, classes), {ONE: None, SEVERAL: None})


def growing_thresholds(count: int) -> Group:
    """A sweep of that many thresholds."""
    sweep = Loss(str(count), SoftF1, {"threshold": [(k + 1) / (count + 1) for k in range(count)]})
    return Group(Batch(100_000), (LOSSES[BASE], sweep))
