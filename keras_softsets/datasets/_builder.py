"""What the TFDS builders of all data sets share: `raw_dir` and their metadata."""

import os
from typing import Any, ClassVar

import tensorflow_datasets as tfds
from etils import epath

from keras_softsets.datasets._data_set import DataSet

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
    # TFDS would find it with importlib_resources, which 4.9.10 does not install (tensorflow/datasets#11212).
    code_path = epath.Path(__file__)
    data_set: ClassVar[DataSet[Any]]

    def __init__(self, *, raw_dir: str | os.PathLike[str] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.raw_dir = raw_dir
        self._original_state["raw_dir"] = raw_dir  # TFDS pickles a builder by the arguments that it finds here.

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
