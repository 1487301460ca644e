"""Checks of arguments that are not tensors: numbers, flags, choices and local folders; and how errors show them."""

from __future__ import annotations

import math
import numbers
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Average = str | Sequence[float] | None
ZeroDivision = float | str
_LONGEST = 100  # characters of a value in an error


def shown(value: Any) -> str:
    """Returns a value as errors show it: the middle of a long one is left out.

    Examples:
        >>> shown(0.5), len(shown(10**400)), shown(10**5000)
        ('0.5', 100, 'a value of type int')
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return f"a value of type {type(value).__name__}"
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[: half - 3]}...{text[-half:]}"


def check_choice(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """Returns `value` if it is one of `choices`."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        allowed = ", ".join(map(repr, choices))
        raise ValueError(f"`{name}` must be one of {allowed}. Received: {name}={shown(value)}")
    return value


def check_number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """Returns `value` as a float if it is a finite number in [low, high], without the ends that are open."""
    number = _float_or_nan(value)
    above = number > low or (number == low and not open_low)
    below = number < high or (number == high and not open_high)
    if not (above and below) or number == math.inf:
        lower = [f"{'greater than' if open_low else 'at least'} {low:g}"] if low > -math.inf else []
        upper = [f"{'less than' if open_high else 'at most'} {high:g}"] if high < math.inf else []
        rule = " ".join(["a finite number", " and ".join(lower + upper)]).strip()
        raise ValueError(f"`{name}` must be {rule}. Received: {name}={shown(value)}")
    return number


def _float_or_nan(value: Any) -> float:
    """A number as a float; NaN for anything else, and for integers beyond the largest float."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return as_float(value)
    except OverflowError:
        return math.nan


def as_float(value: Any) -> float:
    """Returns a number as a float; 0.3 in float32 means 0.3, not 0.30000001192092896."""
    return float(str(value)) if isinstance(value, (np.float32, np.float16)) else float(value)


def as_floats(values: Any) -> list[float]:
    """Returns a number, a sequence or an eager tensor of at most one axis as floats; anything else as an empty list."""
    try:
        array = np.asarray([values] if isinstance(values, numbers.Real) else values)
        if array.ndim > 1 or not all(isinstance(x, numbers.Real) and not isinstance(x, bool) for x in array.ravel()):
            return []
        return [as_float(x) for x in array.ravel()]
    except (TypeError, ValueError, OverflowError):  # the last for integers beyond the largest float
        return []


def check_whole_number(name: str, value: Any, low: int, high: float = math.inf) -> int:
    """Returns `value` as an int if it is a whole number in [low, high]."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or not low <= value <= high:
        bounds = f"of at least {low}" + ("" if high == math.inf else f" and at most {high}")
        raise ValueError(f"`{name}` must be a whole number {bounds}. Received: {name}={shown(value)}")
    return int(value)


def check_costs(name: str, costs: Any, classes: int | None = None) -> tuple[tuple[float, ...], ...]:
    """Returns a square matrix of finite numbers, costs[i][j] for true class i decided as j, as tuples."""
    try:
        array = np.asarray(costs, "float64")
    except (TypeError, ValueError, OverflowError):
        array = np.zeros(0)
    size = "c x c" if classes is None else f"{classes} x {classes}"
    square = array.ndim == 2 and array.shape[0] == array.shape[1] and array.shape[0] > 1
    if not square or classes not in (None, len(array)) or not np.isfinite(array).all():
        raise ValueError(f"`{name}` must be a {size} matrix of finite numbers. Received: {name}={shown(costs)}")
    return tuple(tuple(row) for row in array.tolist())


def check_flag(name: str, value: Any) -> bool:
    """Returns `value` as a bool if it is True or False, of Python or NumPy, or the integer 0 or 1.

    Anything else is refused, because words such as "False" and "no" would count as True.
    """
    if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, numbers.Integral) and value in (0, 1)):
        raise ValueError(f"`{name}` must be True or False. Received: {name}={shown(value)}")
    return bool(value)


def check_average(average: Any) -> Average:
    """Returns `average` if it is a known word, or the classes' importances as a tuple."""
    if isinstance(average, (str, numbers.Number, type(None))):
        return check_choice("average", average, ("macro", "micro", "weighted", None))
    importances = tuple(check_number("average", importance, 0.0) for importance in as_floats(average))
    if not sum(importances) > 0:
        raise ValueError(
            "`average` must be 'macro', 'micro', 'weighted', None, or a sequence of the classes' importances, finite "
            f"and at least one of them greater than 0. Received: average={shown(average)}"
        )
    return importances


def check_zero_division(value: Any) -> ZeroDivision:
    """Returns 0.0, 1.0 or `"ignore"`."""
    known = value == "ignore" if isinstance(value, str) else getattr(value, "ndim", 0) == 0 and value in (0, 1)
    if not known:
        raise ValueError(f"`zero_division` must be 0.0, 1.0 or 'ignore'. Received: zero_division={shown(value)}")
    return value if isinstance(value, str) else float(value)


def refuse_positional(kind: type, values: Sequence[Any], is_threshold: Callable[[Any], bool]) -> None:
    """Raises a `TypeError` for arguments without a name, which is most often a threshold."""
    if values:
        advice = f"write {kind.__name__}(threshold={shown(values[0])})" if is_threshold(values[0]) else "name them all"
        raise TypeError(
            f"{kind.__name__} takes no arguments without a name; {advice}. Received: {', '.join(map(shown, values))}"
        )


def set_field(instance: Any, name: str, checked: Any) -> None:
    """Stores a checked argument in a frozen value, in `__post_init__`."""
    object.__setattr__(instance, name, checked)


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
