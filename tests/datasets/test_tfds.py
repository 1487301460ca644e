"""TFDS's own checks of a builder, `tfds.testing.DatasetBuilderTestCase`, for every one of ours."""

import tempfile
from pathlib import Path

import pytest
import tensorflow_datasets as tfds
from raw_files import MADE_UP, expect_made_up

from keras_softsets.datasets.builders import (
    Adult,
    Cifar10Frog,
    Cifar10Transportation,
    CocktailParty,
    CreditcardFraud,
    Letter,
    Mammography,
    Spambase,
    Synthetic05,
    Synthetic33,
    WineQuality,
)

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
        name = cls.DATASET_CLASS.data_set.facts.name
        if name in MADE_UP:
            expect_made_up(cls.patch, name)
            MADE_UP[name].write(Path(cls.EXAMPLE_DIR))
            cls.SPLITS = MADE_UP[name].splits
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        cls.patch.undo()
        super().tearDownClass()


class TestAdult(BuilderCase):
    __test__ = True
    DATASET_CLASS = Adult
    DL_DOWNLOAD_RESULT = ("adult.data", "adult.test")
    OVERLAPPING_SPLITS = ("test",)  # The made-up files share rows.


class TestCreditcardFraud(BuilderCase):
    __test__ = True
    DATASET_CLASS = CreditcardFraud
    DL_DOWNLOAD_RESULT = ("creditcard.csv",)


class TestLetter(BuilderCase):
    __test__ = True
    DATASET_CLASS = Letter
    DL_DOWNLOAD_RESULT = ("letter-recognition.data",)


class TestMammography(BuilderCase):
    __test__ = True
    DATASET_CLASS = Mammography
    DL_DOWNLOAD_RESULT = ("mammography.csv",)
    SKIP_CHECKSUMS = True  # No official digest is known; the parsed content is checked instead.


class TestCocktailParty(BuilderCase):
    __test__ = True
    DATASET_CLASS = CocktailParty


class TestSpambase(BuilderCase):
    __test__ = True
    DATASET_CLASS = Spambase
    DL_DOWNLOAD_RESULT = ("spambase.data",)


class TestSynthetic05(BuilderCase):
    __test__ = True
    DATASET_CLASS = Synthetic05
    SPLITS = {"train": 5_250}  # noqa: RUF012 - TFDS reads a plain dict


class TestSynthetic33(BuilderCase):
    __test__ = True
    DATASET_CLASS = Synthetic33
    SPLITS = {"train": 7_500}  # noqa: RUF012 - TFDS reads a plain dict


class TestWineQuality(BuilderCase):
    __test__ = True
    DATASET_CLASS = WineQuality
    DL_DOWNLOAD_RESULT = ("winequality-white.csv",)


class Cifar10Case(BuilderCase):
    __test__ = False

    def _make_builder(self, config=None):
        return self.DATASET_CLASS(data_dir=self.tmp_dir, config=config, raw_dir=self.EXAMPLE_DIR)


class TestCifar10Frog(Cifar10Case):
    __test__ = True
    DATASET_CLASS = Cifar10Frog


class TestCifar10Transportation(Cifar10Case):
    __test__ = True
    DATASET_CLASS = Cifar10Transportation
