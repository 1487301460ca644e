"""Signatures that `help()` shows in full; `**options` are defined once, in `Evaluation`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from keras_softsets.evaluation._evaluation import Evaluation

Function = TypeVar("Function", bound=Callable[..., Any])


def spelled_out(function: Function) -> Function:
    """Decorates a function whose `**options` are those of `Evaluation` and the parameters of a score."""
    setattr(function, "__signature__", signature_of([inspect.signature(function)]))  # noqa: B010  (assignment: no type)
    return function


def signature_of(chain: Sequence[inspect.Signature], hidden: Collection[str] = ()) -> inspect.Signature:
    """Returns the first signature of a chain, in which each function passes its `**options` on to the next.

    Args:
        chain: The signatures, without `self`; the last one passes its options to `Evaluation`.
        hidden: Names of options that are not shown.
    """
    first, *others = [list(signature.parameters.values()) for signature in chain]
    if not first or first[-1].name != "options":
        return inspect.Signature(first)
    named = {p.name: p for parameters in reversed([first, *others]) for p in parameters if p.kind == p.KEYWORD_ONLY}
    ours = {p.name: p for p in inspect.signature(Evaluation).parameters.values() if p.kind == p.KEYWORD_ONLY}
    positional = [p for p in first if p.kind == p.POSITIONAL_OR_KEYWORD]
    left_out = {*(p.name for p in positional), "curve", *hidden}
    options = [p for name, p in {**ours, **named}.items() if name not in left_out]
    score_args = inspect.Parameter("score_args", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    takes_any_score = any(p.name == "score" for p in positional)
    return inspect.Signature([*positional, *options, *([score_args] if takes_any_score else [])])
