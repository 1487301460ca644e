"""What the data sets are: the facts that `describe` shows and that every preparation is checked against."""

from typing import NamedTuple


class Description(NamedTuple):
    """Facts about one data set, train, validation and test part together.

    Attributes:
        name: What `load` takes.
        size: Number of samples.
        positives: Number of samples of the positive class.
        features: Number of values for each sample.
        source: Where the data come from.
        licence: Licence as listed by the source; check there before you redistribute.
    """

    name: str
    size: int
    positives: int
    features: int
    source: str
    licence: str

    def __str__(self) -> str:
        """Returns one line of a table."""
        balance = f"{self.positives:>6,} positive ({self.positives / self.size:>6.2%})"
        return f"{self.name:<22} {self.size:>7,} samples, {balance}, {self.features:>4} features; {self.licence}"


_CIFAR10 = {"source": "https://www.cs.toronto.edu/~kriz/cifar.html", "licence": "none stated; cite the report"}
_SYNTHETIC = {"source": "generated", "licence": "Apache-2.0"}

CATALOG = {
    description.name: description
    for description in (
        Description(
            "adult", 48_842, 11_687, 13, source="https://archive.ics.uci.edu/dataset/2/adult", licence="CC BY 4.0"
        ),
        Description("cifar10_frog", 60_000, 6_000, 3_072, **_CIFAR10),
        Description("cifar10_transportation", 60_000, 24_000, 3_072, **_CIFAR10),
        Description(
            "cocktail_party",
            4_800,
            1_454,
            22,
            source="https://tev.fbk.eu/technologies/cocktailparty-dataset-multi-view-dataset-social-behavior-analysis",
            licence="research or academic purposes only; cite Zen et al., 2010",
        ),
        Description(
            "creditcard_fraud",
            284_807,
            492,
            29,
            source="https://www.kaggle.com/datasets/mlg-ulb/creditcardfraud",
            licence="Database Contents License (DbCL) 1.0",
        ),
        Description("mammography", 11_183, 260, 6, source="https://www.openml.org/d/310", licence="public"),
        Description("synthetic_05", 5_250, 250, 3, **_SYNTHETIC),
        Description("synthetic_33", 7_500, 2_500, 3, **_SYNTHETIC),
    )
}


def describe() -> list[Description]:
    """Lists the data sets that `load` knows, in alphabetical order.

    Returns:
        One named tuple (name, size, positives, features, source, licence) for each data set; printed, it is a line.

    Examples:
        >>> mammography = describe()[5]
        >>> mammography.name, mammography.size, mammography.positives, mammography.features
        ('mammography', 11183, 260, 6)
        >>> print(mammography)
        mammography             11,183 samples,    260 positive ( 2.32%),    6 features; public
    """
    return list(CATALOG.values())


def lookup(name: str) -> Description:
    """Returns the facts about the data set called `name`.

    Raises:
        ValueError: If there is no such data set.
    """
    if name not in CATALOG:
        raise ValueError(f"`name` must be one of {', '.join(CATALOG)}. Received: name={name!r}")
    return CATALOG[name]


def check_counts(expected: Description, size: int, positives: int, where: str) -> None:
    """Raises a `ValueError` if the content found `where` has other numbers of samples than the published data set."""
    if (size, positives) != (expected.size, expected.positives):
        raise ValueError(
            f"{where} must hold {expected.size:,} samples, {expected.positives:,} of them positive, "
            f"received {size:,} and {positives:,}."
        )
