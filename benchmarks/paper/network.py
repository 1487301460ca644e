"""The paper's MLP for all trials at once: weights stacked along a first axis, `models.mlp`'s own initial values."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from keras_softsets import models

UNITS = (32, 16)
DROPOUT = 0.5
Weights = list[tf.Tensor]  # kernel, bias, kernel, bias, ...; each with the trials along its first axis


def initial_weights(features: int, seeds: np.ndarray) -> Weights:
    """Returns what `keras.utils.set_random_seed(seed); models.mlp(features)` starts with, for each seed."""
    networks = []
    for seed in seeds:
        keras.utils.set_random_seed(int(seed))
        networks.append(models.mlp(features).get_weights())
    return [tf.constant(np.stack(arrays)) for arrays in zip(*networks, strict=True)]


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
    """Draws the masks of one step, 0 or 2 for each unit, from a stream of each trial's own.

    Half of the units are dropped, so one random bit decides: one integer of 32 bits serves a layer, which made an
    epoch more than twice as fast as one uniform number for each unit.
    """
    trials = [
        tf.random.stateless_uniform([samples, len(UNITS)], tf.stack([seed, step]), None, None, tf.int32, alg="philox")
        for seed in tf.unstack(seeds)
    ]
    bits = tf.bitcast(tf.stack(trials), tf.uint32)  # (trials, samples, layers)
    shifts = [tf.constant(np.arange(units, dtype="uint32")) for units in UNITS]
    kept = [tf.bitwise.right_shift(bits[:, :, k, None], shift) for k, shift in enumerate(shifts)]
    return [2.0 * tf.cast(tf.bitwise.bitwise_and(bit, tf.constant(1, tf.uint32)), tf.float32) for bit in kept]
