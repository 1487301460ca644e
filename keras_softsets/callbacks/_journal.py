"""What a callback that may resume keeps track of: the value that it monitors, and a crash-safe journal.

The journal holds the states before the last two epochs, in files that are never half written.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import IO, Any
from urllib.parse import quote

import keras
import numpy as np

from keras_softsets._checks import check_folder

State = dict[str, Any]


class Journal:
    """The states of one callback, and the arrays that they refer to.

    A state is a dictionary that JSON can hold. Two are kept, because the process can be killed between this callback's
    write and that of `BackupAndRestore`; training then resumes one epoch earlier. Every file is put in place by a
    rename: after a crash there is either the old file or the new one.

    Args:
        folder: Local folder, created with the first state. With `None`, nothing is kept.
        prefix: Start of all file names, one for each kind of callback.
        key: What tells callbacks of one kind apart, such as the monitor; part of the file names. Defaults to `""`.
        entries: What a state must hold: for each entry, a function that says whether a value is valid.
        arrays_entry: Entry with the number under which the state's arrays are saved. Defaults to `None`: no arrays.
    """

    def __init__(
        self,
        folder: str | bytes | os.PathLike[str] | None,
        prefix: str,
        key: str = "",
        *,
        entries: Mapping[str, Callable[[Any], bool]],
        arrays_entry: str | None = None,
    ) -> None:
        self._folder = None if folder is None else check_folder("backup_dir", folder)
        self._prefix = prefix
        self._start = f"{prefix}.{quote(key, safe='')}" if key else prefix
        self._entries = entries
        self._arrays_entry = arrays_entry

    @property
    def shown(self) -> str:
        """The folder, for messages."""
        return repr(str(self._folder))

    def _path(self, number: int, kind: str) -> pathlib.Path:
        return pathlib.Path(self._folder or "", f"{self._start}.{number}.{kind}")

    def _found(self, pattern: str) -> list[re.Match]:
        """Returns the matches of complete file names."""
        names = sorted(os.listdir(self._folder)) if self._folder is not None and self._folder.is_dir() else []
        return [match for name in names if (match := re.fullmatch(pattern, name))]

    def _numbers(self, kind: str) -> list[int]:
        return sorted(int(match[1]) for match in self._found(rf"{re.escape(self._start)}\.([0-9]+)\.{kind}"))

    def epochs(self) -> list[int]:
        """Returns the epochs before which a state was saved."""
        return self._numbers("json")

    def epochs_of_others(self) -> set[int]:
        """Returns the same for the callbacks of this kind that have another key."""
        found = self._found(rf"{re.escape(self._prefix)}(\..+)?\.([0-9]+)\.json")
        return {int(match[2]) for match in found if self._prefix + (match[1] or "") != self._start}

    def shared(self) -> bool:
        """Returns whether `BackupAndRestore` keeps its backup in the folder, which it will remove."""
        return self._folder is not None and (self._folder / "training_metadata.json").exists()

    def save(self, epoch: int, state: State, arrays: Sequence[np.ndarray] | None = None) -> None:
        """Saves the state before an epoch, and its arrays if they are new; drops what is no longer needed."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(epoch, "json")
        if path.exists():  # `resume` has removed those of an earlier process
            raise ValueError(
                "`backup_dir` must not be shared by two callbacks that write the same files: give each a different "
                f"folder. Received: backup_dir={self.shown}, where another one has written {path.name!r}"
            )
        if arrays is not None:  # arrays first: a state must never refer to arrays that do not exist
            _write(self._path(state[self._arrays_entry or ""], "npz"), lambda file: np.savez(file, *arrays))
        _write(path, lambda file: file.write(json.dumps(state).encode()))
        self._keep(epoch - 1, epoch)

    def _keep(self, *epochs: int) -> None:
        """Removes everything except the states before these epochs and their arrays."""
        kept = [epoch for epoch in self.epochs() if epoch in epochs]
        used = {self._path(epoch, "json").name for epoch in kept}
        if self._arrays_entry is not None:
            used |= {self._path(self._read(epoch)[self._arrays_entry], "npz").name for epoch in kept}
        self.delete(keep=used)

    def resume(self, epoch: int) -> State:
        """Returns the state before an epoch and removes those of later epochs, which now run again."""
        if epoch not in self.epochs():
            raise ValueError(
                f"`backup_dir` must hold the state before epoch {epoch + 1}, where training starts, but holds those "
                f"before epochs {[e + 1 for e in self.epochs()]}: list the callback before `BackupAndRestore`, or "
                f"remove what an earlier run left. Received: backup_dir={self.shown}"
            )
        state = self._read(epoch)
        for later in self.epochs():
            if later > epoch:
                self._path(later, "json").unlink()
        return state

    def _read(self, epoch: int) -> State:
        path = self._path(epoch, "json")
        try:
            state = json.loads(path.read_bytes())
        except OSError as error:
            raise self._unusable(path, f"cannot be read ({error.strerror})") from error
        except (ValueError, RecursionError) as error:
            raise self._unusable(path, f"is not JSON ({error})") from error
        if not isinstance(state, dict):
            raise self._unusable(path, f"holds a {type(state).__name__} instead of a dictionary")
        for entry, is_possible in self._entries.items():
            if entry not in state or not is_possible(state[entry]):
                received = repr(state[entry]) if entry in state else "nothing"
                raise self._unusable(path, f"has {received:.80} for {entry!r}")
        return state

    def arrays(self, state: State, like: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the arrays of a state; `like` gives their shapes and dtypes."""
        path = self._path(state[self._arrays_entry or ""], "npz")
        try:
            saved = _read_arrays(path)
        except OSError as error:
            raise self._unusable(path, f"cannot be read ({error.strerror or error})") from error
        except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
            raise self._unusable(path, f"is not a file of arrays ({error})") from error
        if [_kind(array) for array in saved] != [_kind(array) for array in like]:
            shapes, expected = ([f"{a.dtype}{list(a.shape)}" for a in arrays] for arrays in (saved, like))
            raise self._unusable(path, f"is of another model, with {shapes} instead of {expected},")
        return [array.view(other.dtype) for array, other in zip(saved, like, strict=True)]

    def _unusable(self, path: pathlib.Path, why: str) -> ValueError:
        return ValueError(
            f"`backup_dir` must hold what this run has saved, but {path.name!r} {why}: remove {self._start}.* to "
            f"resume without what this callback has seen, or the whole folder to start over. "
            f"Received: backup_dir={self.shown}"
        )

    def take_over(self, earlier: Journal, is_ours: Callable[[State], bool]) -> None:
        """Renames the files of a journal with an earlier name if they are ours; may be killed at any point."""
        if not earlier.epochs() or not all(is_ours(earlier._read(epoch)) for epoch in earlier.epochs()):
            return
        for kind in ("npz", "json"):  # arrays first, as in `save`
            for number in earlier._numbers(kind):
                os.replace(earlier._path(number, kind), self._path(number, kind))
        earlier.delete()  # leftovers of a process killed while writing

    def delete(self, keep: Collection[str] = ()) -> None:
        """Removes the callback's own files, and the folder if nothing is left in it."""
        for match in self._found(rf"{re.escape(self._start)}\.[0-9]+\.(json|npz)(\.tmp)?"):
            if match[0] not in keep:
                pathlib.Path(self._folder or "", match[0]).unlink(missing_ok=True)
        if self._folder is not None and self._folder.is_dir():
            with contextlib.suppress(OSError):  # others may have files in it
                self._folder.rmdir()


def _read_arrays(path: pathlib.Path) -> list[np.ndarray]:
    with path.open("rb") as opened, zipfile.ZipFile(opened):  # else NumPy would also read single arrays and pickles
        opened.seek(0)
        with np.load(opened) as file:
            return [file[f"arr_{index}"] for index in range(len(file.files))]


def _kind(array: np.ndarray) -> tuple[tuple[int, ...], str]:
    """Returns shape and dtype; NumPy's files store bfloat16 as two bytes of an unknown type."""
    return array.shape, f"{array.dtype.itemsize} bytes" if array.dtype.kind == "V" else array.dtype.str


def _write(path: pathlib.Path, write: Callable[[IO[bytes]], object]) -> None:
    temporary = path.with_suffix(path.suffix + ".tmp")
    with temporary.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())  # the whole machine may crash, not only the process
    os.replace(temporary, path)


def monitored_value(monitor: str, epoch: int, logs: Mapping[str, Any]) -> float:
    """Returns the monitor's value in the logs of an epoch (from 0)."""
    if monitor not in logs:
        raise ValueError(
            f"`monitor` must be in the logs of each epoch (`val_...` needs validation data and validation_freq=1), "
            f"but epoch {epoch + 1} has only {sorted(logs)}. Received: monitor={monitor!r}"
        )
    value = np.asarray(logs[monitor])
    if value.size != 1:
        raise ValueError(
            f"`monitor` must be a single number, but epoch {epoch + 1} has one of shape {value.shape}; use a "
            f"metric with an average. Received: monitor={monitor!r}"
        )
    return float(value.item())


def monitored_sign(monitor: str, mode: str, model: keras.Model) -> float:
    """Returns +1 if lower is better and -1 if higher is, by the rules of Keras's callbacks."""
    if mode != "auto":
        return 1.0 if mode == "min" else -1.0
    name = monitor.removeprefix("val_")
    if name == "loss" or name.endswith("_loss"):
        return 1.0
    for metric in _metrics(model):
        # Keras 3 has no public name for it. Without the attribute, the user must say, as in Keras's own EarlyStopping.
        direction = getattr(metric, "_direction", None)
        if metric.name == name and direction in ("up", "down"):
            return 1.0 if direction == "down" else -1.0
    raise ValueError(
        f"`mode` must be 'min' or 'max' for a monitor that is not a loss and does not know its direction. "
        f"Received: mode='auto', monitor={monitor!r}"
    )


def _metrics(model: keras.Model) -> Iterator[Any]:
    for metric in model.metrics:
        yield metric
        yield from getattr(metric, "metrics", ())  # Keras 3 keeps the metrics of `compile` in a container
