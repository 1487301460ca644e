"""Blends: several weighted losses on one output, each exact and each visible in the logs."""

from keras_softsets.blends._blend import BlendedLoss as BlendedLoss
from keras_softsets.blends._loss_for import loss_for as loss_for
from keras_softsets.blends._metrics import GuidedPart as GuidedPart
from keras_softsets.blends._metrics import MeanPart as MeanPart
from keras_softsets.blends._metrics import SetPart as SetPart
from keras_softsets.blends._schedule import BlendSchedule as BlendSchedule
