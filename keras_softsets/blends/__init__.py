"""Blends: several losses on one output, weighted, each exact, and each seen in the logs."""

from keras_softsets.blends._blend import BlendedLoss as BlendedLoss
