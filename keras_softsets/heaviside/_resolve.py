"""Converts what users pass as `heaviside` to an approximation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any

import keras

from keras_softsets._backend import Tensor
from keras_softsets.heaviside._base import Heaviside
from keras_softsets.heaviside._linear import LinearHeaviside
from keras_softsets.heaviside._sigmoid import SigmoidHeaviside
from keras_softsets.heaviside._step import StepHeaviside

HeavisideLike = Heaviside | str | dict[str, Any] | Callable[[Tensor, Tensor], Tensor]

_BY_NAME: dict[str, type[Heaviside]] = {
    "linear": LinearHeaviside,
    "sigmoid": SigmoidHeaviside,
    "step": StepHeaviside,
}


def get(heaviside: HeavisideLike) -> Heaviside:
    """Resolves a name, an instance, a config or a plain function `h(p, threshold)`.

    Examples:
        >>> get("sigmoid")
        SigmoidHeaviside(k=10.0)
    """
    resolved = keras.saving.deserialize_keras_object(heaviside) if isinstance(heaviside, dict) else heaviside
    if isinstance(resolved, str) and resolved in _BY_NAME:
        return _BY_NAME[resolved]()
    if isinstance(resolved, Heaviside):
        return resolved
    if callable(heaviside) and not isinstance(heaviside, type):
        return _Function(heaviside)
    raise ValueError(
        f"`heaviside` must be one of {', '.join(map(repr, _BY_NAME))}, a Heaviside such as LinearHeaviside(delta=0.2), "
        f"or a function h(p, threshold). Received: heaviside={heaviside!r}"
    )


def written(heaviside: Heaviside) -> Heaviside | str:
    """Returns an approximation as users pass it, by name if it has one: the inverse of `get`.

    Examples:
        >>> written(LinearHeaviside(0.1)), written(LinearHeaviside(0.2))
        ('linear', LinearHeaviside(delta=0.2))
    """
    return next((name for name, kind in _BY_NAME.items() if heaviside == kind()), heaviside)


@dataclasses.dataclass(frozen=True, repr=False)
class _Function(Heaviside):
    """A user's plain function h(p, threshold), which can be trained with but not saved."""

    function: Callable[[Tensor, Tensor], Tensor]

    def call(self, p: Tensor, threshold: Tensor) -> Tensor:
        return self.function(p, threshold)

    def cache_key(self) -> Hashable:
        return (type(self), id(self.function))

    def get_config(self) -> dict[str, Any]:
        raise ValueError(
            "A plain function cannot be saved as `heaviside`; subclass keras_softsets.heaviside.Heaviside and decorate "
            f"it with @keras.saving.register_keras_serializable(). Received: heaviside={self.function!r}"
        )

    def __repr__(self) -> str:
        return repr(self.function)
