"""The results that the tuner returns."""

from typing import NamedTuple

import numpy as np

from keras_softsets.decisions import Argmax, PerClass


class ThresholdCurve(NamedTuple):
    """A score at every threshold that decides differently.

    Attributes:
        thresholds: In ascending order, from "all positive" to "none positive".
        scores: The score at each of them; NaN where it does not meet `at_least`.
    """

    thresholds: np.ndarray
    scores: np.ndarray


class TunedThreshold(NamedTuple):
    """The best threshold.

    Attributes:
        threshold: A float, an array-like `PerClass` with a threshold for each class, or an `Argmax` with offsets.
        score: The score that it reaches: a float, or an array.
    """

    threshold: float | PerClass | Argmax
    score: float | np.ndarray


class TunedThresholdWithCurve(NamedTuple):
    """The best threshold, and the curve from which it was chosen.

    Attributes:
        threshold: A float, or an array-like `PerClass` with a threshold for each class.
        score: The score that it reaches: a float, or an array.
        curve: A `ThresholdCurve`, or a tuple with one for each class.
    """

    threshold: float | PerClass | Argmax
    score: float | np.ndarray
    curve: ThresholdCurve | tuple[ThresholdCurve, ...]
