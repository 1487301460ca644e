"""Thresholds and offsets that maximise a score on data: `tune_threshold`, and what it returns."""

from keras_softsets.thresholds._results import ThresholdCurve as ThresholdCurve
from keras_softsets.thresholds._results import TunedThreshold as TunedThreshold
from keras_softsets.thresholds._results import TunedThresholdWithCurve as TunedThresholdWithCurve
from keras_softsets.thresholds._tune import tune_threshold as tune_threshold
