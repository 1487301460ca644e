"""Raw files on disk: what is known about the official ones, and where to find them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RAW_DIR_VARIABLE = "KERAS_SOFTSETS_RAW_DIR"
SHIPPED = Path(__file__).parent / "files"  # what comes with the package, compressed, each with licence and citation
COMPRESSED = (".gz", ".xz")


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
