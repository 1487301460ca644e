"""TFDS builders of tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow_datasets as tfds
from tensorflow_datasets.core.download import checksums

from keras_softsets.datasets._builder import Example, RawDirBuilder
from keras_softsets.datasets._data_set import DataSet
from keras_softsets.datasets._files import RAW_DIR_VARIABLE, SHIPPED, LocalFile, raw_directory, require_raw
from keras_softsets.datasets._tables import Table, TableSource, check_tables


class TableBuilder(RawDirBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS untyped
    """A builder for tables; subclasses add the data set."""

    data_set: ClassVar[DataSet[TableSource]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # TFDS checks downloads against these; its alternative, a checksums.tsv, would state the digests a second time.
        cls.url_infos = _url_infos(cls.data_set.source)
        cls.MANUAL_DOWNLOAD_INSTRUCTIONS = _instructions(cls.data_set.source)

    def _info(self) -> tfds.core.DatasetInfo:
        source = self.data_set.source
        return self._describe(
            {
                "features": tfds.features.Tensor(shape=(len(source.columns),), dtype=np.float32),
                "label": tfds.features.ClassLabel(names=list(source.classes)),
                **{name: tfds.features.Scalar(np.int64) for name in source.extras},
            },
            supervised_keys=("features", "label"),
            metadata=tfds.core.MetadataDict(columns=list(source.columns)),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Iterator[Example]]:
        # Everything is parsed and checked before the first example is written.
        tables = self.data_set.source.read(self._files(dl_manager))
        check_tables(tables, self.data_set.source, self.data_set.facts)
        return {split: self._generate_examples(table) for split, table in tables.items()}

    def _files(self, dl_manager: tfds.download.DownloadManager) -> list[LocalFile]:
        files = self.data_set.source.files
        if not files:  # Generated data do not need `raw_dir`.
            return []
        shipped = self.raw_dir is None and all(file.shipped for file in files)
        directory = SHIPPED if shipped else raw_directory(self.raw_dir)
        if directory is None and self.MANUAL_DOWNLOAD_INSTRUCTIONS:
            directory = self._manual_directory(dl_manager)
        if directory is not None:
            return [require_raw(directory, self.data_set.source.folder, file) for file in files]
        paths = dl_manager.download([file.url for file in files])
        return [file.at(Path(path)) for path, file in zip(paths, files, strict=True)]

    def _manual_directory(self, dl_manager: tfds.download.DownloadManager) -> Path:
        try:
            return Path(dl_manager.manual_dir)
        except AssertionError as error:  # TFDS's reaction to a missing or empty folder.
            raise FileNotFoundError(
                f"`raw_dir` or {RAW_DIR_VARIABLE} must be set: {self.MANUAL_DOWNLOAD_INSTRUCTIONS}"
            ) from error

    def _generate_examples(self, table: Table) -> Iterator[Example]:
        columns = {"features": table.features.astype("float32"), "label": table.labels, **table.extras}
        for row, values in enumerate(zip(*columns.values(), strict=True)):
            yield row, dict(zip(columns, values, strict=True))


def _url_infos(source: TableSource) -> dict[str | None, checksums.UrlInfo]:
    return {
        file.url: checksums.UrlInfo(size=file.size, checksum=file.sha256, filename=file.names[0])
        for file in source.files
        if file.sha256
    }


def _instructions(source: TableSource) -> str | None:
    """Returns instructions for files that have no direct download."""
    by_hand = [file for file in source.files if file.url is None]
    if not by_hand:
        return None
    names, pages = (" and ".join(dict.fromkeys(each)) for each in zip(*((f.names[0], f.page) for f in by_hand)))
    return (
        f"get {names}, which have no direct download, from {pages} and put them into that folder "
        f"or into {source.folder}/ in it."
    )
