"""Callbacks: early stopping on a window of epochs, with a crash-safe journal, and schedules for blends."""

from keras_softsets.blends import BlendSchedule as BlendSchedule
from keras_softsets.callbacks._early_stopping import WindowedEarlyStopping as WindowedEarlyStopping
