"""TFDS builders of binary image tasks."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import tensorflow_datasets as tfds

from keras_softsets.datasets._builder import Example, RawDirBuilder
from keras_softsets.datasets._data_set import DataSet
from keras_softsets.datasets._description import check_counts
from keras_softsets.datasets._files import raw_directory
from keras_softsets.datasets._images import Images, ImageSource
from keras_softsets.datasets._records import read_records
from keras_softsets.datasets._tables import Array


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
        directory = raw_directory(self.raw_dir)
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
