"""How losses and metrics are shown: as the call that makes them, without arguments that have their default value."""

from __future__ import annotations

import inspect
from typing import Any

import keras

from keras_softsets.evaluation import Evaluation


class Shown:
    """Base of losses and metrics of an `Evaluation`.

    Attributes:
        name_prefix: What precedes the score's name in the default name.
    """

    evaluation: Evaluation
    name: str
    dtype: str
    name_prefix = ""

    def _arguments(self) -> dict[str, Any]:
        """Returns the arguments by name, as a user would write them; `call` drops any that the constructor lacks."""
        score = self.evaluation.scores[0]
        return {
            "score": score.name if score.registered else score.function,
            **self.evaluation.arguments(),
            **score.parameters,
            "name": None if self.name == self.name_prefix + score.name else self.name,
            "dtype": written_dtype(self),
        }

    def __repr__(self) -> str:
        return call(type(self), self._arguments())


def written_dtype(adapter: Any) -> str | None:
    """Returns the argument `dtype`, whose default is floatx."""
    return None if adapter.dtype == keras.config.floatx() else adapter.dtype


def call(kind: type, values: dict[str, Any]) -> str:
    """Returns a constructor's call: required arguments by position, others by name unless they have their default."""
    parameters = inspect.signature(kind).parameters
    named = {name: p for name, p in parameters.items() if name in values and p.kind != p.VAR_KEYWORD}
    required = [repr(values[name]) for name, p in named.items() if p.default is p.empty]
    optional = {name: p.default for name, p in named.items() if p.default is not p.empty}
    options = {name: values[name] for name, default in optional.items() if values[name] != default}
    if any(p.kind == p.VAR_KEYWORD for p in parameters.values()):  # parameters of any score
        options = {name: value for name, value in values.items() if name not in parameters} | options
    return f"{kind.__name__}({', '.join([*required, *(f'{name}={value!r}' for name, value in options.items())])})"
