"""What the TFDS builders share: raw files or downloads, checks, and examples in the order of the raw files."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow_datasets as tfds
from etils import epath
from tensorflow_datasets.core.download import checksums

from keras_softsets.datasets import _cifar10
from keras_softsets.datasets._catalog import check_counts, lookup
from keras_softsets.datasets._citations import CITATIONS
from keras_softsets.datasets._raw import RAW_DIR_VARIABLE, LocalFile, RawFile, raw_directory, require_raw
from keras_softsets.datasets._records import read_records
from keras_softsets.datasets._tables import Table, TableSource, check_tables

_PAPER = "https://arxiv.org/abs/2009.01367"
Example = tuple[int, dict[str, Any]]


class RawDirBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS untyped
    """A builder that reads raw files from `raw_dir`, or else downloads them.

    Args:
        raw_dir: Folder with the raw files. Defaults to the environment variable `KERAS_SOFTSETS_RAW_DIR`, and without
            it to a download.
        **kwargs: Those of `tfds.core.GeneratorBasedBuilder`, such as `data_dir`.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "First release."}
    # TFDS would find it out with importlib_resources, which 4.9.10 does not install (tensorflow/datasets#11212).
    code_path = epath.Path(__file__)

    def __init__(self, *, raw_dir: str | os.PathLike[str] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.raw_dir = raw_dir
        self._original_state["raw_dir"] = raw_dir  # TFDS pickles a builder by the arguments that it finds here.

    def _describe(self, features: dict[str, Any], **kwargs: Any) -> tfds.core.DatasetInfo:
        facts = lookup(self.name)
        return tfds.core.DatasetInfo(
            builder=self,
            description=type(self).__doc__,
            features=tfds.features.FeaturesDict(features),
            homepage=facts.source if facts.source.startswith("https") else _PAPER,
            citation=CITATIONS[self.name],
            license=facts.licence,
            # The order of the raw files, so that a split by seed does not depend on how a TFDS version hashes keys.
            disable_shuffling=True,
            **kwargs,
        )


class TableBuilder(RawDirBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS untyped
    """A builder of tables: everything but their source."""

    source: ClassVar[TableSource]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # TFDS checks downloads against these; its other way, a checksums.tsv, would state the digests a second time.
        cls.url_infos = _url_infos(cls.source.files)

    def _info(self) -> tfds.core.DatasetInfo:
        return self._describe(
            {
                "features": tfds.features.Tensor(shape=(len(self.source.columns),), dtype=np.float32),
                "label": tfds.features.ClassLabel(names=["negative", "positive"]),
            },
            supervised_keys=("features", "label"),
            metadata=tfds.core.MetadataDict(columns=list(self.source.columns)),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Iterator[Example]]:
        # Everything is parsed and checked before the first example is written.
        tables = self.source.read(self._files(dl_manager))
        check_tables(tables, self.source, lookup(self.name))
        return {split: self._generate_examples(table) for split, table in tables.items()}

    def _files(self, dl_manager: tfds.download.DownloadManager) -> list[LocalFile]:
        files = self.source.files
        if not files:  # Generated data: `raw_dir` does not concern them.
            return []
        directory = raw_directory(self.raw_dir)
        if directory is None and self.MANUAL_DOWNLOAD_INSTRUCTIONS:
            directory = self._manual_directory(dl_manager)
        if directory is not None:
            return [require_raw(directory, self.source.folder, file) for file in files]
        paths = dl_manager.download([file.url for file in files])
        return [LocalFile(Path(path), file.sha256) for path, file in zip(paths, files, strict=True)]

    def _manual_directory(self, dl_manager: tfds.download.DownloadManager) -> Path:
        try:
            return Path(dl_manager.manual_dir)
        except AssertionError as error:  # TFDS's own answer to a folder that is missing or empty.
            instructions = " ".join(self.MANUAL_DOWNLOAD_INSTRUCTIONS.split())
            raise FileNotFoundError(f"`raw_dir` or {RAW_DIR_VARIABLE} must be set: {instructions}") from error

    def _generate_examples(self, table: Table) -> Iterator[Example]:
        features = table.features.astype("float32")
        for row, (values, label) in enumerate(zip(features, table.labels.tolist(), strict=True)):
            yield row, {"features": values, "label": label}


class Cifar10Builder(RawDirBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS untyped
    """A builder of binary pictures from CIFAR-10: everything but the positive classes."""

    positive: ClassVar[tuple[str, ...]]

    def _info(self) -> tfds.core.DatasetInfo:
        return self._describe(
            {
                # Not tfds.features.Image: as PNG, pictures of this size take several times as long to write and to
                # read, and save only a quarter of the space.
                "image": tfds.features.Tensor(shape=(32, 32, 3), dtype=np.uint8, encoding="bytes"),
                "label": tfds.features.ClassLabel(names=["negative", "positive"]),
                "cifar10_label": tfds.features.ClassLabel(names=list(_cifar10.CLASSES)),
            },
            supervised_keys=("image", "label"),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Iterator[Example]]:
        directory = raw_directory(self.raw_dir)
        splits = self._download() if directory is None else _cifar10.read_directory(directory)
        classes = np.concatenate([part.classes for part in splits.values()])
        positives = np.isin(classes, [_cifar10.CLASSES.index(name) for name in self.positive]).sum()
        check_counts(lookup(self.name), len(classes), int(positives), "The raw files of CIFAR-10")
        return {split: self._generate_examples(part) for split, part in splits.items()}

    def _download(self) -> dict[str, _cifar10.Images]:
        """Lets TFDS download and prepare its own `cifar10`, and brings it into the order of the official batches."""
        builder = tfds.builder("cifar10", data_dir=self.data_dir_root)
        builder.download_and_prepare()
        splits = {}
        for split in ("train", "test"):
            records = read_records(builder, split)
            order = np.argsort(records["id"])
            splits[split] = _cifar10.Images(records["image"][order], records["label"][order])
        return splits

    def _generate_examples(self, part: _cifar10.Images) -> Iterator[Example]:
        for row, (image, index) in enumerate(zip(part.images, part.classes.tolist(), strict=True)):
            label = int(_cifar10.CLASSES[index] in self.positive)
            yield row, {"image": image, "label": label, "cifar10_label": index}


def _url_infos(files: tuple[RawFile, ...]) -> dict[str | None, checksums.UrlInfo]:
    return {
        file.url: checksums.UrlInfo(size=file.size, checksum=file.sha256, filename=file.names[0])
        for file in files
        if file.sha256
    }
