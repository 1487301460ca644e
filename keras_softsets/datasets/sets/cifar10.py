"""CIFAR-10 as two binary tasks, from the official binary batches, their archive, or lossless sheets of images.

All three are converted back to the official binary records, whose SHA-1 digests are known, so even one wrong pixel is
detected. The batches of the "python version" are not accepted, because they are pickles, which can run code when read.
"""

import functools
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from keras_softsets.datasets._data_set import Array, DataSet, Description, Images, ImageSource
from keras_softsets.datasets._files import LocalFile, RawFile, find_raw, read_content, read_npz, read_tar
from keras_softsets.datasets._tables import progress

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
TILES = 100  # a sheet has 100 x 100 images, a batch of them
_OVERHEAD = 2**20  # bytes that an archive may hold besides the batches: headers, and in the official one a web page


def read_directory(directory: Path) -> dict[str, Images]:
    """Reads the training and test images under `directory`.

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
    """Yields name, file and content of the six batches, from the first form of which any file is present."""
    require = functools.partial(_require, directory)
    if find_raw(directory, _FOLDERS, ["data_batch_1.bin"]):
        paths = [require(f"{name}.bin") for name in BATCHES]
        return ((name, path, _read_batch(path)) for name, path in zip(BATCHES, paths, strict=True))
    if archive := find_raw(directory, _FOLDERS, [_ARCHIVE]):
        return _read_archive(archive)
    if find_raw(directory, _FOLDERS, ["train_1.webp"]):
        sheets = [require("test.webp" if name == "test_batch" else f"train_{name[-1]}.webp") for name in BATCHES]
        return _read_sheets(sheets, require("labels.npz"))
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


def _batch_size() -> int:
    return TILES * TILES * _RECORD


def _read_batch(path: Path) -> Images:
    content = read_content(LocalFile(path, _batch_size(), URL))
    if len(content) != _batch_size():
        raise ValueError(
            f"{path} must hold {_batch_size():,} bytes, received {len(content):,}; get the published file from {URL}."
        )
    return _from_records(content)


def _read_archive(archive: Path) -> Iterator[tuple[str, Path, Images]]:
    paths = {f"cifar-10-batches-bin/{name}.bin": name for name in BATCHES}
    file = LocalFile(archive, len(BATCHES) * _batch_size() + _OVERHEAD, URL)
    for path, content in read_tar(file, dict.fromkeys(paths, _batch_size())):
        yield paths.pop(path), archive, _from_records(content)
    for path in paths:
        raise ValueError(f"{archive} must hold {path} as a file of {_batch_size():,} bytes, received none.")


def _from_records(content: bytes) -> Images:
    records = np.frombuffer(content, "uint8").reshape(-1, _RECORD)
    planes = records[:, 1:].reshape(-1, 3, _SIDE, _SIDE)
    return Images(planes.transpose(0, 2, 3, 1), records[:, 0])


def _to_records(batch: Images) -> bytes:
    planes = batch.images.transpose(0, 3, 1, 2).reshape(len(batch.images), -1)
    return np.concatenate([batch.classes[:, None], planes], axis=1).tobytes()


def _read_sheets(sheets: list[Path], labels: Path) -> Iterator[tuple[str, Path, Images]]:
    lengths = {"train": 5 * TILES * TILES, "test": TILES * TILES}
    # As 64-bit numbers, the widest that anyone would use.
    classes = read_npz(LocalFile(labels, 8 * sum(lengths.values()) + _OVERHEAD, URL), lengths)
    by_batch = np.concatenate([classes["train"], classes["test"]]).reshape(len(BATCHES), -1)
    for name, path, ids in zip(BATCHES, sheets, by_batch, strict=True):
        yield name, path, Images(_read_sheet(path), ids)


def _read_sheet(path: Path) -> Array:
    """Cuts a sheet of 32x32 tiles, row by row."""
    from PIL import Image

    side = TILES * _SIDE
    content = read_content(LocalFile(path, _batch_size() + _OVERHEAD, URL))
    try:
        # Only WebP, which says how large an image is before it decodes it.
        with Image.open(io.BytesIO(content), formats=["WEBP"]) as sheet:
            if sheet.size != (side, side):
                raise ValueError(f"{path} must be an image of {side}x{side}, received {sheet.size}.")
            pixels = np.asarray(sheet.convert("RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} cannot be read because it is damaged or truncated: {error}") from error
    return pixels.reshape(TILES, _SIDE, TILES, _SIDE, 3).swapaxes(1, 2).reshape(-1, _SIDE, _SIDE, 3)


def _check(batch: Images, path: Path, name: str) -> Images:
    received = hashlib.sha1(_to_records(batch)).hexdigest()
    if received != BATCHES[name]:
        raise ValueError(f"{path} must give {name} with the sha1 {BATCHES[name]}, received {received}.")
    return batch


_CITATION = """@techreport{krizhevsky2009learning,
  author = {Krizhevsky, Alex},
  title = {Learning Multiple Layers of Features from Tiny Images},
  institution = {University of Toronto},
  year = {2009},
}"""


def _task(name: str, positives: int, positive: tuple[str, ...], about: str) -> DataSet[ImageSource]:
    return DataSet(
        Description(
            name,
            60_000,
            positives,
            features=3 * _SIDE * _SIDE,
            source="https://www.cs.toronto.edu/~kriz/cifar.html",
            licence="none stated; cite the report",
        ),
        about=about,
        citation=_CITATION,
        source=ImageSource(
            "cifar10",
            (_SIDE, _SIDE, 3),
            CLASSES,
            positive,
            read_directory,
            files=(RawFile((_ARCHIVE,), len(BATCHES) * _batch_size() + _OVERHEAD, url=URL),),
        ),
    )


CIFAR10_FROG = _task(
    "cifar10_frog", 6_000, ("frog",), about="CIFAR-10 with frog as the positive class, 10 % of the images."
)
CIFAR10_TRANSPORTATION = _task(
    "cifar10_transportation",
    24_000,
    ("airplane", "automobile", "ship", "truck"),
    about="CIFAR-10 with airplane, automobile, ship and truck as the positive class, 40 % of the images.",
)
