"""Stuck starts of a small U-Net: blobs that cover 1 % of noisy images, batches of 4, as in the report of the problem.

A trial counts as stuck if its recall at 0.5 on the test images is below 0.01 after the last epoch. Cures are a blend
with cross-entropy, a schedule, `delta=0.2` and an output bias; variants are precision and learning rate. The variant
with a last layer in float32, and the output bias for cross-entropy and for the blend, were added when the first results
were known: in bfloat16, cross-entropy and the blend were stuck in every trial.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import keras
import numpy as np

import keras_softsets as kss
from studies.harness.store import Line
from studies.harness.study import Job, Study, product

SIDE, IMAGES, EPOCHS, BATCH_SIZE, TRIALS = 64, 128, 15, 4, 6
SHARE = 0.01
SCHEDULED_EPOCHS = 5
STUCK_BELOW = 0.01


class Variant(NamedTuple):
    """Precision and learning rate of a training run; the last layer may have a precision of its own."""

    policy: str
    rate: float
    last_layer: str | None = None

    @property
    def label(self) -> str:
        """What it is called."""
        last = f" with a last layer in {self.last_layer}" if self.last_layer else ""
        return f"{self.policy}{last}, learning rate {self.rate:g}"


VARIANTS = {
    "bfloat16": Variant("mixed_bfloat16", 2e-3),
    "bfloat16_last_float32": Variant("mixed_bfloat16", 2e-3, "float32"),
    "float32": Variant("float32", 2e-3),
    "bfloat16_slow": Variant("mixed_bfloat16", 5e-4),
}


class Method(NamedTuple):
    """A loss, and the cure that goes with it."""

    label: str
    loss: Callable[[], keras.losses.Loss]
    scheduled: bool = False
    output_bias: bool = False


def _blend(kind: Callable[..., Any]) -> Callable[[], keras.losses.Loss]:
    return lambda: kss.BlendedLoss({"score": kind(), "bce": keras.losses.BinaryCrossentropy()})


def _cures(name: str, kind: Callable[..., Any]) -> dict[str, Method]:
    label = kind.__name__
    return {
        name: Method(label, kind),
        f"{name}_bce_1": Method(f"{label} + BCE", _blend(kind)),
        f"{name}_bce_scheduled": Method(f"{label} + BCE, scheduled", _blend(kind), scheduled=True),
        f"{name}_delta_0.2": Method(f"{label}, delta=0.2", lambda: kind(heaviside=kss.LinearHeaviside(0.2))),
        f"{name}_bias": Method(f"{label}, output bias", kind, output_bias=True),
        f"{name}_bce_1_bias": Method(f"{label} + BCE, output bias", _blend(kind), output_bias=True),
    }


METHODS = {
    **_cures("jaccard", kss.SoftJaccard),
    "f1": Method("SoftF1", kss.SoftF1),
    "dice": Method("Keras Dice", keras.losses.Dice),
    "bce": Method("BCE", keras.losses.BinaryCrossentropy),
    "bce_bias": Method("BCE, output bias", keras.losses.BinaryCrossentropy, output_bias=True),
}


def make_images(number: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns noisy images and masks of one disc each, (n, side, side, 1)."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    radius = math.sqrt(SHARE * SIDE**2 / math.pi)
    centres = random.uniform(radius + 1, SIDE - radius - 1, (2, number, 1, 1))
    masks = np.hypot(rows - centres[0], columns - centres[1]) <= radius
    images = masks + random.normal(0, 0.5, masks.shape)
    return images[..., None].astype("float32"), masks[..., None].astype("float32")


def make_model(output_bias: bool = False, last_layer: str | None = None) -> keras.Model:
    """Returns a U-Net with two levels."""

    def convolved(x: Any, filters: int) -> Any:
        for _ in range(2):
            x = keras.layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        return x

    inputs = keras.Input((SIDE, SIDE, 1), name="image")
    first = convolved(inputs, 8)
    second = convolved(keras.layers.MaxPooling2D(2)(first), 16)
    deepest = convolved(keras.layers.MaxPooling2D(2)(second), 32)
    x = convolved(keras.layers.Concatenate()([keras.layers.UpSampling2D(2)(deepest), second]), 16)
    x = convolved(keras.layers.Concatenate()([keras.layers.UpSampling2D(2)(x), first]), 8)
    bias = keras.initializers.Constant(math.log(SHARE / (1 - SHARE)) if output_bias else 0.0)
    last = keras.layers.Conv2D(1, 1, activation="sigmoid", bias_initializer=bias, dtype=last_layer)
    return keras.Model(inputs, last(x))


def train(variant: str, method: Method, trial: int) -> Line:
    """Trains one network and tests it; the policy of the process is left as it was."""
    policy, rate, last_layer = VARIANTS[variant]
    before, started = keras.config.dtype_policy(), time.perf_counter()
    keras.config.set_dtype_policy(policy)
    try:
        keras.utils.set_random_seed(trial)
        model = make_model(method.output_bias, last_layer)
    finally:
        keras.config.set_dtype_policy(before)
    model.compile(keras.optimizers.Adam(rate), method.loss())
    model.fit(*make_images(IMAGES, trial), BATCH_SIZE, EPOCHS, verbose=0, callbacks=_callbacks(model, method))
    images, masks = make_images(IMAGES, 1000 + trial)
    p = np.asarray(model.predict(images, batch_size=16, verbose=0), "float32")
    found = {"recall_at_half": kss.evaluate(masks, p, "recall"), "jaccard": kss.evaluate(masks, p, "jaccard")}
    stuck = float(found["recall_at_half"] < STUCK_BELOW)
    return {
        "trial": trial,
        "stuck": stuck,
        **found,
        "highest": float(p.max()),
        "seconds": time.perf_counter() - started,
    }


def _callbacks(model: keras.Model, method: Method) -> list[keras.callbacks.Callback]:
    if not method.scheduled:
        return []
    start, end = {"score": 0.0, "bce": 1.0}, {"score": 1.0, "bce": 1.0}
    return [kss.BlendSchedule(model.loss, start, end, epochs=SCHEDULED_EPOCHS)]


def _train(job: Job) -> Iterator[Line]:
    for trial in job.trials:
        yield train(job.key["variant"], METHODS[job.key["method"]], trial)


STUDY = Study(
    "recipes_unet",
    "stuck starts of a U-Net on masks of 1 %",
    ("variant", "method", "trial"),
    product(variant=VARIANTS, method=METHODS),
    _train,
    trials=TRIALS,
    minutes=0.6,
)
