"""Scores with their parameters, and the registry that finds them by name."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import DTYPE_ERRORS, Tensor, try_out
from keras_softsets._checks import check_choice, shown
from keras_softsets.matrices import ConfusionMatrix, MulticlassMatrix
from keras_softsets.scores._suggestions import argument_hint, similar_score

# Arguments of losses, metrics and `evaluate`: a saved score's parameter with such a name would be lost.
RESERVED = (
    *("y_true", "y_pred", "sample_weight", "mask", "score", "scores", "threshold", "heaviside", "average"),
    *(
        "from_logits",
        "zero_division",
        "per_sample",
        "ignore_class",
        "reduction",
        "name",
        "dtype",
        "curve",
        "monotone",
        "decision",
        "class_names",
    ),
    *("at_least", "interval", "against", "resamples", "seed", "plateau", "folds", "offsets"),
)


class Score:
    """A score with its parameters; call it on cells for a value, or with parameters for another score.

    Examples:
        >>> from keras_softsets.scores import f_beta
        >>> cells = ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0)
        >>> f2 = f_beta(beta=2)
        >>> round(float(f2(cells)), 3), round(float(f_beta(cells, beta=2)), 3)
        (0.69, 0.69)

    Attributes:
        name: The name in the registry.
        of: What it is a score of: `"cells"` of classes against the rest, or `"classes"`, the c x c matrix.
        curve: Whether the score reads all thresholds at once.
        registered: Whether it can be saved by name.
        parameters: The parameters that differ from the defaults.
    """

    def __init__(
        self,
        function: Callable[..., Tensor],
        *,
        of: str = "cells",
        curve: bool = False,
        registered: bool = True,
        **parameters: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function, self.of, self.curve, self.registered = function, of, curve, registered
        self.name = getattr(function, "__name__", type(function).__name__).strip("<>")  # Keras refuses <lambda>
        self.parameters = parameters

    def __call__(self, *args: Any, **parameters: Any) -> Any:
        """Scores a matrix if the first argument is one; otherwise returns the score with these parameters."""
        if args and isinstance(args[0], _MATRIX[self.of]):
            return self._value(args[0].map(_floating), {**self.parameters, **self._named(args[1:], parameters)})
        return self.bind(*args, **parameters)

    def bind(self, *args: Any, **parameters: Any) -> Score:
        """Returns the same score with other parameters, which are checked at once."""
        return self._bound(args, parameters)

    def _bound(
        self, args: Sequence[Any], parameters: Mapping[str, Any], caller: Callable[..., Any] | None = None
    ) -> Score:
        named = {**self.parameters, **self._named(args, parameters, caller)}
        numbers = {name: getattr(value, "tolist", lambda v=value: v)() for name, value in named.items()}  # for JSON
        return Score(self.function, of=self.of, curve=self.curve, registered=self.registered, **numbers).checked()

    def checked(self) -> Score:
        """Tries the score on a matrix of ones: it checks its own parameters, and a broken score fails here.

        A registered score is tried once with each set of parameters, because losses, metrics and `evaluate` all ask.
        """
        tried = (self.function, repr(self.parameters)) if self.registered else None  # others may be unhashable
        if tried in _WORKING:
            return self
        errors = []
        square = [len(value) - 1 for value in self.parameters.values() if isinstance(value, (list, tuple))]  # costs
        for size in (*square, 1, 8):  # a score may be made for several thresholds or classes
            try:
                self._try(size)
            except Exception as error:
                errors.append(error)
            else:
                if tried:
                    _WORKING.add(tried)
                return self
        raise errors[0]

    def _try(self, size: int) -> None:
        try_out(lambda: self(_ones(self.of, size)))

    def _value(self, matrix: Any, parameters: dict[str, Any]) -> Tensor:
        dtype = ops.dtype(matrix[0])
        try:
            value = ops.convert_to_tensor(self.function(matrix, **parameters))
        except DTYPE_ERRORS:
            # A score may contain float32 numbers, which TensorFlow does not multiply with float64 cells.
            if dtype == "float32":
                raise
            value = ops.convert_to_tensor(self.function(matrix.map(_to_float32), **parameters))
        if not keras.backend.is_float_dtype(ops.dtype(value)):
            raise ValueError(
                f"A score must return floating-point values; multiply by ops.cast(condition, 'float32') instead of a "
                f"condition. Received: {self!r} of type {ops.dtype(value)}"
            )
        return ops.cast(value, dtype)

    def _named(
        self, args: Sequence[Any], parameters: Mapping[str, Any], caller: Callable[..., Any] | None = None
    ) -> dict[str, Any]:
        """The parameters by name; errors suggest other arguments of `caller`, the function or class that was called."""
        if not args and not parameters:
            return {}
        names = list(inspect.signature(self.function).parameters)[1:]
        allowed = ", ".join(names) or "no parameters"
        unknown = next((name for name in parameters if name not in names), None)
        if unknown is not None:
            hint = argument_hint(unknown, names, caller) or f"score `{self.name}` takes {allowed}."
            raise ValueError(f"There is no argument `{unknown}`; {hint} Received: {unknown}=...")
        if len(args) > len(names):
            raise ValueError(f"Score `{self.name}` takes {allowed}. Received: {shown(tuple(args))}")
        return {**dict(zip(names, args)), **parameters}

    def config(self) -> dict[str, Any]:
        """Returns the name under which a saved score is found, and its parameters."""
        if not self.registered:
            raise ValueError(
                "A score must be registered to be saved: decorate the function with @keras_softsets.score. "
                f"Received: score={self.function!r}"
            )
        return {"score": self.name, **self.parameters}

    def __reduce__(self) -> Any:
        if not self.registered:
            return (_unregistered, (self.function, self.of, self.curve, self.parameters))
        return (_by_name, (self.function.__module__, self.name, self.parameters))

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"


def _unregistered(function: Callable[..., Tensor], of: str, curve: bool, parameters: dict[str, Any]) -> Score:
    return Score(function, of=of, curve=curve, registered=False, **parameters)


def _by_name(module: str, name: str, parameters: dict[str, Any]) -> Score:
    if name not in _REGISTRY:
        importlib.import_module(module)
    return get(name, **parameters)


def _ones(of: str, size: int) -> Any:
    """A matrix of ones: cells of `size` classes at `size + 1` thresholds, or counts of `size + 1` classes."""
    if of == "classes":
        return MulticlassMatrix(ops.ones((size + 1, size + 1)))
    return ConfusionMatrix(*[ops.ones((size + 1, size))] * 4)


ScoreLike = str | Score | Callable[[Any], Tensor]
_REGISTRY: dict[str, Score] = {}
_WORKING: set[tuple[Callable[..., Tensor], str]] = set()
_MATRIX: dict[str, Any] = {"cells": ConfusionMatrix, "classes": MulticlassMatrix}


def score(function: Callable[..., Tensor] | None = None, *, of: str = "cells", curve: bool = False) -> Any:
    """Registers a function of a confusion matrix as a score, so that losses and metrics with it can be saved.

    Args:
        function: Takes cells, then parameters with defaults, and returns values of the cells' shape
            (thresholds, classes), higher is better.
        of: `"cells"` for a function of a `ConfusionMatrix`, each class against the rest; `"classes"` for a function
            of a `MulticlassMatrix`, which returns a single number. Defaults to `"cells"`.
        curve: Whether the function reads the whole threshold axis and returns shape (classes,). Defaults to `False`.

    Examples:
        >>> from keras_softsets.scores import ratio
        >>> @score
        ... def negative_predictive_value(cells):
        ...     return ratio(cells.tn, cells.predicted_negatives, cells)
        >>> "negative_predictive_value" in names()
        True
    """
    if function is None:
        return functools.partial(score, of=check_choice("of", of, tuple(_MATRIX)), curve=curve)
    known = _REGISTRY.get(function.__name__)
    same = known is not None and _home(known.function) == _home(function)
    if known is not None and not same:  # running a notebook cell again is fine
        raise ValueError(f"`score` must have a new name. Received: {function.__name__!r}, which is {known!r}")
    taken = [name for name in list(inspect.signature(function).parameters)[1:] if name in RESERVED]
    if taken:
        raise ValueError(
            f"`score` must not have parameters that losses and metrics have themselves ({', '.join(RESERVED)}). "
            f"Received: {', '.join(taken)} in {function.__name__!r}"
        )
    _REGISTRY[function.__name__] = Score(function, of=of, curve=curve)
    return _REGISTRY[function.__name__]


def _home(function: Callable[..., Tensor]) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def names(of: str | None = None) -> list[str]:
    """Returns the names of all registered scores, or of those of `"cells"` or of `"classes"`."""
    return sorted(name for name, score in _REGISTRY.items() if of in (None, score.of))


def get(identifier: str | Score | Callable[..., Tensor], **parameters: Any) -> Score:
    """Resolves a name, a score or a plain function of a `ConfusionMatrix`, with its parameters.

    Examples:
        >>> get("f_beta", beta=2)
        f_beta(beta=2)
    """
    return resolve(identifier, parameters)


def resolve(
    identifier: Any,
    parameters: Mapping[str, Any],
    caller: Callable[..., Any] | None = None,
    *,
    argument: str = "`score`",
    received: str | None = None,
) -> Score:
    """Like `get`, with errors that speak of the function or class that was called, and of its argument.

    Args:
        identifier: A name, a score or a plain function.
        parameters: The score's parameters.
        caller: The function or class to which the user passed the parameters.
        argument: What must be a score.
        received: What was passed as such.
    """
    if isinstance(identifier, str) and identifier in _REGISTRY:
        costs = parameters.get("costs") if identifier == "cost" else None
        larger = isinstance(costs, (list, tuple, np.ndarray)) and len(costs) > 2
        found = _REGISTRY["multiclass_cost" if larger else identifier]
    elif isinstance(identifier, Score):
        found = identifier
    elif callable(identifier) and not isinstance(identifier, (type, keras.Loss, keras.Metric)):
        found = Score(identifier, registered=False)
    else:
        similar = similar_score(identifier, names())
        raise ValueError(
            f"{argument} must be one of {', '.join(names())}, or a function of a ConfusionMatrix, not a loss or a "
            "metric; a saved score of your own is known once the module with its @score is imported"
            f"{f'; did you mean `{similar}`?' if similar else '.'} Received: {received or f'score={shown(identifier)}'}"
        )
    return found._bound((), parameters, caller) if parameters else found.checked()


def at_argmax(score: Score) -> Score:
    """Returns a score for an argmax: as a mean over classes against the rest, `cost` would swap their roles."""
    if score.function is not _REGISTRY["cost"].function:
        return score
    return _REGISTRY["multiclass_cost"]._bound((), score.parameters)


def _floating(cell: Tensor) -> Tensor:
    """Returns a cell as a floating-point tensor; plain numbers and lists are accepted."""
    cell = ops.convert_to_tensor(cell)
    return cell if keras.backend.is_float_dtype(ops.dtype(cell)) else ops.cast(cell, "float32")


def _to_float32(cell: Tensor) -> Tensor:
    return ops.cast(cell, "float32")
