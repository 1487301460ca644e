"""The TFDS builders behind `load`, for those who want TensorFlow Datasets itself.

    import tensorflow_datasets as tfds
    import keras_softsets.datasets.builders

    dataset = tfds.load("mammography", split="train")

The examples are `{"features": float32 vector, "label": 0 or 1}` for tables and `{"image", "label", "cifar10_label"}`
for pictures: preprocessed as in the paper and in the order of the raw files, but neither split nor standardised, which
is what `load` adds. A class docstring is the description that TFDS shows.
"""

from keras_softsets.datasets import _adult, _cocktail_party, _creditcard, _mammography, _synthetic
from keras_softsets.datasets._builder import Cifar10Builder, RawDirBuilder, TableBuilder
from keras_softsets.datasets._catalog import CATALOG


class Adult(TableBuilder):
    """Census income: does a person earn more than 50,000 dollars a year?

    The 1994 census extract of the UCI repository, both official files (the splits `train` and `test`). The weight
    `fnlwgt` is left out; a category is encoded as its place in the alphabetical list, `?` (missing) included.
    """

    source = _adult.SOURCE


class Mammography(TableBuilder):
    """Microcalcifications in mammograms: six features of a candidate region, 2.32 % positives."""

    source = _mammography.SOURCE


class CreditcardFraud(TableBuilder):
    """Fraud among card transactions of two days in September 2013, 0.17 % positives.

    28 anonymous components and the logarithm of one plus the amount; the time of a transaction is left out.
    """

    source = _creditcard.SOURCE


class CocktailParty(TableBuilder):
    """Do two people at a party stand in different conversational groups?

    15 pairs in each of 320 annotated frames with six people. The 22 features are positions and directions in the
    pair's own frame: of the pair x, cosine and sine, of the other four x, y, cosine and sine. A pair that does not
    share a group is positive.
    """

    MANUAL_DOWNLOAD_INSTRUCTIONS = f"""
    get tracking_hp.log and grouping.ref of the CocktailParty data set, which has no direct download, from
    {CATALOG["cocktail_party"].source} and put them into that folder or into cocktailparty/ in it.
    """
    source = _cocktail_party.SOURCE


class Synthetic33(TableBuilder):
    """Two Gaussian blobs of standard deviation 10 in three dimensions, 5,000 negatives and 2,500 positives."""

    name = "synthetic_33"
    source = _synthetic.source(CATALOG["synthetic_33"].positives)


class Synthetic05(TableBuilder):
    """Two Gaussian blobs of standard deviation 10 in three dimensions, 5,000 negatives and 250 positives."""

    name = "synthetic_05"
    source = _synthetic.source(CATALOG["synthetic_05"].positives)


class Cifar10Transportation(Cifar10Builder):
    """CIFAR-10 with airplane, automobile, ship and truck as the positive class, 40 % of the pictures."""

    positive = ("airplane", "automobile", "ship", "truck")


class Cifar10Frog(Cifar10Builder):
    """CIFAR-10 with frog as the positive class, 10 % of the pictures."""

    positive = ("frog",)


BUILDERS: dict[str, type[RawDirBuilder]] = {
    builder.name: builder
    for builder in (
        Adult,
        Cifar10Frog,
        Cifar10Transportation,
        CocktailParty,
        CreditcardFraud,
        Mammography,
        Synthetic05,
        Synthetic33,
    )
}
