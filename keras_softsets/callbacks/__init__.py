"""Callbacks: early stopping on a window of epochs, with a journal that survives being killed."""

from keras_softsets.callbacks._early_stopping import WindowedEarlyStopping as WindowedEarlyStopping
