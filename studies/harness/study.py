"""What a study is: a name, the keys of its rows, a plan, and a function that trains one entry of the plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from studies.harness.store import RESULTS, Line, Store

Key = Mapping[str, Any]  # one entry of a plan: the keys of its rows, without the trial


def silent(text: str) -> None:
    """Shows nothing."""


class Job(NamedTuple):
    """What a study is asked to train.

    Attributes:
        key: The entry of the plan.
        trials: The trials that are missing. The number of a trial is its seed, so methods are compared on pairs.
        done: The rows of these trials that are on disk already, of a study with several rows for each trial.
        epochs: How many epochs a trial has, if the study is tested after each of them.
        scratch: A folder that is not committed, for weights.
        raw_dir: Folder of raw data files, or `None` for the one that the environment names.
        say: Shows how far the training is.
    """

    key: Key
    trials: tuple[int, ...]
    done: Sequence[Line] = ()
    epochs: int | None = None
    scratch: Path = Path("runs")
    raw_dir: str | None = None
    say: Callable[[str], None] = silent


@dataclasses.dataclass(frozen=True)
class Study:
    """One table of results.

    Attributes:
        name: Of the table, `results/NAME.csv`, and on the command line.
        about: One line for the command line's help.
        keys: The columns that name a row; those of the plan, `"trial"`, and whatever else distinguishes its rows.
        plan: Everything that can be trained, in the order in which it should be.
        train: Yields rows as soon as they are finished, with `"trial"` and without the keys of the plan. Each is on
            disk before the next one is asked for.
        trials: How many trials an entry of the plan has.
        together: Whether `train` gets all missing trials at once. Defaults to `False`: all entries of the plan get
            their first trial before any gets its second, so a run that is stopped leaves complete comparisons.
        epochs: How many rows a trial has, if it has one for each epoch.
        complete: Whether these rows of a trial are all that it should have.
        threads: Of one TensorFlow operation. Defaults to `None`, as TensorFlow chooses.
        minutes: A guess for one trial, used until there are rows with `seconds` on disk.
    """

    name: str
    about: str
    keys: tuple[str, ...]
    plan: Sequence[Key]
    train: Callable[[Job], Iterator[Line]]
    trials: int = 10
    together: bool = False
    epochs: int | None = None
    complete: Callable[[Key, Sequence[Line]], bool] = lambda key, lines: bool(lines)
    threads: int | None = None
    minutes: float = 1.0

    def store(self, folder: Path = RESULTS) -> Store:
        """Returns where its rows are."""
        return Store(self.name, self.keys, folder)

    def selected(self, only: Mapping[str, Iterable[str]]) -> list[Key]:
        """Returns the entries of the plan whose values are among those asked for."""
        for name, texts in only.items():
            known = list(dict.fromkeys(str(key[name]) for key in self.plan if name in key))
            if wrong := [text for text in texts if text not in known]:
                names = ", ".join(dict.fromkeys(name for key in self.plan for name in key))
                raise ValueError(
                    f"--only must name columns ({names}) and their values. "
                    f"Received: {name}={','.join(wrong)}, where {name} is one of {', '.join(known) or 'nothing'}"
                )
        return [key for key in self.plan if all(str(key[name]) in texts for name, texts in only.items())]


def product(**columns: Iterable[Any]) -> list[dict[str, Any]]:
    """Returns every combination of the columns' values; the last column varies fastest."""
    found: list[dict[str, Any]] = [{}]
    for name, values in columns.items():
        values = list(values)
        found = [{**key, name: value} for key in found for value in values]
    return found
