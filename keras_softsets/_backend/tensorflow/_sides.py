"""Positives and negatives in one pass: their cells at a threshold, and their cross-entropies, from logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_softsets._backend._types import Tensor
from keras_softsets._backend.tensorflow._blocks import sum_samples


def sum_sides(
    label: Tensor, logits: Tensor, weight: Tensor | None, membership: Callable[[Tensor], Tensor], offset: Any
) -> Tensor:
    """Returns tp, fp, fn, tn, and the cross-entropies of positives and negatives, (6, classes), in float64.

    Only the cross-entropies, softplus(-z) and softplus(z), are differentiable; the gradient is written down because
    XLA would carry that of a sum of slices through every slice.

    Args:
        label: Labels in [0, 1], (samples, classes).
        logits: Logits of a sigmoid.
        weight: Weights, or `None`.
        membership: How much a probability counts as positive.
        offset: What is taken off the logits to get z, a number or one for each class.
    """
    if logits.shape[-1] == 1:  # XLA vectorizes no loop over a last axis of length 1
        label, logits, weight = (None if x is None else tf.reshape(x, [-1]) for x in (label, logits, weight))
        offset = offset[0]
    positive = label if weight is None else weight * label
    negative = 1 - label if weight is None else weight - positive

    @tf.custom_gradient
    def sums(logits: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        z = logits - offset
        small = tf.exp(-tf.abs(z))
        rejected = tf.math.log1p(small) + tf.maximum(z, 0.0)
        p = tf.where(z >= 0, 1.0, small) / (1 + small)
        h = membership(p if _is_zero(offset) else tf.sigmoid(logits))
        sides = [positive, positive * h, negative * h, positive * (rejected - z), negative * rejected]
        sides = sides if weight is None else [*sides, negative]
        totals = sum_samples(*(x if len(x.shape) == 2 else x[:, None] for x in sides))

        def slope(upstream: Tensor) -> Tensor:
            found, kept = tf.unstack(tf.cast(upstream[4:], p.dtype))  # (classes,)
            return positive * (found * (p - 1)) + negative * (kept * p)

        all_positive, tp, fp, found, kept, *others = tf.unstack(totals)
        samples = tf.cast(tf.shape(logits)[0], totals.dtype)
        (all_negative,) = others or [samples - all_positive]
        fn, tn = tf.maximum(all_positive - tp, 0.0), tf.maximum(all_negative - fp, 0.0)
        return tf.stack([tp, fp, fn, tn, found, kept]), slope

    return sums(logits)


def _is_zero(offset: Any) -> bool:
    return not offset.any()
