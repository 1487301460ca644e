"""Losses: 1 - score of the soft confusion matrix of the batch, over all replicas.

`SoftSetLoss` turns any score in `keras_softsets.scores`, or your own function, into a loss; the common scores have a
named class. Weights, `class_weight` and masks enter the cells, never the finished loss.
"""

from keras_softsets._evaluation import PAPER_THRESHOLDS as PAPER_THRESHOLDS
from keras_softsets.losses._base import NamedLoss as NamedLoss
from keras_softsets.losses._base import SoftSetLoss as SoftSetLoss
from keras_softsets.losses._guided import GuidedCrossentropy as GuidedCrossentropy
from keras_softsets.losses._guided import GuidedWeights as GuidedWeights
from keras_softsets.losses._named import SoftAccuracy as SoftAccuracy
from keras_softsets.losses._named import SoftAUPRC as SoftAUPRC
from keras_softsets.losses._named import SoftAUROC as SoftAUROC
from keras_softsets.losses._named import SoftAveragePrecision as SoftAveragePrecision
from keras_softsets.losses._named import SoftBalancedAccuracy as SoftBalancedAccuracy
from keras_softsets.losses._named import SoftF1 as SoftF1
from keras_softsets.losses._named import SoftFBeta as SoftFBeta
from keras_softsets.losses._named import SoftGMean as SoftGMean
from keras_softsets.losses._named import SoftJaccard as SoftJaccard
from keras_softsets.losses._named import SoftKappa as SoftKappa
from keras_softsets.losses._named import SoftMCC as SoftMCC
from keras_softsets.losses._named import SoftMulticlassMCC as SoftMulticlassMCC
from keras_softsets.losses._named import SoftPrecision as SoftPrecision
from keras_softsets.losses._named import SoftRecall as SoftRecall
from keras_softsets.losses._named import SoftSpecificity as SoftSpecificity
from keras_softsets.losses._named import SoftTversky as SoftTversky
from keras_softsets.losses._operating import OperatingPointLoss as OperatingPointLoss
from keras_softsets.losses._operating import SoftPrecisionAtRecall as SoftPrecisionAtRecall
from keras_softsets.losses._operating import SoftRecallAtPrecision as SoftRecallAtPrecision
from keras_softsets.losses._operating import SoftSensitivityAtSpecificity as SoftSensitivityAtSpecificity
from keras_softsets.losses._operating import SoftSpecificityAtSensitivity as SoftSpecificityAtSensitivity
