"""Synthetic data: two isotropic Gaussian blobs in three dimensions, with most of the positives removed.

The paper gives the standard deviation, 10, and the 10,000 points before the removal, but not the centres. Here they
are two standard deviations apart, so that no classifier can exceed an AUROC of 0.92. The points come from a fixed seed;
the seed of `load` changes only how they are split.
"""

import math

import numpy as np

from keras_softsets.datasets._data_set import DataSet, Description, Table, TableSource
from keras_softsets.datasets._tables import table

_POINTS = 5_000  # of each class
_DEVIATION = 10.0
_CENTRE = _DEVIATION / math.sqrt(3)  # of the positives, on each axis; the negatives' is opposite
_COLUMNS = ("x", "y", "z")


def blobs(positives: int) -> Table:
    """Returns 5,000 negatives and a random choice of `positives` among 5,000 positives."""
    # RandomState, because NumPy promises that its stream of numbers never changes.
    random = np.random.RandomState(0)
    negative = random.normal(-_CENTRE, _DEVIATION, (_POINTS, len(_COLUMNS)))
    positive = random.normal(_CENTRE, _DEVIATION, (_POINTS, len(_COLUMNS)))
    kept = np.sort(random.permutation(_POINTS)[:positives])
    labels = np.repeat([0, 1], [_POINTS, positives])
    return table(np.concatenate([negative, positive[kept]]), labels)


_CITATION = """@inproceedings{tsoi2022bridging,
  author = {Tsoi, Nathan and Candon, Kate and Li, Deyuan and Milkessa, Yofti and V{\\'a}zquez, Marynel},
  title = {Bridging the Gap: Unifying the Training and Evaluation of Neural Network Binary Classifiers},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2022},
}"""


def _with(name: str, positives: int) -> DataSet[TableSource]:
    return DataSet(
        Description(name, _POINTS + positives, positives, len(_COLUMNS), source="generated", licence="Apache-2.0"),
        about=(
            "Two Gaussian blobs of standard deviation 10 in three dimensions, "
            f"5,000 negatives and {positives:,} positives."
        ),
        citation=_CITATION,
        source=TableSource(columns=_COLUMNS, read=lambda _: {"train": blobs(positives)}),
    )


SYNTHETIC_05 = _with("synthetic_05", positives=250)
SYNTHETIC_33 = _with("synthetic_33", positives=2_500)
