"""Thresholds and offsets that maximise a score on data: `tune_threshold`, and what it returns."""

from keras_softsets.decisions._tuned import ThresholdCurve as ThresholdCurve
from keras_softsets.decisions._tuned import TunedThreshold as TunedThreshold
from keras_softsets.decisions._tuned import TunedThresholdWithCurve as TunedThresholdWithCurve
from keras_softsets.tuning._tune import tune_threshold as tune_threshold
