"""All data sets, a line each: `describe` lists them, `load` looks them up.

Every `DataSet` that is imported here is in the catalog.
"""

from typing import Any

from keras_softsets.datasets._data_set import DataSet, Description
from keras_softsets.datasets.sets.adult import ADULT as ADULT
from keras_softsets.datasets.sets.cifar10 import CIFAR10_FROG as CIFAR10_FROG
from keras_softsets.datasets.sets.cifar10 import CIFAR10_TRANSPORTATION as CIFAR10_TRANSPORTATION
from keras_softsets.datasets.sets.cocktail_party import COCKTAIL_PARTY as COCKTAIL_PARTY
from keras_softsets.datasets.sets.creditcard_fraud import CREDITCARD_FRAUD as CREDITCARD_FRAUD
from keras_softsets.datasets.sets.letter import LETTER as LETTER
from keras_softsets.datasets.sets.mammography import MAMMOGRAPHY as MAMMOGRAPHY
from keras_softsets.datasets.sets.spambase import SPAMBASE as SPAMBASE
from keras_softsets.datasets.sets.synthetic import SYNTHETIC_05 as SYNTHETIC_05
from keras_softsets.datasets.sets.synthetic import SYNTHETIC_33 as SYNTHETIC_33
from keras_softsets.datasets.sets.wine_quality import WINE_QUALITY as WINE_QUALITY

_IMPORTED: list[DataSet[Any]] = [value for value in list(globals().values()) if isinstance(value, DataSet)]
CATALOG = {data_set.facts.name: data_set for data_set in sorted(_IMPORTED, key=lambda each: each.facts.name)}


def describe() -> list[Description]:
    """Lists the data sets that `load` knows, in alphabetical order.

    Returns:
        One named tuple (name, size, positives, features, source, licence, classes) for each data set; printed, it is
        a line.

    Examples:
        >>> facts = {each.name: each for each in describe()}
        >>> mammography = facts["mammography"]
        >>> mammography.size, mammography.positives, mammography.features, mammography.classes
        (11183, 260, 6, 2)
        >>> facts["wine_quality"].positives, facts["wine_quality"].classes
        ((183, 1457, 2198, 880, 180), 5)
        >>> for name in ("letter", "mammography"):
        ...     print(facts[name])
        letter                  20,000 samples,   26 classes, 734 to 813,   16 features; CC BY 4.0
        mammography             11,183 samples,    260 positive ( 2.32%),    6 features; public
    """
    return [data_set.facts for data_set in CATALOG.values()]


def lookup(name: str) -> DataSet[Any]:
    """Returns the data set called `name`.

    Raises:
        ValueError: If there is no such data set.
    """
    if name not in CATALOG:
        raise ValueError(f"`name` must be one of {', '.join(CATALOG)}. Received: name={name!r}")
    return CATALOG[name]
