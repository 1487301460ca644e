"""Checks of arguments that are not tensors: numbers, whole numbers, choices and local folders."""

from __future__ import annotations

import math
import numbers
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Returns `value` if it is one of `choices`."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        allowed = ", ".join(map(repr, choices))
        raise ValueError(f"`{name}` must be one of {allowed}. Received: {name}={value!r}")
    return value


def check_number(name: str, value: Any, low: float, high: float = math.inf, *, open_low: bool = False) -> float:
    """Returns `value` as a float if it is a finite number in [low, high], or in (low, high] if `open_low`."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not (low < value if open_low else low <= value) or not value <= high or value == math.inf:
        bounds = f"{'greater than' if open_low else 'at least'} {low:g}"
        bounds += "" if high == math.inf else f" and at most {high:g}"
        raise ValueError(f"`{name}` must be a finite number {bounds}. Received: {name}={value!r}")
    return as_float(value)


def as_float(value: Any) -> float:
    """Returns a number as a float; 0.3 in float32 means 0.3, not 0.30000001192092896."""
    return float(str(value)) if isinstance(value, (np.float32, np.float16)) else float(value)


def as_floats(values: Any) -> list[float]:
    """Returns a number, a sequence or an eager tensor of at most one axis as floats; anything else as an empty list."""
    try:
        array = np.asarray([values] if isinstance(values, numbers.Real) else values)
        if array.ndim > 1 or not all(isinstance(x, numbers.Real) and not isinstance(x, bool) for x in array.ravel()):
            return []
    except (TypeError, ValueError):
        return []
    return [as_float(x) for x in array.ravel()]


def check_whole_number(name: str, value: Any, low: int, high: float = math.inf) -> int:
    """Returns `value` as an int if it is a whole number in [low, high]."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or not low <= value <= high:
        bounds = f"of at least {low}" + ("" if high == math.inf else f" and at most {high}")
        raise ValueError(f"`{name}` must be a whole number {bounds}. Received: {name}={value!r}")
    return int(value)


def check_folder(name: str, path: str | bytes | os.PathLike[str]) -> pathlib.Path:
    """Returns a local folder as a path, with `~` expanded; elsewhere (`gs://`) a rename would not be atomic."""
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise ValueError(f"`{name}` must be a local folder. Received: {name}={path!r}") from None
    if not text or "://" in text:
        raise ValueError(f"`{name}` must be a local folder. Received: {name}={text!r}")
    folder = pathlib.Path(text).expanduser()
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"`{name}` must be a folder, but is a file. Received: {name}={text!r}")
    return folder
