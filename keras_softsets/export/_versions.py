"""Numbered versions of a model in a folder that a server watches: each appears by one rename and never changes."""

import os
import pathlib
import re

from keras_softsets._checks import check_whole_number

_HIGHEST = 2**63 - 1  # TF Serving reads the names as int64 and skips those that do not fit


def check_version(folder: pathlib.Path, version: int | None) -> None:
    """Raises unless `version` is a number that the folder does not have yet, or `None`."""
    if version is not None:
        check_whole_number("version", version, 0, _HIGHEST)
        if folder.is_dir() and version in _versions(folder):
            raise _exists(folder, version)


def publish(finished: pathlib.Path, folder: pathlib.Path, version: int | None) -> pathlib.Path:
    """Turns a finished folder into a version, by default the one after the highest, and returns its new path."""
    while True:
        target = folder / str(_next_version(folder) if version is None else version)
        try:
            # Fails if another export was faster: no system renames a folder onto one that contains files.
            finished.rename(target)
        except OSError as error:
            if not target.exists():
                raise
            if version is not None:
                raise _exists(folder, version) from error
        else:
            return target


def flush(folder: pathlib.Path) -> None:
    """Flushes a folder's files to disk, lest a power cut after the rename leave a version of empty files."""
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb+") as opened:
                os.fsync(opened.fileno())


def _versions(folder: pathlib.Path) -> set[int]:
    numbers = {int(child.name) for child in folder.iterdir() if re.fullmatch(r"[0-9]+", child.name)}
    return {number for number in numbers if number <= _HIGHEST}


def _next_version(folder: pathlib.Path) -> int:
    highest = max(_versions(folder), default=0)
    if highest == _HIGHEST:
        raise ValueError(
            f"`version` must be given, because {str(folder)!r} has version {highest} already, the highest that a "
            "server can read. Received: version=None"
        )
    return highest + 1


def _exists(folder: pathlib.Path, version: int) -> FileExistsError:
    return FileExistsError(f"`version` must be new, but is in {str(folder)!r} already. Received: version={version}")
