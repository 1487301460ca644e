"""Blends: several weighted losses on one output, each exact and each visible in the logs."""

from keras_softsets.blends._blend import BlendedLoss as BlendedLoss
