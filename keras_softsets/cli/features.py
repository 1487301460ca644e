"""Columns as features, in Keras layers: the exported classifier takes the columns as they are in the table."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_softsets._backend import require_tensorflow
from keras_softsets.cli.tables import MOST_CATEGORIES, Table, kind_of, numbers_of

_RARE = 5  # a category in fewer training rows counts as unknown


def usable_columns(table: Table, left_out: Sequence[str]) -> dict[str, str]:
    """Returns the kind of each column that can be learned from; warns about those that cannot, and refuses dates."""
    kinds = {name: kind_of(name, values).kind for name, values in table.items() if name not in left_out}
    dates = [name for name, kind in kinds.items() if kind == "date"]
    if dates:
        raise ValueError(
            "`table` must not have columns of dates: make numbers of them (days since, month, weekday), or leave them "
            f"out with {' '.join(f'--drop {shlex.quote(name)}' for name in dates)}. Received: {', '.join(dates)}"
        )
    for name, kind in kinds.items():
        if kind in ("constant", "id"):
            why = "is constant" if kind == "constant" else "looks like an id, different in (nearly) every row"
            print(f"Column {name or '(without a name)'} {why}: it is left out.", file=sys.stderr)
    usable = {name: kind for name, kind in kinds.items() if kind in ("number", "category")}
    for name in (name for name, kind in usable.items() if kind == "category"):
        require_tensorflow(f"Column {name}, which is text (leave it out with --drop {shlex.quote(name)}),")
    if not usable:
        raise ValueError("`table` must have a column to learn from besides the label. Received: none")
    return usable


def inputs_of(table: Table, kinds: dict[str, str]) -> dict[str, np.ndarray]:
    """Returns the columns as a model takes them: float32 with NaN where missing, or text."""
    names = input_names(kinds)
    return {names[column]: _array(table[column], kind)[:, None] for column, kind in kinds.items()}


def _array(values: Sequence[str], kind: str) -> np.ndarray:
    if kind == "number":
        return np.asarray(numbers_of(values), "float32")
    return np.asarray(values, object)  # a text array would be as wide as the longest value


def input_names(columns: Iterable[str]) -> dict[str, str]:
    """Returns the name of each column's input: letters, digits and `_`, and a number where two are equal.

    Examples:
        >>> input_names(["age", "a b", "a-b"])
        {'age': 'age', 'a b': 'a_b', 'a-b': 'a_b_2'}
    """
    names: dict[str, str] = {}
    for column in columns:
        name = plain = re.sub(r"\W", "_", column, flags=re.ASCII) or "_"
        number = 1
        while name in names.values():
            number += 1
            name = f"{plain}_{number}"
        names[column] = name
    return names


def preprocessing(inputs: dict[str, np.ndarray], kinds: dict[str, str], train: np.ndarray) -> keras.Model:
    """Returns a model from columns to features, fitted on the training rows: standardised numbers and one-hot text.

    A missing number becomes the mean, and a feature says that it was missing.
    """
    tensors, features = {}, []
    for name, kind in zip(inputs, kinds.values(), strict=True):
        tensor = keras.Input((1,), name=name, dtype="float32" if kind == "number" else "string")
        tensors[name] = tensor
        features.append((_number if kind == "number" else _category)(tensor, inputs[name][train, 0]))
    joined = keras.layers.Concatenate()(features) if len(features) > 1 else features[0]
    return keras.Model(tensors, joined, name="columns")


def _number(tensor: Any, values: np.ndarray) -> Any:
    known = values[np.isfinite(values)].astype("float64")
    mean, spread = (float(known.mean()), float(known.std()) or 1.0) if len(known) else (0.0, 1.0)
    missing = ops.isnan(tensor)
    scaled = ops.clip((tensor - mean) / spread, -10.0, 10.0)
    scaled = ops.where(missing, ops.zeros_like(scaled), scaled)
    return scaled if len(known) == len(values) else ops.concatenate([scaled, ops.cast(missing, "float32")], -1)


def _category(tensor: Any, values: np.ndarray) -> Any:
    found, counts = np.unique(values, return_counts=True)
    common = np.sort(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES])
    frequent = [str(value) for value in found[common[counts[common] >= _RARE]]] or [str(found[0])]
    return keras.layers.StringLookup(vocabulary=frequent, output_mode="one_hot")(tensor)


def features_of(columns: keras.Model, inputs: dict[str, np.ndarray], size: int = 8192) -> np.ndarray:
    """Returns the features of all rows, block by block."""
    rows = len(next(iter(inputs.values())))
    blocks = [slice(start, start + size) for start in range(0, rows, size)]
    tensors = ({name: ops.convert_to_tensor(values[block]) for name, values in inputs.items()} for block in blocks)
    return np.concatenate([ops.convert_to_numpy(columns(each)) for each in tensors])
