"""The TFDS builders behind `load`, for use with TensorFlow Datasets directly.

    import tensorflow_datasets as tfds
    import keras_softsets.datasets.builders

    dataset = tfds.load("mammography", split="train")

The examples are `{"features": float32 vector, "label": class id}` for tables and `{"image", "label", "cifar10_label"}`
for images. They are preprocessed as in the paper and in the order of the raw files, but neither split nor standardised;
`load` does that. `wine_quality`, which `tfds.load` knows as `"wine_quality_white"`, also has the grade, `"quality"`.

Every data set has a class here, named after it: `Adult`, `CocktailParty`, `Synthetic05` and so on.
"""

from typing import TYPE_CHECKING, Any

from keras_softsets.datasets._catalog import CATALOG
from keras_softsets.datasets._data_set import DataSet, TableSource
from keras_softsets.datasets._tfds import ImageBuilder, RawDirBuilder, TableBuilder


def _builder(data_set: DataSet[Any]) -> type[RawDirBuilder]:
    """Returns the builder class of a data set: `CocktailParty` for `cocktail_party`."""
    base = TableBuilder if isinstance(data_set.source, TableSource) else ImageBuilder
    class_name = "".join(word.capitalize() for word in data_set.facts.name.split("_"))
    attributes = {
        "__doc__": data_set.about,
        "__module__": __name__,  # where pickle looks for it
        "name": data_set.tfds_name,
        "data_set": data_set,
    }
    return type(class_name, (base,), attributes)


BUILDERS = {name: _builder(data_set) for name, data_set in CATALOG.items()}
globals().update({builder.__name__: builder for builder in BUILDERS.values()})

if TYPE_CHECKING:

    def __getattr__(name: str) -> type[RawDirBuilder]:
        """Tells type checkers what the classes of this module are."""
