"""The base of all decisions: what the rest of the package needs from one."""

from __future__ import annotations

from typing import Any, TypeVar

import keras

from keras_softsets._backend import Tensor
from keras_softsets._samples import Samples
from keras_softsets.heaviside import Heaviside

Class = TypeVar("Class", bound=type)


class Decision:
    """Base of the decisions; subclasses implement `memberships`, and override the rest where it differs.

    Attributes:
        rows: The number of rows of cells, which is the length of their first axis.
        one_class_wins: Whether the classes of a sample compete, so that logits are those of a softmax.
    """

    rows: int = 1
    one_class_wins: bool = False

    def memberships(self, samples: Samples, heaviside: Heaviside) -> Tensor:
        """Returns how much each prediction, (..., classes), counts as positive: (rows, ..., classes)."""
        raise NotImplementedError(f"{type(self).__name__} must implement memberships(samples, heaviside)")

    def check(self, heaviside: Heaviside, classes: int | None = None) -> None:
        """Raises a `ValueError` if the decision does not fit an approximation or a number of classes."""

    def config(self) -> Any:
        """Returns what `get` understands, in a form that Keras can write to a file."""
        return keras.saving.serialize_keras_object(self)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Decision:
        """Builds the decision that `get_config` described."""
        return cls(**config)


def registered(kind: Class) -> Class:
    """Decorates a decision, so that Keras can save it."""
    kind.__module__ = "keras_softsets.decisions"  # saved files contain this name and must survive a move
    return keras.saving.register_keras_serializable(package="keras_softsets")(kind)
