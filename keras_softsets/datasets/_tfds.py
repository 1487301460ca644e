"""TensorFlow Datasets: the builders of tables and of binary image tasks, and what they have prepared, read fast."""

import contextlib
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import requests
import tensorflow as tf
import tensorflow_datasets as tfds
from etils import epath
from tensorflow_datasets.core.download import checksums, downloader

from keras_softsets.datasets._data_set import (
    Array,
    DataSet,
    Images,
    ImageSource,
    Table,
    TableSource,
    check_counts,
)
from keras_softsets.datasets._files import RAW_DIR_VARIABLE, SHIPPED, LocalFile, raw_directory, require_raw
from keras_softsets.datasets._tables import check_tables

_PAPER = "https://arxiv.org/abs/2009.01367"
Example = tuple[int, dict[str, Any]]
FAILED_DOWNLOAD = (requests.exceptions.RequestException, tfds.download.DownloadError)
_RETRIES, _PATIENCE = 2, 10.0  # seconds
_CHUNK = 4_096


@contextlib.contextmanager
def short_of_patience() -> Iterator[None]:
    """Lets downloads fail within seconds: TFDS (4.9.10) tries for minutes, and waits for a silent server for ever."""
    names = ("MAX_RETRIES", "_open_url")
    before = {name: getattr(downloader, name) for name in names if hasattr(downloader, name)}
    if len(before) < len(names):  # another version of TFDS
        yield
        return
    downloader.MAX_RETRIES = _RETRIES
    downloader._open_url = functools.partial(before["_open_url"], timeout=_PATIENCE)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(downloader, name, value)


class RawDirBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS untyped
    """A builder that reads raw files from `raw_dir`, or else downloads them.

    Args:
        raw_dir: Folder with the raw files. Defaults to the environment variable `KERAS_SOFTSETS_RAW_DIR`, and without
            it to a download.
        **kwargs: Those of `tfds.core.GeneratorBasedBuilder`, such as `data_dir`.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "First release."}
    # TFDS would find it with importlib_resources, which 4.9.10 does not install (tensorflow/datasets#11212).
    code_path = epath.Path(__file__)
    data_set: ClassVar[DataSet[Any]]

    def __init__(self, *, raw_dir: str | os.PathLike[str] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.raw_dir = raw_dir
        self._original_state["raw_dir"] = raw_dir  # TFDS pickles a builder by the arguments that it finds here.

    def read(self, split: str) -> dict[str, Array]:
        """Returns every feature of a prepared split as one array, in the order of the raw files."""
        return read_records(self, split)

    def local_directory(self) -> Path | None:
        """Returns the folder with the raw files, or `None` if they have to be downloaded; generated data have none."""
        files = self.data_set.source.files
        if not files or (self.raw_dir is None and all(file.shipped for file in files)):
            return SHIPPED
        return raw_directory(self.raw_dir)

    def _downloads(self) -> bool:
        return self.local_directory() is None and not self.MANUAL_DOWNLOAD_INSTRUCTIONS

    def _log_download_bytes(self) -> None:
        if self._downloads():
            super()._log_download_bytes()
        else:  # TFDS would announce a download all the same.
            print(f"Preparing {self.name} in {self.data_dir} ...")

    def _log_download_done(self) -> None:
        if self._downloads():
            super()._log_download_done()

    def _describe(self, features: dict[str, Any], **kwargs: Any) -> tfds.core.DatasetInfo:
        facts = self.data_set.facts
        return tfds.core.DatasetInfo(
            builder=self,
            description=self.data_set.about,
            features=tfds.features.FeaturesDict(features),
            homepage=facts.source if facts.source.startswith("https") else _PAPER,
            citation=self.data_set.citation,
            license=facts.licence,
            # The order of the raw files, so that a split by seed does not depend on how a TFDS version hashes keys.
            disable_shuffling=True,
            **kwargs,
        )


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
        directory = self.local_directory()
        if directory is None and self.MANUAL_DOWNLOAD_INSTRUCTIONS:
            directory = self._manual_directory(dl_manager)
        if directory is not None:
            return [require_raw(directory, self.data_set.source.folder, file) for file in files]
        paths = dl_manager.download([file.url for file in files])
        return [file.at(Path(path)) for path, file in zip(paths, files, strict=True)]

    def _manual_directory(self, dl_manager: tfds.download.DownloadManager) -> Path:
        try:
            return Path(dl_manager.manual_dir)
        except AssertionError:  # TFDS's reaction to a missing or empty folder.
            raise FileNotFoundError(
                f"`raw_dir` or {RAW_DIR_VARIABLE} must be set: {self.MANUAL_DOWNLOAD_INSTRUCTIONS}"
            ) from None

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


class ImageBuilder(RawDirBuilder, skip_registration=True):  # type: ignore[call-arg]  # TFDS untyped
    """A builder for images, some of whose original classes are positive; subclasses add the data set."""

    data_set: ClassVar[DataSet[ImageSource]]

    def _info(self) -> tfds.core.DatasetInfo:
        source = self.data_set.source
        return self._describe(
            {
                # Not tfds.features.Image: as PNG, images of this size take several times as long to write and to
                # read, and save only a quarter of the space.
                "image": tfds.features.Tensor(shape=source.shape, dtype=np.uint8, encoding="bytes"),
                "label": tfds.features.ClassLabel(names=["negative", "positive"]),
                f"{source.original}_label": tfds.features.ClassLabel(names=list(source.classes)),
            },
            supervised_keys=("image", "label"),
        )

    def _split_generators(self, dl_manager: tfds.download.DownloadManager) -> dict[str, Iterator[Example]]:
        directory = self.local_directory()
        splits = self._download() if directory is None else self.data_set.source.read(directory)
        labels = np.concatenate([self._labels(part) for part in splits.values()])
        check_counts(self.data_set.facts, labels, f"The raw files of {self.data_set.facts.name}")
        return {split: self._generate_examples(part) for split, part in splits.items()}

    def _labels(self, part: Images) -> Array:
        return np.isin(part.classes, self.data_set.source.positive_ids)

    def _download(self) -> dict[str, Images]:
        """Lets TFDS download and prepare its own data set, and restores the order of the official files."""
        builder = tfds.builder(self.data_set.source.original, data_dir=self.data_dir_root)
        builder.download_and_prepare()
        splits = {}
        for split in ("train", "test"):
            records = read_records(builder, split)
            order = np.argsort(records["id"])
            splits[split] = Images(records["image"][order], records["label"][order])
        return splits

    def _generate_examples(self, part: Images) -> Iterator[Example]:
        original = f"{self.data_set.source.original}_label"
        for row, (image, label, index) in enumerate(zip(part.images, self._labels(part), part.classes, strict=True)):
            yield row, {"image": image, "label": int(label), original: int(index)}


def read_records(builder: Any, split: str) -> dict[str, Array]:
    """Returns every feature of a prepared split as one array, in the order in which it was written.

    `builder.as_dataset` parses example by example and takes about twenty seconds for the 284,807 rows of
    creditcard_fraud; parsing them by the thousand takes about one.

    Args:
        builder: A TFDS builder whose features are scalars, fixed vectors, text or an `"image"`.
        split: Name of the split.

    Returns:
        Arrays by name of the feature; images as uint8.
    """
    parse = functools.partial(tf.io.parse_example, features=builder.info.features.tf_example_spec)
    files = [os.fspath(path) for path in builder.info.splits[split].filepaths]
    records = tf.data.TFRecordDataset(files).batch(_CHUNK).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    chunks = list(records.prefetch(tf.data.AUTOTUNE).as_numpy_iterator())
    arrays = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
    if "image" in arrays:
        arrays["image"] = _decode_images(arrays["image"], builder.info.features["image"])
    return arrays


def _decode_images(encoded: Array, feature: Any) -> Array:
    """Decodes images that are stored as PNG, as in TFDS's own data sets, or as plain bytes, as in ours."""
    if not isinstance(feature, tfds.features.Image):
        return np.frombuffer(b"".join(encoded), "uint8").reshape(-1, *feature.shape)
    images = tf.data.Dataset.from_tensor_slices(encoded).map(tf.io.decode_png, num_parallel_calls=tf.data.AUTOTUNE)
    return np.concatenate(list(images.batch(_CHUNK).as_numpy_iterator()))
