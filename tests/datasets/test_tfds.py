"""TFDS's own checks of a builder, `tfds.testing.DatasetBuilderTestCase`, for every one of ours."""

import tempfile
from pathlib import Path

import pytest
import tensorflow_datasets as tfds
from raw_files import MADE_UP, expect_made_up

from keras_softsets.datasets._data_set import TableSource
from keras_softsets.datasets.builders import BUILDERS

pytest.importorskip("dill", reason="tfds.testing imports dill, which TFDS does not install")


class BuilderCase(tfds.testing.DatasetBuilderTestCase):
    """TFDS's checks on made-up files, which its faked download manager hands out."""

    __test__ = False

    @classmethod
    def setUpClass(cls):
        cls.patch = pytest.MonkeyPatch()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.EXAMPLE_DIR = folder.name
        facts = cls.DATASET_CLASS.data_set.facts
        if facts.name in MADE_UP:
            expect_made_up(cls.patch, facts.name)
            MADE_UP[facts.name].write(Path(cls.EXAMPLE_DIR))
            cls.SPLITS = MADE_UP[facts.name].splits
        else:  # Generated data need no files.
            cls.SPLITS = {"train": facts.size}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        cls.patch.undo()
        super().tearDownClass()


class ImageCase(BuilderCase):
    """Images are read from `raw_dir`: without it TFDS would download its own builder's."""

    __test__ = False

    def _make_builder(self, config=None):
        return self.DATASET_CLASS(data_dir=self.tmp_dir, config=config, raw_dir=self.EXAMPLE_DIR)


def case(builder):
    """Returns the test case of a builder."""
    attributes = {"__test__": True, "__module__": __name__, "DATASET_CLASS": builder}
    source = builder.data_set.source
    if not isinstance(source, TableSource):
        return type(f"Test{builder.__name__}", (ImageCase,), attributes)
    downloads = [file for file in source.files if file.url]
    if downloads:
        attributes["DL_DOWNLOAD_RESULT"] = tuple(file.names[0] for file in downloads)
    # Where no official digest is known, the parsed content is checked instead.
    attributes["SKIP_CHECKSUMS"] = any(file.sha256 is None for file in downloads)
    attributes["OVERLAPPING_SPLITS"] = ("test",) if builder.__name__ == "Adult" else ()  # Its made-up files share rows.
    return type(f"Test{builder.__name__}", (BuilderCase,), attributes)


globals().update({f"Test{builder.__name__}": case(builder) for builder in BUILDERS.values()})
