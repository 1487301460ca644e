"""One trial: a model trained on one split with one loss, and its scores."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_softsets import datasets, evaluate
from studies.harness.store import Line
from studies.operating.methods import Loss


class Part(NamedTuple):
    """Features (samples, features) and labels (samples, 1), in float32."""

    x: np.ndarray
    y: np.ndarray


class Split(NamedTuple):
    """The three parts, features standardised on the first."""

    train: Part
    validation: Part
    test: Part


def load(name: str, seed: int, raw_dir: str | os.PathLike[str] | None = None) -> Split:
    """Loads a data set and splits it anew, stratified; of several classes, the most frequent is positive."""
    parts = datasets.load(name, seed=0, raw_dir=raw_dir)
    x, y = (np.concatenate([part[k] for part in parts]) for k in range(2))
    y = np.ravel(y).astype(int)
    y = (y == np.argmax(np.bincount(y))) if y.max() > 1 else y.astype(bool)
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]  # shuffled inside each class
    place = np.empty(len(y), int)
    for rows in (order[~y[order]], order[y[order]]):
        place[rows] = np.arange(len(rows)) * 4 // len(rows)  # quarters of each class
    train = place < 2
    mean, spread = x[train].mean(0), x[train].std(0)
    x = ((x - mean) / np.where(spread > 0, spread, 1)).astype("float32")
    chosen = (train, place == 2, place == 3)
    return Split(*(Part(x[rows], y[rows, None].astype("float32")) for rows in chosen))


STEPS, EVERY, MIN_RECALL = 1500, 50, 0.95
RATES = {"linear": 0.05, "mlp": 0.005}


def scores(split: Split, loss: Loss, model: str, batch: int | None, seed: int, steps: int = STEPS) -> Line:
    """Returns the scores, in %, of the best weights by validation data."""
    best, on_test, at = -1.0, 0.0, 0
    for step, network in train(split.train, loss, model, batch, seed, steps):
        score = area(network, split.validation)
        if score > best:
            best, on_test, at = score, area(network, split.test), step
    return {"trial": seed, "validation": best, "test": on_test, "step": at}


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
