"""Raw files on disk: where they are, how they are opened, and errors that name the file and the line.

Nothing is ever unpacked on disk. Compressed files are read as a stream, so a hostile archive has no path to write to.
"""

import gzip
import hashlib
import lzma
import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, cast

RAW_DIR_VARIABLE = "KERAS_SOFTSETS_RAW_DIR"

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
# The longest official line has 600 characters. Without a limit, a small archive of one endless line fills the memory.
_LONGEST_LINE = 2**16


class RawFile(NamedTuple):
    """An official file.

    Attributes:
        names: The names under which it is known, the usual one first.
        url: Where it can be downloaded, if anywhere.
        size: Number of bytes, if the official number is known.
        sha256: Digest of the bytes (once decompressed), if the official one is known.
        page: Where a person can get it, if there is no download.
    """

    names: tuple[str, ...]
    url: str | None = None
    size: int | None = None
    sha256: str | None = None
    page: str | None = None


class LocalFile(NamedTuple):
    """A raw file found on disk, and the digest it should have."""

    path: Path
    sha256: str | None = None


def raw_directory(raw_dir: str | os.PathLike[str] | None) -> Path | None:
    """Returns the folder given as `raw_dir` or by the environment, or `None` if neither is set."""
    given = raw_dir if raw_dir is not None else os.environ.get(RAW_DIR_VARIABLE) or None
    if given is None:
        return None
    origin = "`raw_dir`" if raw_dir is not None else f"The environment variable {RAW_DIR_VARIABLE}"
    path = Path(given).expanduser()
    if not path.is_dir():
        raise FileNotFoundError(f"{origin} must be an existing folder. Received: {os.fspath(given)!r}")
    return path


def find_raw(directory: Path, folders: Sequence[str], names: Sequence[str]) -> Path | None:
    """Returns the first of `names`, plain or compressed, that lies in `directory` or in one of its `folders`."""
    for folder in ("", *folders):
        for name in names:
            for suffix in ("", *_OPENERS):
                path = directory / folder / (name + suffix)
                if path.is_file():
                    return path
    return None


def require_raw(directory: Path, folder: str, file: RawFile) -> LocalFile:
    """Returns `file` where it lies under `directory`.

    Raises:
        FileNotFoundError: If it does not; the message says what is expected where.
    """
    path = find_raw(directory, (folder,), file.names)
    if path is None:
        origin = f" from {file.page}" if file.page else ""
        otherwise = f", or leave out `raw_dir` to download it from {file.url}" if file.url else ""
        raise FileNotFoundError(
            f"{' or '.join(file.names)} (plain, .gz or .xz){origin} must be in {directory} or in {directory / folder}"
            f"{otherwise}; nothing was found."
        )
    return LocalFile(path, file.sha256)


def open_raw(path: Path) -> BinaryIO:
    """Opens a plain, .gz or .xz file for reading."""
    return cast(BinaryIO, _OPENERS.get(path.suffix, open)(path, "rb"))


def read_bytes(path: Path, size: int) -> bytes:
    """Returns the content of a file that must hold exactly `size` bytes once decompressed."""
    try:
        with open_raw(path) as stream:
            content = stream.read(size + 1)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path} cannot be read, it is damaged or truncated: {error}") from error
    if len(content) != size:
        received = f"more than {size:,}" if len(content) > size else f"{len(content):,}"
        raise ValueError(f"{path} must hold {size:,} bytes, received {received}.")
    return content


def read_lines(file: LocalFile) -> Iterator[tuple[int, str]]:
    """Yields the lines of a text file with their numbers, and checks the digest after the last one.

    The digest comes last so that a damaged line is reported as such, with its number, by whoever parses it.
    """
    digest = hashlib.sha256()
    number = 0
    try:
        with open_raw(file.path) as stream:
            while line := stream.readline(_LONGEST_LINE):
                number += 1
                digest.update(line)
                yield number, _decode(file.path, number, line)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{file.path}, line {number + 1}: cannot be read, damaged or truncated: {error}") from error
    if file.sha256 is not None and digest.hexdigest() != file.sha256:
        raise ValueError(f"{file.path} must have the sha256 {file.sha256}, received {digest.hexdigest()}.")


def _decode(path: Path, number: int, line: bytes) -> str:
    if len(line) == _LONGEST_LINE:
        malformed(path, number, f"must be shorter than {_LONGEST_LINE:,} bytes, received a longer line")
    try:
        return line.decode().strip()
    except UnicodeDecodeError as error:
        malformed(path, number, f"must be UTF-8 text, received {error.object[error.start : error.end]!r}")


def malformed(path: Path, number: int, problem: str) -> NoReturn:
    """Raises the error of a line that is not as it should be."""
    raise ValueError(f"{path}, line {number}: {problem}.")


def split_fields(path: Path, number: int, line: str, columns: int, separator: str | None = ",") -> list[str]:
    """Returns the fields of a line without the blanks around them.

    Raises:
        ValueError: If their number is not `columns`.
    """
    fields = [field.strip() for field in line.split(separator)]
    if len(fields) != columns:
        malformed(path, number, f"must have {columns} columns, received {len(fields)}")
    return fields


def parse_numbers(path: Path, number: int, names: Sequence[str], fields: Sequence[str]) -> list[float]:
    """Returns the fields as finite numbers.

    Raises:
        ValueError: If one of them is not; the message names the line and the column.
    """
    try:
        values = list(map(float, fields))
    except ValueError:
        values = [math.nan]
    if not math.isfinite(sum(values)):
        for name, field in zip(names, fields, strict=True):
            if not _is_finite(field):
                malformed(path, number, f"column {name} must be a finite number, received {field!r}")
    return values


def _is_finite(field: str) -> bool:
    try:
        return math.isfinite(float(field))
    except ValueError:
        return False


def progress(items: Iterable[Any], path: Path, total: int | None = None, unit: str = " lines") -> Iterable[Any]:
    """Shows a progress bar over `items` where there is a terminal to show it on."""
    from tqdm.auto import tqdm

    return tqdm(items, desc=f"Reading {path.name}", total=total, unit=unit, leave=False, disable=None)
