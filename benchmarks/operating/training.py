"""One trial: a model trained on one split with one loss, and its scores."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks.operating.data import Part, Split
from benchmarks.operating.methods import Loss
from keras_softsets import evaluate

STEPS, EVERY, MIN_RECALL = 1500, 50, 0.95
RATES = {"linear": 0.05, "mlp": 0.005}


def run_trial(split: Split, loss: Loss, model: str, batch: int | None, seed: int, steps: int = STEPS) -> dict[str, Any]:
    """Returns the scores, in %, of the best weights by validation data."""
    best, tested, at = -1.0, 0.0, 0
    for step, network in train(split.train, loss, model, batch, seed, steps):
        score = area(network, split.validation)
        if score > best:
            best, tested, at = score, area(network, split.test), step
    return {"split": seed, "validation": best, "test": tested, "step": at}


def train(part: Part, loss: Loss, model: str, batch: int | None, seed: int, steps: int = STEPS) -> Any:
    """Yields (step, network) after every 50 steps."""
    network, rng = make_network(model, part.x.shape[1], seed), np.random.default_rng(seed)
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(RATES[model], steps))
    x, y = tf.constant(part.x), tf.constant(part.y)

    @tf.function
    def update(rows: Any) -> None:
        with tf.GradientTape() as tape:
            inputs, labels = (x, y) if batch is None else (tf.gather(x, rows), tf.gather(y, rows))
            value = loss(labels, network(inputs, training=True))
        variables = network.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(value, variables), variables))

    optimizer.build(network.trainable_variables)
    for step, rows in enumerate(batches(len(part.y), batch, steps, rng), 1):
        update(tf.constant(rows))
        if step % EVERY == 0:
            yield step, network


def batches(samples: int, batch: int | None, steps: int, rng: np.random.Generator) -> Any:
    """Yields the rows of each step: shuffled epochs, without an incomplete last batch."""
    order = np.empty(0, int)
    for _ in range(steps):
        if batch is None:
            yield np.empty(0, int)
            continue
        if len(order) < batch:
            order = rng.permutation(samples)
        rows, order = order[:batch], order[batch:]
        yield rows


def make_network(model: str, features: int, seed: int) -> keras.Model:
    """A linear model, or an MLP with one hidden layer."""
    keras.utils.set_random_seed(seed)
    hidden = [keras.layers.Dense(64, activation="relu")] if model == "mlp" else []
    return keras.Sequential([keras.Input((features,)), *hidden, keras.layers.Dense(1, activation="sigmoid")])


def area(network: keras.Model, part: Part) -> float:
    """The mean precision over recalls from 0.95 to 1, in %."""
    p = np.asarray(network(part.x), "float64")  # a sigmoid in float32 creates ties next to 1
    return 100 * evaluate(part.y, p, "pr_auc", min_recall=MIN_RECALL)
