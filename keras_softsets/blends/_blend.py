"""The blend: a weighted sum of losses, each of which is computed as if it were alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets import _backend
from keras_softsets._adapters import call, registered, written_dtype
from keras_softsets._backend import Tensor, outside_of_graphs
from keras_softsets._inputs import paired
from keras_softsets.blends import _checks, _metrics
from keras_softsets.blends._checks import OURS
from keras_softsets.blends._metrics import Sums, sums

register = registered("keras_softsets", module="keras_softsets.blends")


@register
class BlendedLoss(keras.losses.Loss):
    """Weighted sum of several losses on one output.

    Formula: `loss = sum(weights[key] * parts[key](y_true, y_pred, sample_weight))`

    A set loss gives good decisions but spoils the ranking and the probabilities; cross-entropy gives both, but its
    decision needs a tuned threshold. Their sum combines the two: see "Choosing a loss" in the documentation.

    Sample weights and masks reach each part as if it were alone: in set losses they enter the cells, and in Keras's own
    losses they weight the samples. On several replicas, value and gradient are those of the global batch: cells are
    summed over replicas, and so are the numerator and the denominator of a mean. (Used alone, a Keras loss is the mean
    of the replicas' means, which differs when the last batch is uneven.) A loss whose `call` returns a single number
    for a batch, such as `keras.losses.Dice`, cannot be exact in this way; it is averaged over replicas.

    Args:
        parts: The losses by name, instances of `keras.losses.Loss` from this package or any other, or names of Keras's
            own such as `"binary_crossentropy"`; or a list, in which each has its loss's name. Each keeps its own
            `from_logits`, which must be the same in all parts that have one.
        weights: The weight of each part, at least 0, by the same names or in the same order. They are held in a
            variable, so that `set_weights` and `BlendSchedule` can change them during training without retracing.
            Defaults to `None`, 1.0 for each.
        name: Name of the loss. Defaults to `"blended_loss"`.
        dtype: Type of the result. Defaults to `None`, floatx.

    Examples:
        >>> from keras_softsets import SoftF1
        >>> parts = {"f1": SoftF1(), "bce": keras.losses.BinaryCrossentropy()}
        >>> blend = BlendedLoss(parts, weights={"f1": 1.0, "bce": 0.3})
        >>> y, p = [0, 1, 1], [0.3, 0.4, 0.9]
        >>> round(float(blend(y, p)), 4), round(float(parts["f1"](y, p)), 4)
        (0.3907, 0.2529)
        >>> blend.set_weights({"f1": 0.0, "bce": 1.0})
        >>> round(float(blend(y, p)), 4)
        0.4594

    Reference:
        [Isensee et al., 2021](https://doi.org/10.1038/s41592-020-01008-z): Dice and cross-entropy, equally weighted.
    """

    def __init__(
        self,
        parts: Mapping[str, keras.losses.Loss | str] | Sequence[keras.losses.Loss | str],
        weights: Mapping[str, float] | Sequence[float] | None = None,
        *,
        name: str = "blended_loss",
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.parts = _checks.check_parts(parts)
        if any(isinstance(part, BlendedLoss) for part in self.parts.values()):
            raise ValueError(f"`parts` must not hold a blend; list its parts instead. Received: parts={self.parts}")
        values = _checks.check_weights(dict.fromkeys(self.parts, 1.0) if weights is None else weights, self.parts)
        self._weights = keras.Variable(
            list(values.values()), dtype=_backend.STATE, trainable=False, name="blend_weights"
        )

    @property
    def weights(self) -> dict[str, float]:
        """The current weights."""
        weights = ops.convert_to_numpy(self._weights)
        return {name: float(str(weight)) for name, weight in zip(self.parts, weights)}  # of a float32, its own digits

    def set_weights(self, weights: Mapping[str, float] | Sequence[float]) -> None:
        """Changes the weights of all parts, even between two training steps."""
        self._weights.assign(np.array(list(_checks.check_weights(weights, self.parts).values())))

    @property
    def from_logits(self) -> bool | None:
        """Whether predictions are logits; None if no part has `from_logits`."""
        said = (getattr(part, "from_logits", None) for part in self.parts.values())
        return next((value for value in said if value is not None), None)

    def metrics(self) -> list[keras.metrics.Metric]:
        """Returns a metric for each part, called `<key>_loss`: its value as if the whole epoch were one batch.

        For a set loss this is exact (1 - score of all cells), which a mean of batch losses is not. Pass them as
        `compile(loss=blend, weighted_metrics=blend.metrics())`: Keras passes sample weights only to those, and the
        parts of the loss see the weights too.
        """
        return [_metrics.of_part(key, part) for key, part in self.parts.items()]

    @_backend.untraced
    def __call__(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Computes the blend of the global batch, divided by the number of replicas."""
        with keras.name_scope(self.name):
            labels, predictions, sample_weight = paired(y_true, y_pred, sample_weight)
            for key, part in self.parts.items():
                _checks.check_ids(key, part, labels, predictions)
            values = self._values(labels, predictions, sample_weight)
            total = ops.sum(ops.convert_to_tensor(self._weights) * ops.stack(values))
            return ops.cast(total, self.dtype)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Computes the blend without sample weights."""
        return self(y_true, y_pred)

    def _values(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None) -> list[Tensor]:
        """The value of each part, in float64."""
        alone = not _backend.keras_scales()
        others = [part for part in self.parts.values() if not (alone or isinstance(part, OURS))]
        shared = iter(_over_replicas([sums(part, y_true, y_pred, sample_weight) for part in others], others))
        values = [
            part(y_true, y_pred, sample_weight) if alone or isinstance(part, OURS) else next(shared)
            for part in self.parts.values()
        ]
        # Of no samples, losses of Keras (3.15.1) are empty.
        return [ops.cast(ops.sum(value) if len(value.shape) else value, _backend.wide()) for value in values]

    def __repr__(self) -> str:
        with outside_of_graphs():
            weights = self.weights
        written = None if set(weights.values()) == {1.0} else weights
        arguments = {"parts": self.parts, "weights": written, "name": self.name, "dtype": written_dtype(self)}
        return call(type(self), arguments)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, with the current weights, from which Keras rebuilds the loss."""
        parts = {key: keras.saving.serialize_keras_object(part) for key, part in self.parts.items()}
        return {"parts": parts, "weights": self.weights, "name": self.name, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> BlendedLoss:
        """Rebuilds the loss and its parts."""
        parts = {key: keras.saving.deserialize_keras_object(part) for key, part in config["parts"].items()}
        return cls(**{**config, "parts": parts})


def _over_replicas(local: list[Sums], parts: list[keras.losses.Loss]) -> list[Tensor]:
    """The losses of the global batch divided by the number of replicas, from this replica's sums, in one collective."""
    if not local:
        return []
    pairs = [ops.cast(ops.stack([total, divisor]), "float32") for total, divisor in local]
    shared = _backend.sum_over_replicas(ops.stack(pairs))
    summed = [Sums(*ops.unstack(pair, 2)) for pair in ops.unstack(shared, len(local))]
    losses = [found.total if part.reduction == "sum" else found.ratio() for found, part in zip(summed, parts)]
    return [loss / _backend.replica_count() for loss in losses]
