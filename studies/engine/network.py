"""The paper's MLP for all trials at once: weights stacked along a first axis."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import tensorflow as tf

from keras_softsets import models

UNITS = (32, 16)
DROPOUT = 0.5
Weights = list[tf.Tensor]  # kernel, bias, kernel, bias, ...; each with the trials along its first axis


def initial_weights(features: int, seeds: np.ndarray, start: str = "keras") -> Weights:
    """Returns the initial weights of each seed's network.

    Args:
        features: Number of input features.
        seeds: One for each trial.
        start: `"keras"` for what `keras.utils.set_random_seed(seed); models.mlp(features)` has, or `"pytorch"` for what
            `torch.nn.Linear` draws: weights and biases uniform within 1 / sqrt(inputs). Defaults to `"keras"`.
    """
    draw = {"keras": _of_keras, "pytorch": _of_pytorch}[start]
    networks = [draw(features, int(seed)) for seed in seeds]
    return [tf.constant(np.stack(arrays)) for arrays in zip(*networks, strict=True)]


def _of_keras(features: int, seed: int) -> list[np.ndarray]:
    keras.utils.set_random_seed(seed)
    return models.mlp(features).get_weights()


def _of_pytorch(features: int, seed: int) -> list[np.ndarray]:
    random, sizes = np.random.default_rng(seed), (features, *UNITS, 1)
    return [
        random.uniform(-1 / np.sqrt(inputs), 1 / np.sqrt(inputs), shape).astype("float32")
        for inputs, outputs in itertools.pairwise(sizes)
        for shape in ((inputs, outputs), (outputs,))
    ]


def logits(weights: Weights, x: tf.Tensor, masks: list[tf.Tensor] | None = None) -> tf.Tensor:
    """Computes (trials, samples, features) -> (samples, trials), so that a trial looks like a class to a loss.

    Args:
        weights: Those of `initial_weights`.
        x: Features.
        masks: What dropout multiplies each hidden layer with. Defaults to `None`, no dropout.
    """
    for layer in range(len(UNITS)):
        x = tf.nn.relu(tf.matmul(x, weights[2 * layer]) + weights[2 * layer + 1][:, None])
        if masks is not None:
            x *= masks[layer]
    output = tf.matmul(x, weights[-2]) + weights[-1][:, None]
    return tf.transpose(output[:, :, 0])


def dropout_masks(seeds: tf.Tensor, step: tf.Tensor, samples: int) -> list[tf.Tensor]:
    """Draws the masks of one step, 0 or 2 for each unit, from a separate stream for each trial.

    Half of the units are dropped, so one random bit decides: a 32-bit integer is enough for a layer, which makes an
    epoch more than twice as fast as one uniform number for each unit does.
    """
    trials = [
        tf.random.stateless_uniform([samples, len(UNITS)], tf.stack([seed, step]), None, None, tf.int32, alg="philox")
        for seed in tf.unstack(seeds)
    ]
    bits = tf.bitcast(tf.stack(trials), tf.uint32)  # (trials, samples, layers)
    shifts = [tf.constant(np.arange(units, dtype="uint32")) for units in UNITS]
    kept = [tf.bitwise.right_shift(bits[:, :, k, None], shift) for k, shift in enumerate(shifts)]
    return [2.0 * tf.cast(tf.bitwise.bitwise_and(bit, tf.constant(1, tf.uint32)), tf.float32) for bit in kept]
