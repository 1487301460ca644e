"""CIFAR-10 from disk: three forms with the same images, and damaged files."""

import gzip
import io
import struct
import tarfile
import zlib

import numpy as np
import pytest
from raw_files import (
    TILES,
    cifar10_batches,
    expect_made_up,
    write_cifar10,
    write_cifar10_archive,
    write_cifar10_sheets,
)

from keras_softsets.datasets.sets import cifar10

LABELS = "labels.npz must hold the arrays train (125 numbers) and test (25 numbers), received:"


@pytest.mark.parametrize("write", [write_cifar10, write_cifar10_archive, write_cifar10_sheets])
def test_cifar10_is_the_same_in_all_three_forms(tmp_path, monkeypatch, write):
    expect_made_up(monkeypatch, "cifar10_frog")
    (tmp_path / "cifar10").mkdir()
    write(tmp_path / "cifar10")
    splits = cifar10.read_directory(tmp_path)
    for split, names in (("train", list(cifar10_batches())[:5]), ("test", ["test_batch"])):
        records = np.frombuffer(b"".join(cifar10_batches()[name] for name in names), "uint8").reshape(-1, 3073)
        np.testing.assert_array_equal(splits[split].classes, records[:, 0])
        np.testing.assert_array_equal(splits[split].images[..., 1].reshape(len(records), -1), records[:, 1025:2049])
        assert splits[split].images.shape == (len(records), 32, 32, 3)


def test_cifar10_official_folder_is_accepted(tmp_path, monkeypatch):
    expect_made_up(monkeypatch, "cifar10_frog")
    (tmp_path / "cifar-10-batches-bin").mkdir()
    write_cifar10(tmp_path / "cifar-10-batches-bin")
    assert len(cifar10.read_directory(tmp_path)["train"].classes) == 125


def damage_batch(folder):
    write_cifar10(folder)
    path = folder / "data_batch_2.bin"
    path.write_bytes(path.read_bytes()[:-1])
    return "data_batch_2.bin must hold 76,825 bytes, received 76,824; "


def lengthen_batch(folder):
    write_cifar10(folder)
    path = folder / "test_batch.bin"
    path.write_bytes(path.read_bytes() + b"0")
    return "test_batch.bin must hold at most 76,825 bytes once decompressed, received more; get the published file from https://www.cs"


def change_pixel(folder):
    write_cifar10(folder)
    path = folder / "data_batch_4.bin"
    content = bytearray(path.read_bytes())
    content[5000] ^= 1
    path.write_bytes(content)
    return "data_batch_4.bin must give data_batch_4 with the sha1"


def truncate_archive(folder):
    write_cifar10_archive(folder)
    path = folder / "cifar-10-binary.tar.gz"
    path.write_bytes(path.read_bytes()[:100_000])
    return "cifar-10-binary.tar.gz cannot be read because it is damaged or truncated: "


def shorten_archive(folder):
    batches = cifar10_batches()
    del batches["data_batch_5"]
    write_cifar10_archive(folder, batches)
    return "cifar-10-binary.tar.gz must hold cifar-10-batches-bin/data_batch_5.bin"


def link_in_archive(folder):
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as tar:
        link = tarfile.TarInfo("cifar-10-batches-bin/data_batch_1.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return "must hold cifar-10-batches-bin/data_batch_1.bin as a file of 76,825 bytes, received none."


def crop_sheet(folder):
    from PIL import Image

    write_cifar10_sheets(folder)
    Image.new("RGB", (64, 64)).save(folder / "train_3.webp", lossless=True)
    return "train_3.webp must be an image of 160x160, received (64, 64)."


def lossy_sheet(folder):
    from PIL import Image

    write_cifar10_sheets(folder)
    Image.open(folder / "train_1.webp").save(folder / "train_1.webp", quality=95)
    return "train_1.webp must give data_batch_1 with the sha1"


def truncate_sheet(folder):
    write_cifar10_sheets(folder)
    path = folder / "test.webp"
    path.write_bytes(path.read_bytes()[:2000])
    return "test.webp cannot be read because it is damaged or truncated"


def pickled_labels(folder):
    write_cifar10_sheets(folder)
    np.savez(folder / "labels.npz", train=np.array([{}], object), test=np.array([{}], object))
    return f"{LABELS} train.npy has the shape (1,) and the type object; get the published file from https://www.cs.toronto.edu/"


def truncated_labels(folder):
    write_cifar10_sheets(folder)
    path = folder / "labels.npz"
    path.write_bytes(path.read_bytes()[:300])
    return f"{LABELS} File is not a zip file"


def zeroed_labels(folder):
    write_cifar10_sheets(folder)
    np.savez_compressed(folder / "labels.npz", train=np.arange(125), test=np.arange(25))
    content = bytearray((folder / "labels.npz").read_bytes())
    content[60:160] = bytes(100)
    (folder / "labels.npz").write_bytes(content)
    return LABELS


def single_array_of_labels(folder):
    write_cifar10_sheets(folder)
    with (folder / "labels.npz").open("wb") as file:
        np.save(file, np.zeros(150))
    return LABELS


def enormous_sheet(folder):
    write_cifar10_sheets(folder)
    chunks = [b"IHDR" + struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0), b"IDAT"]
    framed = [struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks]
    (folder / "train_1.webp").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(framed))
    return "train_1.webp cannot be read because it is damaged or truncated: cannot identify image"


def few_labels(folder):
    write_cifar10_sheets(folder)
    np.savez(folder / "labels.npz", train=np.zeros(3), test=np.zeros(2))
    return LABELS


@pytest.mark.parametrize(
    "damage",
    [
        damage_batch, lengthen_batch, change_pixel, truncate_archive, shorten_archive, link_in_archive, crop_sheet,
        lossy_sheet, truncate_sheet, pickled_labels, few_labels, truncated_labels, zeroed_labels,
        single_array_of_labels, enormous_sheet,
    ],
)  # fmt: skip
def test_damaged_cifar10_files_are_named(tmp_path, monkeypatch, damage):
    expect_made_up(monkeypatch, "cifar10_frog")
    message = damage(tmp_path)
    with pytest.raises(ValueError) as error:
        cifar10.read_directory(tmp_path)
    assert str(error.value).startswith(str(tmp_path))
    assert message in str(error.value)


def test_pickled_batches_are_not_read(tmp_path, monkeypatch):
    expect_made_up(monkeypatch, "cifar10_frog")
    (tmp_path / "data_batch_1").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(FileNotFoundError, match=r"data_batch_1\.bin to data_batch_5\.bin and test_batch\.bin, "):
        cifar10.read_directory(tmp_path)


def test_nothing_is_written_when_an_archive_is_read(tmp_path, monkeypatch):
    expect_made_up(monkeypatch, "cifar10_frog")
    folder = tmp_path / "inner"
    folder.mkdir()
    write_cifar10_archive(folder)
    escape = tarfile.TarInfo("../escaped")
    escape.size = 4
    with tarfile.open(folder / "more.tar", "w") as tar, tarfile.open(folder / "cifar-10-binary.tar.gz") as old:
        tar.addfile(escape, io.BytesIO(b"evil"))
        for member in old:
            tar.addfile(member, old.extractfile(member))
    (folder / "cifar-10-binary.tar.gz").write_bytes(gzip.compress((folder / "more.tar").read_bytes()))
    (folder / "more.tar").unlink()
    assert len(cifar10.read_directory(folder)["test"].classes) == TILES**2
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["cifar-10-binary.tar.gz", "inner"]
