"""Reads tar and npz archives piece by piece, and refuses pieces that are longer than they should be.

`tarfile` and `numpy.load` trust the sizes that an archive states: a file name of a gigabyte, or an array of a trillion
zeros, would be in memory before it could be checked.
"""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping

import numpy as np

from keras_softsets.datasets._files import LocalFile
from keras_softsets.datasets._reading import BoundedStream, open_bounded, read_content
from keras_softsets.datasets._tables import Array

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 2**20
_NPY_HEADER = 2**10  # bytes; the header of a vector takes 128
_NPY_HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_WIDEST_NUMBER = 8  # bytes


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


def read_npz(file: LocalFile, lengths: Mapping[str, int]) -> dict[str, Array]:
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


def _read_vector(archive: zipfile.ZipFile, name: str, length: int) -> Array:
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
