"""Callbacks: early stopping on a window of epochs, with a crash-safe journal, and schedules for blends."""

from keras_softsets.callbacks._blend_schedule import BlendSchedule as BlendSchedule
from keras_softsets.callbacks._early_stopping import WindowedEarlyStopping as WindowedEarlyStopping
