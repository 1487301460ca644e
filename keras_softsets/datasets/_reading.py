"""Reads raw files as streams, and never more than the published file holds.

A few kilobytes of a hostile or damaged archive can decompress to gigabytes. Every byte is therefore counted as it
leaves the decompressor, and reading ends where the published file would. Nothing is ever unpacked to disk, so no path
in an archive can do harm.
"""

import contextlib
import gzip
import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from keras_softsets.datasets._files import LocalFile

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
# The longest official line has 600 characters. Without a limit, a file of one endless line would be held in memory.
_LONGEST_LINE = 2**16


class BoundedStream:
    """The decompressed content of a raw file, which ends in a `ValueError` once it exceeds the file's limit."""

    def __init__(self, stream: BinaryIO, file: LocalFile) -> None:
        self._stream, self._file, self._received = stream, file, 0

    def read(self, size: int) -> bytes:
        """Returns the next `size` bytes, fewer at the end."""
        return self._count(self._stream.read(min(size, self._file.limit - self._received + 1)))

    def readline(self, size: int) -> bytes:
        """Returns the next line, or `size` bytes of it."""
        return self._count(self._stream.readline(size))

    def _count(self, content: bytes) -> bytes:
        self._received += len(content)
        if self._received > self._file.limit:
            raise ValueError(
                f"{self._file.path} must hold at most {self._file.limit:,} bytes once decompressed, received more; "
                f"get the published file from {self._file.origin}."
            )
        return content


@contextlib.contextmanager
def open_bounded(file: LocalFile) -> Iterator[BoundedStream]:
    """Opens a plain, .gz or .xz file for reading; any problem with it becomes a `ValueError` that names the file."""
    try:
        with _OPENERS.get(file.path.suffix, open)(file.path, "rb") as stream:
            yield BoundedStream(stream, file)
    except _DAMAGE as error:
        raise ValueError(
            f"{file.path} cannot be read because it is damaged or truncated: {error}; "
            f"get the published file from {file.origin}."
        ) from error


def read_content(file: LocalFile) -> bytes:
    """Returns the whole content of a file."""
    with open_bounded(file) as stream:
        return stream.read(file.limit + 1)


def read_lines(file: LocalFile) -> Iterator[tuple[int, str]]:
    """Yields the lines of a text file with their numbers, and checks the digest after the last one.

    The digest is checked last, so that the parser reports a damaged line first, with its number.
    """
    digest = hashlib.sha256()
    with open_bounded(file) as stream:
        number = 0
        while line := stream.readline(_LONGEST_LINE):
            number += 1
            digest.update(line)
            yield number, _decode(file.path, number, line)
    if file.sha256 is not None and digest.hexdigest() != file.sha256:
        raise ValueError(
            f"{file.path} must have the sha256 {file.sha256}, received {digest.hexdigest()}; "
            f"get the published file from {file.origin}."
        )


def _decode(path: Path, number: int, line: bytes) -> str:
    if len(line) == _LONGEST_LINE:
        malformed(path, number, f"must be shorter than {_LONGEST_LINE:,} bytes, received a longer line")
    try:
        return line.decode().strip()
    except UnicodeDecodeError as error:
        malformed(path, number, f"must be UTF-8 text, received {error.object[error.start : error.end]!r}")


def malformed(path: Path, number: int, problem: str) -> NoReturn:
    """Raises the error for a malformed line."""
    raise ValueError(f"{path}, line {number}: {problem}.")
