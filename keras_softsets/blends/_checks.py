"""Which losses can be parts of a blend, and with which weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras

from keras_softsets._backend import Tensor
from keras_softsets._checks import check_number
from keras_softsets._inputs import are_ids
from keras_softsets.blends._metrics import MEANS
from keras_softsets.losses import GuidedCrossentropy, SoftSetLoss

OURS = (SoftSetLoss, GuidedCrossentropy)  # these sum over replicas and read weights and masks themselves
_WITH_IDS = ("SparseCategoricalCrossentropy", "CTC")


def check_parts(parts: Any) -> dict[str, keras.losses.Loss]:
    """Returns the parts by name if each is a loss whose value is one number and all agree about logits."""
    parts = _by_name(parts)
    if not isinstance(parts, Mapping) or not parts or not all(isinstance(key, str) and key for key in parts):
        raise ValueError(f"`parts` must be a non-empty dict of names and losses, or a list. Received: parts={parts!r}")
    parts = {key: _loss_of(part) for key, part in parts.items()}
    for key, part in parts.items():
        _check_part(key, part)
    said = {key: part.from_logits for key, part in parts.items() if getattr(part, "from_logits", None) is not None}
    if len({bool(value) for value in said.values()}) > 1:
        raise ValueError(
            "`from_logits` must be the same for all parts, which see the same predictions. Received: "
            + ", ".join(f"{key}: from_logits={value}" for key, value in said.items())
        )
    return dict(parts)


def _by_name(parts: Any) -> Any:
    """A list of losses as a dict, by the names of the losses; anything else unchanged."""
    if not isinstance(parts, (list, tuple)):
        return parts
    losses = [_loss_of(part) for part in parts]
    names = [getattr(loss, "name", repr(loss)) for loss in losses]
    if len(set(names)) < len(names):
        raise ValueError(f"`parts` must be a dict if losses have the same name. Received: parts of the names {names}")
    return dict(zip(names, losses))


def _loss_of(part: Any) -> Any:
    """A loss of Keras from its name, `"binary_crossentropy"` or `"BinaryCrossentropy"`; anything else unchanged."""
    if not isinstance(part, str):
        return part
    words = part.replace("_", "").lower()
    kinds = {name.lower(): kind for name, kind in vars(keras.losses).items() if isinstance(kind, type)}
    if words not in kinds or words == "loss":
        raise ValueError(
            f"`parts` must hold losses, or names of Keras's own such as 'binary_crossentropy'. Received: {part!r}"
        )
    return kinds[words]()


def _check_part(key: str, part: Any) -> None:
    if not isinstance(part, keras.losses.Loss):
        raise ValueError(
            f"`parts` must hold instances of keras.losses.Loss, such as keras.losses.BinaryCrossentropy(). "
            f"Received: parts[{key!r}]={part!r}"
        )
    unreduced = part.reduction not in (*MEANS, "sum")
    if unreduced and not (isinstance(part, SoftSetLoss) and part.evaluation.average is not None):
        raise ValueError(
            f"`reduction` of a part must not be None: a blend adds up single numbers. "
            f"Received: parts[{key!r}].reduction={part.reduction!r}"
        )


def check_weights(weights: Any, parts: Mapping[str, Any], name: str = "weights") -> dict[str, float]:
    """Returns the weights, in the order of the parts, if each part has one and at least one is above 0."""
    if isinstance(weights, (list, tuple)) and len(weights) == len(parts):
        weights = dict(zip(parts, weights))
    if not isinstance(weights, Mapping) or set(weights) != set(parts):
        raise ValueError(f"`{name}` must have a number for each of the parts {list(parts)}. Received: {weights!r}")
    checked = {key: check_number(f"{name}[{key!r}]", weights[key], 0.0) for key in parts}
    if not any(checked.values()):
        raise ValueError(f"`{name}` must not all be 0. Received: {name}={checked}")
    return checked


def check_ids(key: str, part: keras.losses.Loss, y_true: Tensor, y_pred: Tensor) -> None:
    """Raises if labels are class ids and the part is a Keras loss that would broadcast them against predictions."""
    of_keras = getattr(keras.losses, type(part).__name__, None) is type(part)
    if not of_keras or type(part).__name__ in _WITH_IDS:
        return
    if are_ids(tuple(y_true.shape), tuple(y_pred.shape)):
        raise ValueError(
            f"`y_true` must be one-hot for {type(part).__name__}, or use SparseCategoricalCrossentropy, which takes "
            f"class ids. Received: parts[{key!r}]={part!r}, y_true.shape={tuple(y_true.shape)}, "
            f"y_pred.shape={tuple(y_pred.shape)}"
        )
