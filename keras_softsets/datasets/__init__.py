"""The paper's data sets and a few more: real, imbalanced, and loaded in one line.

    from keras_softsets import datasets

    train, validation, test = datasets.load("mammography")
    x, y = train

`describe()` lists them. The first `load` downloads the official files (or reads them from `raw_dir`), checks them and
stores them with TensorFlow Datasets; later calls only read. `wine_quality` comes with the package and the synthetic
sets are generated, so these need no download. For `tfds.load`, the TFDS builders are in
`keras_softsets.datasets.builders`.

This module is cheap to import: TensorFlow Datasets, Pillow and tqdm are imported by `load`. They come with
`pip install "keras-softsets[datasets]"`.
"""

from keras_softsets.datasets._catalog import describe as describe
from keras_softsets.datasets._data_set import Description as Description
from keras_softsets.datasets._load import Splits as Splits
from keras_softsets.datasets._load import load as load
