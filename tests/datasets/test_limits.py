"""Small files that decompress to far more than the published ones: refused at once, in little memory."""

import dataclasses
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zipfile

import numpy as np
import pytest
import tqdm.auto  # noqa: F401 - imported here so that its import is not measured
from PIL import WebPImagePlugin  # noqa: F401 - likewise
from raw_files import MADE_UP, expect_made_up, replace_data_set, write_cifar10_archive, write_cifar10_sheets

from keras_softsets.datasets._catalog import CATALOG
from keras_softsets.datasets._data_set import TableSource
from keras_softsets.datasets._files import require_raw
from keras_softsets.datasets.sets import cifar10

MEGABYTE = 2**20
BOMB = 64 * MEGABYTE  # what each of them decompresses to; none is larger than 0.1 MB
TABLES = [name for name in MADE_UP if not name.startswith("cifar10")]


def refused(read, *arguments):
    """Returns the message of the `ValueError` that `read` raises, and the peak of the memory that it took."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError) as error:
            read(*arguments)
        return str(error.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def write_repeated(stream, chunk, size=BOMB):
    for _ in range(size // len(chunk)):
        stream.write(chunk)


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Returns a function that writes a made-up table, whose own sizes are then the published ones."""

    def write(name):
        expect_made_up(monkeypatch, name)
        MADE_UP[name].write(tmp_path)
        source = CATALOG[name].source
        files = tuple(file._replace(size=(tmp_path / file.names[0]).stat().st_size) for file in source.files)
        replace_data_set(monkeypatch, name, source=dataclasses.replace(source, files=files))
        return CATALOG[name].source

    return write


@pytest.mark.parametrize(("name", "suffix"), [*((name, ".gz") for name in TABLES), ("mammography", ".xz")])
def test_a_table_is_read_up_to_its_published_size(table, tmp_path, name, suffix):
    """The last line again and again, 64 MB of it, in a few kilobytes."""
    source = table(name)
    plain = tmp_path / source.files[-1].names[0]
    content = plain.read_bytes()
    line = content.rstrip().splitlines()[-1] + b"\n"
    with {".gz": gzip.open, ".xz": lzma.open}[suffix](plain.with_name(plain.name + suffix), "wb") as stream:
        stream.write(content)
        write_repeated(stream, line * (MEGABYTE // len(line)))
    plain.unlink()
    files = [require_raw(tmp_path, source.folder, file) for file in source.files]
    message, peak = refused(source.read, files)
    official = source.files[-1]
    assert message == (
        f"{plain}{suffix} must hold at most {2 * official.size:,} bytes once decompressed, received more; "
        f"get the published file from {official.url or official.page}."
    )
    assert peak < (2 if suffix == ".gz" else 10) * MEGABYTE  # The dictionary of xz takes 8.


def test_short_rows_are_read_up_to_the_published_number(tmp_path):
    """Rows of 16 bytes: five times as many samples as the published file has within a fifth of its bytes."""
    header = ",".join([*(f"attr{n}" for n in range(1, 7)), "class"])
    (tmp_path / "mammography.csv").write_text(header + "\n" + "0,0,0,0,0,0,'1'\n" * 50_000)
    source = CATALOG["mammography"].source
    message, peak = refused(source.read, [require_raw(tmp_path, "", source.files[0])])
    assert message == (
        f"{tmp_path / 'mammography.csv'} must hold at most 11,183 samples, received more; "
        "get the published file from https://www.openml.org/data/download/52214/phpn1jVwe."
    )
    assert peak < 2 * MEGABYTE


def test_a_file_with_an_official_digest_may_not_be_a_byte_longer():
    tables = [data_set for data_set in CATALOG.values() if isinstance(data_set.source, TableSource)]
    for data_set in tables:  # CIFAR-10 has a digest for each batch in its archive
        for file in data_set.source.files:
            enforced = file.sha256 is not None and file.exact
            assert file.at("anywhere").limit == (file.size if enforced else 2 * file.size)
            assert enforced or data_set.source.fingerprint  # Something says what the content must be.


@pytest.fixture
def cifar10_folder(tmp_path, monkeypatch):
    expect_made_up(monkeypatch, "cifar10_frog")
    return tmp_path


def long_name(tar):
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, BOMB
    tar.write(header.tobuf(tarfile.GNU_FORMAT))


def pax_header(tar):
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, BOMB
    tar.write(header.tobuf(tarfile.USTAR_FORMAT))


def large_member(tar):
    header = tarfile.TarInfo("cifar-10-batches-bin/data_batch_1.bin")
    header.size = BOMB
    tar.write(header.tobuf(tarfile.USTAR_FORMAT))


@pytest.mark.parametrize("write_header", [long_name, pax_header, large_member])
def test_a_tar_archive_is_read_up_to_its_published_size(cifar10_folder, write_header):
    path = cifar10_folder / "cifar-10-binary.tar.gz"
    with gzip.open(path, "wb") as tar:
        write_header(tar)
        write_repeated(tar, bytes(MEGABYTE))
    message, peak = refused(cifar10.read_directory, cifar10_folder)
    assert message == (
        f"{path} must hold at most {6 * 76_825 + MEGABYTE:,} bytes once decompressed, received more; "
        f"get the published file from {cifar10.URL}."
    )
    assert peak < 4 * MEGABYTE


def test_what_else_is_in_a_tar_archive_is_skipped(cifar10_folder):
    """Long names, pax headers, a second batch of the same name: the first six batches count."""
    write_cifar10_archive(cifar10_folder)
    plain = cifar10.read_directory(cifar10_folder)["train"]
    path = cifar10_folder / "cifar-10-binary.tar.gz"
    with tarfile.open(path) as old:
        members = [(member, old.extractfile(member).read()) for member in old]
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT, pax_headers={"comment": "ü" * 600}) as tar:
        for member, content in [*members, (members[0][0], bytes(76_825))]:
            member.pax_headers = {"comment": "x" * 600}
            tar.addfile(member, io.BytesIO(content))
    again = cifar10.read_directory(cifar10_folder)["train"]
    np.testing.assert_array_equal(again.images, plain.images)
    np.testing.assert_array_equal(again.classes, plain.classes)


def write_npz(path, shape, compression=zipfile.ZIP_DEFLATED):
    """Writes an array `train` of zeros that states its `shape` but holds 64 MB."""
    with zipfile.ZipFile(path, "w", compression) as archive, archive.open("train.npy", "w") as stream:
        description = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, description)
        write_repeated(stream, bytes(MEGABYTE))


@pytest.mark.parametrize(
    ("shape", "compression", "received"),
    [
        ((BOMB,), zipfile.ZIP_DEFLATED, "train.npy has the shape (67108864,) and the type uint8"),
        ((10**13,), zipfile.ZIP_DEFLATED, "train.npy has the shape (10000000000000,) and the type uint8"),
        ((125,), zipfile.ZIP_BZIP2, "train.npy is neither stored nor deflated"),
    ],
)
def test_an_npz_archive_is_read_up_to_the_expected_arrays(cifar10_folder, shape, compression, received):
    write_cifar10_sheets(cifar10_folder)
    path = cifar10_folder / "labels.npz"
    write_npz(path, shape, compression)
    message, peak = refused(cifar10.read_directory, cifar10_folder)
    assert message == (
        f"{path} must hold the arrays train (125 numbers) and test (25 numbers), received: {received}; "
        f"get the published file from {cifar10.URL}."
    )
    assert peak < 2 * MEGABYTE


@pytest.mark.parametrize("name", ["labels.npz", "train_1.webp"])
def test_long_files_that_are_not_compressed_are_not_read_whole(cifar10_folder, name):
    write_cifar10_sheets(cifar10_folder)
    with (cifar10_folder / name).open("r+b") as stream:
        stream.truncate(BOMB)  # Zeros that take no space on disk.
    message, peak = refused(cifar10.read_directory, cifar10_folder)
    assert message.startswith(f"{cifar10_folder / name} must hold at most ")
    assert message.endswith(f" bytes once decompressed, received more; get the published file from {cifar10.URL}.")
    assert peak < 4 * MEGABYTE
