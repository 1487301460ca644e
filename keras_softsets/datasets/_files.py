"""Raw files: what is known about the official ones, where they are, and how to read no more than these hold.

A few kilobytes of a hostile or damaged archive can decompress to gigabytes. Every byte is therefore counted as it
leaves the decompressor, and reading ends where the published file would. Nothing is ever unpacked to disk, so no path
in an archive is dangerous. `tarfile` and `numpy.load` trust the sizes that an archive states: a file name of a
gigabyte, or an array of a trillion zeros, would be in memory before it could be checked, so both formats are read piece
by piece.
"""

import contextlib
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

RAW_DIR_VARIABLE = "KERAS_SOFTSETS_RAW_DIR"
SHIPPED = Path(__file__).parent / "files"  # what comes with the package, compressed, each with licence and citation
COMPRESSED = (".gz", ".xz")
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 2**20
_NPY_HEADER = 2**10  # bytes; the header of a vector takes 128
_NPY_HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_WIDEST_NUMBER = 8  # bytes


class LocalFile(NamedTuple):
    """A raw file found on disk, and what it may hold.

    Attributes:
        path: Where it is.
        limit: Largest number of bytes, once decompressed, that the published file can have.
        origin: Where to get the published file.
        sha256: Digest that its content must have, if any.
    """

    path: Path
    limit: int
    origin: str
    sha256: str | None = None


class RawFile(NamedTuple):
    """An official file.

    Attributes:
        names: The names under which it is known, the usual one first.
        size: Number of bytes once decompressed.
        url: Where it can be downloaded, if anywhere.
        sha256: Digest of the bytes once decompressed, if the official one is known; a download must have it.
        page: Where a person can get it; needed if there is no download.
        exact: Whether a file in `raw_dir` must have that digest as well. If not, it may be a copy in another notation,
            and the fingerprint of the table says whether the numbers are the published ones. Defaults to `True`.
        shipped: Whether it comes with the package, so that nothing is downloaded. Defaults to `False`.
    """

    names: tuple[str, ...]
    size: int
    url: str | None = None
    sha256: str | None = None
    page: str | None = None
    exact: bool = True
    shipped: bool = False

    def at(self, path: Path) -> LocalFile:
        """Returns the file found at `path`. A copy in another notation may be twice as long as the original."""
        sha256 = self.sha256 if self.exact else None
        return LocalFile(path, self.size if sha256 else 2 * self.size, str(self.url or self.page), sha256)


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
    """Returns the first of `names`, plain or compressed, that is in `directory` or in one of its `folders`."""
    for folder in ("", *folders):
        for name in names:
            for suffix in ("", *COMPRESSED):
                path = directory / folder / (name + suffix)
                if path.is_file():
                    return path
    return None


def require_raw(directory: Path, folder: str, file: RawFile) -> LocalFile:
    """Returns `file` as it is found under `directory`.

    Raises:
        FileNotFoundError: If it is not there; the message says which file is expected where.
    """
    path = find_raw(directory, (folder,), file.names)
    if path is None:
        origin = f" from {file.page}" if file.page else ""
        otherwise = f", or leave out `raw_dir` to download it from {file.url}" if file.url else ""
        raise FileNotFoundError(
            f"{' or '.join(file.names)} (plain, .gz or .xz){origin} must be in {directory} or in {directory / folder}"
            f"{otherwise}; nothing was found."
        )
    return file.at(path)


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


def read_tar(file: LocalFile, sizes: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """Yields, once each, the name and content of the plain members listed in `sizes`, which must have these sizes.

    Everything else is skipped, including links and extensions of the format (long names, pax headers).
    """
    wanted = dict(sizes)
    with open_bounded(file) as stream:
        while any(header := stream.read(_BLOCK)):
            member = _parse_header(file, header)
            if member.isfile() and wanted.get(member.name) == member.size:
                del wanted[member.name]
                content = stream.read(member.size)
                if len(content) < member.size:
                    raise EOFError(f"the archive ends inside {member.name}")
                yield member.name, content
                _skip(stream, -member.size % _BLOCK)
            else:
                _skip(stream, member.size + -member.size % _BLOCK)


def _parse_header(file: LocalFile, header: bytes) -> tarfile.TarInfo:
    try:
        member = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except tarfile.HeaderError as error:
        raise OSError(f"not a tar archive, {error}") from error
    if member.size < 0:
        raise OSError(f"the size of {member.name} is {member.size}")
    return member


def _skip(stream: BoundedStream, size: int) -> None:
    while size > 0 and (content := stream.read(min(size, _CHUNK))):
        size -= len(content)


def read_npz(file: LocalFile, lengths: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Returns the vectors named in `lengths`, which must have these lengths, as uint8.

    Raises:
        ValueError: If there is anything else under these names.
    """
    content = read_content(file)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: _read_vector(archive, f"{name}.npy", length) for name, length in lengths.items()}
    except (ValueError, KeyError, OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        arrays = " and ".join(f"{name} ({length:,} numbers)" for name, length in lengths.items())
        raise ValueError(
            f"{file.path} must hold the arrays {arrays}, received: {error}; get the published file from {file.origin}."
        ) from error


def _read_vector(archive: zipfile.ZipFile, name: str, length: int) -> np.ndarray:
    # zipfile bounds the output of deflate only; nothing else writes .npz files.
    if archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} is neither stored nor deflated")
    with archive.open(name) as member:
        stream = io.BytesIO(member.read(_NPY_HEADER + _WIDEST_NUMBER * length))
    read_header = _NPY_HEADER_READERS.get(np.lib.format.read_magic(stream))
    if read_header is None:
        raise ValueError(f"{name} has an unknown format version")
    shape, _, dtype = read_header(stream)
    if shape != (length,) or dtype.kind not in "iuf" or dtype.itemsize > _WIDEST_NUMBER:
        raise ValueError(f"{name} has the shape {shape} and the type {dtype}")
    return np.frombuffer(stream.read(), dtype, length).astype("uint8")
