"""Metrics: the same scores on cells that are accumulated over batches and replicas, so an epoch's value is exact.

The default, `heaviside="step"`, gives the usual metric; `heaviside="linear"` gives the soft score that a loss
optimises, over the whole epoch instead of as a mean over batches.
"""

from keras_softsets._evaluation import CURVE_THRESHOLDS as CURVE_THRESHOLDS
from keras_softsets.metrics._base import CellsMetric as CellsMetric
from keras_softsets.metrics._calibration import BrierScore as BrierScore
from keras_softsets.metrics._calibration import CalibrationError as CalibrationError
from keras_softsets.metrics._confusion import Confusion as Confusion
from keras_softsets.metrics._confusion import MulticlassConfusion as MulticlassConfusion
from keras_softsets.metrics._named import AUPRC as AUPRC
from keras_softsets.metrics._named import AUROC as AUROC
from keras_softsets.metrics._named import F1 as F1
from keras_softsets.metrics._named import MCC as MCC
from keras_softsets.metrics._named import Accuracy as Accuracy
from keras_softsets.metrics._named import AveragePrecision as AveragePrecision
from keras_softsets.metrics._named import BalancedAccuracy as BalancedAccuracy
from keras_softsets.metrics._named import FBeta as FBeta
from keras_softsets.metrics._named import GMean as GMean
from keras_softsets.metrics._named import Jaccard as Jaccard
from keras_softsets.metrics._named import Kappa as Kappa
from keras_softsets.metrics._named import MulticlassMCC as MulticlassMCC
from keras_softsets.metrics._named import Precision as Precision
from keras_softsets.metrics._named import Recall as Recall
from keras_softsets.metrics._named import Specificity as Specificity
from keras_softsets.metrics._named import Tversky as Tversky
from keras_softsets.metrics._operating import OperatingPointMetric as OperatingPointMetric
from keras_softsets.metrics._operating import PrecisionAtRecall as PrecisionAtRecall
from keras_softsets.metrics._operating import RecallAtPrecision as RecallAtPrecision
from keras_softsets.metrics._operating import SensitivityAtSpecificity as SensitivityAtSpecificity
from keras_softsets.metrics._operating import SpecificityAtSensitivity as SpecificityAtSensitivity
from keras_softsets.metrics._several import Scores as Scores
from keras_softsets.metrics._soft_set import NamedMetric as NamedMetric
from keras_softsets.metrics._soft_set import SoftSetMetric as SoftSetMetric
