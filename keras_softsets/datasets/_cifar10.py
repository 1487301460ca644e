"""CIFAR-10 from disk: the official binary batches, their archive, or lossless picture sheets.

All three are turned back into the official binary records, whose SHA-1 digests are known, so a picture that differs
in one pixel is found. The batches of the "python version" are pickles, which can run code when they are read; they
are not accepted.
"""

import hashlib
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np

from keras_softsets.datasets._raw import find_raw, progress, read_bytes
from keras_softsets.datasets._tables import Array

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
BATCHES = {
    "data_batch_1": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
    "data_batch_2": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
    "data_batch_3": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
    "data_batch_4": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
    "data_batch_5": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    "test_batch": "67eb016db431130d61cd03c7ad570b013799c88c",
}
URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
_ARCHIVE = "cifar-10-binary.tar.gz"
_FOLDERS = ("cifar10", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin")
_SIDE = 32
_RECORD = 1 + 3 * _SIDE * _SIDE  # the label, then the red, green and blue plane
TILES = 100  # a sheet has 100 x 100 pictures, a batch of them


class Images(NamedTuple):
    """Pictures `(n, 32, 32, 3)` and their classes `(n,)`, both uint8."""

    images: Array
    classes: Array


def read_directory(directory: Path) -> dict[str, Images]:
    """Reads the training and the test pictures that lie under `directory`.

    Raises:
        FileNotFoundError: If none of the three forms is there.
        ValueError: If a file is damaged or is not the published one.
    """
    batches = {
        name: _check(batch, path, name)
        for name, path, batch in progress(_batches(directory), directory, total=len(BATCHES), unit=" batches")
    }
    training = [batches[name] for name in BATCHES if name != "test_batch"]
    train = Images(*(np.concatenate(arrays) for arrays in zip(*training, strict=True)))
    return {"train": train, "test": batches["test_batch"]}


def _batches(directory: Path) -> Iterator[tuple[str, Path, Images]]:
    """Yields name, file and content of the six batches, from the first form of which there is a trace."""
    if find_raw(directory, _FOLDERS, ["data_batch_1.bin"]):
        for name in BATCHES:
            path = _require(directory, f"{name}.bin")
            yield name, path, _from_records(read_bytes(path, TILES * TILES * _RECORD))
    elif archive := find_raw(directory, _FOLDERS, [_ARCHIVE]):
        for name, content in _read_archive(archive).items():
            yield name, archive, _from_records(content)
    elif find_raw(directory, _FOLDERS, ["train_1.webp"]):
        classes = _read_classes(_require(directory, "labels.npz"))
        for index, name in enumerate(BATCHES):
            path = _require(directory, "test.webp" if name == "test_batch" else f"train_{index + 1}.webp")
            yield name, path, Images(_read_sheet(path), classes[index])
    else:
        raise FileNotFoundError(
            f"data_batch_1.bin to data_batch_5.bin and test_batch.bin, {_ARCHIVE}, or train_1.webp to train_5.webp, "
            f"test.webp and labels.npz must be in {directory} or in {directory / _FOLDERS[0]}, or leave out `raw_dir` "
            f"to download {URL}; nothing was found."
        )


def _require(directory: Path, name: str) -> Path:
    path = find_raw(directory, _FOLDERS, [name])
    if path is None:
        raise FileNotFoundError(
            f"{name} must be in {directory} or in {directory / _FOLDERS[0]}, beside the other files of CIFAR-10; "
            "nothing was found."
        )
    return path


def _read_archive(archive: Path) -> dict[str, bytes]:
    """Returns the batches in the archive. Nothing is unpacked on disk, so no path or link in it can do harm."""
    size = TILES * TILES * _RECORD
    expected = {f"cifar-10-batches-bin/{name}.bin": name for name in BATCHES}
    batches = {}
    try:
        with tarfile.open(archive, "r|gz") as tar:
            for member in tar:
                if member.name in expected and member.isfile() and member.size == size:
                    batches[expected[member.name]] = cast(BinaryIO, tar.extractfile(member)).read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{archive} cannot be read, it is damaged or truncated: {error}") from error
    for path, name in expected.items():
        if name not in batches:
            raise ValueError(f"{archive} must hold {path} as a file of {size:,} bytes, received none.")
    return batches


def _from_records(content: bytes) -> Images:
    records = np.frombuffer(content, "uint8").reshape(-1, _RECORD)
    planes = records[:, 1:].reshape(-1, 3, _SIDE, _SIDE)
    return Images(planes.transpose(0, 2, 3, 1), records[:, 0])


def _to_records(batch: Images) -> bytes:
    planes = batch.images.transpose(0, 3, 1, 2).reshape(len(batch.images), -1)
    return np.concatenate([batch.classes[:, None], planes], axis=1).tobytes()


def _read_sheet(path: Path) -> Array:
    """Cuts a sheet of 32x32 tiles, row by row."""
    from PIL import Image

    side = TILES * _SIDE
    try:
        with Image.open(path) as picture:
            if picture.size != (side, side):
                raise ValueError(f"{path} must be a picture of {side}x{side}, received {picture.size}.")
            pixels = np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} cannot be read, it is damaged or truncated: {error}") from error
    return pixels.reshape(TILES, _SIDE, TILES, _SIDE, 3).swapaxes(1, 2).reshape(-1, _SIDE, _SIDE, 3)


def _read_classes(path: Path) -> list[Array]:
    """Returns the classes of the six batches."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
            classes = np.concatenate([arrays["train"], arrays["test"]]).astype("uint8")
        return list(classes.reshape(len(BATCHES), TILES * TILES))
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        expected = f"train ({5 * TILES * TILES:,} classes) and test ({TILES * TILES:,})"
        raise ValueError(f"{path} must hold the arrays {expected}, received: {error}") from error


def _check(batch: Images, path: Path, name: str) -> Images:
    received = hashlib.sha1(_to_records(batch)).hexdigest()
    if received != BATCHES[name]:
        raise ValueError(f"{path} must give {name} with the sha1 {BATCHES[name]}, received {received}.")
    return batch
