"""The former name of `keras_softsets.tuning`."""

import sys

from keras_softsets.decisions import _tuned as _results
from keras_softsets.tuning import ThresholdCurve as ThresholdCurve
from keras_softsets.tuning import TunedThreshold as TunedThreshold
from keras_softsets.tuning import TunedThresholdWithCurve as TunedThresholdWithCurve
from keras_softsets.tuning import tune_threshold as tune_threshold

sys.modules[f"{__name__}._results"] = _results  # the path in pickles of earlier versions
