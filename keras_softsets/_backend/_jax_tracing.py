"""Steps that JAX compiles: variables that they read whenever they run, and the precision of what is around them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.experimental import io_callback
from keras.src.backend.common import stateless_scope  # no public name in Keras 3.15

from keras_softsets._backend._types import Tensor


def is_eager(x: Any) -> bool:
    """Whether a tensor has values that Python can look at."""
    return not isinstance(x, jax.core.Tracer)


def untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function of this package see current values of variables, and where values are known, all their digits."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for scope in _scopes((args, kwargs)):
                stack.enter_context(scope)
            return function(*args, **kwargs)

    return wrapped


def _scopes(arguments: Any) -> list[contextlib.AbstractContextManager[Any]]:
    outer = stateless_scope.get_stateless_scope()
    if isinstance(outer, _Live) or jax.config.jax_enable_x64:
        return []
    precisely = jax.default_matmul_precision("highest")  # GPUs and TPUs round the factors of a product otherwise
    if is_compiling():
        return [precisely, _Live(outer)]
    known = all(map(is_eager, jax.tree_util.tree_leaves(arguments)))
    return [precisely, jax.enable_x64(True)] if known else [precisely]


def is_compiling() -> bool:
    """Whether a step is being traced."""
    return not is_eager(jnp.zeros(()))


class _Live(keras.StatelessScope):
    """Reads and sets variables that the scope around it does not hold by callbacks, whenever the step runs."""

    def __init__(self, outer: Any) -> None:
        super().__init__(initialize_variables=False)
        self.outer = outer

    def get_current_value(self, variable: Any) -> Tensor | None:
        if self.outer is not None and self.outer.get_current_value(variable) is not None:
            return self.outer.get_current_value(variable)
        if variable._value is None:  # made by this very step, which Keras tries out before it has values
            return None
        kind = jax.ShapeDtypeStruct(variable.shape, variable._value.dtype)
        return io_callback(lambda: np.asarray(variable._value), kind)

    def add_update(self, update: tuple[Any, Tensor]) -> None:
        variable, value = update
        if self.outer is not None and self.outer.get_current_value(variable) is not None:
            self.outer.add_update(update)
        elif variable._value is not None:
            io_callback(lambda value: variable._direct_assign(jnp.asarray(value)), None, jax.lax.stop_gradient(value))


def seeing_the_same(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function that JAX calls later, such as a gradient, read variables as where it was made."""
    made_in = stateless_scope.get_stateless_scope()
    if not isinstance(made_in, _Live):
        return function

    def wrapped(*args: Any) -> Any:
        with _Live(made_in.outer):
            return function(*args)

    return wrapped
