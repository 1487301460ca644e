"""Train Keras models on the metric you report: soft confusion-matrix losses, exact metrics and tools around them."""

from keras_softsets.cli import arguments as _arguments  # noqa: F401  (answers --help before TensorFlow is imported)

# isort: split
from keras_softsets import calibration as calibration
from keras_softsets import datasets as datasets
from keras_softsets import decisions as decisions
from keras_softsets import metrics as metrics
from keras_softsets import models as models
from keras_softsets import plots as plots
from keras_softsets import scores as scores
from keras_softsets import thresholds as thresholds  # the former name of `tuning`
from keras_softsets.blends import BlendedLoss as BlendedLoss
from keras_softsets.blends import BlendSchedule as BlendSchedule
from keras_softsets.blends import loss_for as loss_for
from keras_softsets.callbacks import WindowedEarlyStopping as WindowedEarlyStopping
from keras_softsets.comparison import Comparison as Comparison
from keras_softsets.comparison import compare as compare
from keras_softsets.confusion import ConfusionMatrix as ConfusionMatrix
from keras_softsets.confusion import confusion_matrix as confusion_matrix
from keras_softsets.decisions import Argmax as Argmax
from keras_softsets.decisions import AtPrecision as AtPrecision
from keras_softsets.decisions import AtRecall as AtRecall
from keras_softsets.decisions import AtSpecificity as AtSpecificity
from keras_softsets.decisions import PerClass as PerClass
from keras_softsets.evaluation import evaluate as evaluate
from keras_softsets.export import as_classifier as as_classifier
from keras_softsets.export import export_classifier as export_classifier
from keras_softsets.heaviside import Heaviside as Heaviside
from keras_softsets.heaviside import LinearHeaviside as LinearHeaviside
from keras_softsets.heaviside import SigmoidHeaviside as SigmoidHeaviside
from keras_softsets.heaviside import StepHeaviside as StepHeaviside
from keras_softsets.heaviside import TabulatedHeaviside as TabulatedHeaviside
from keras_softsets.intervals import Estimate as Estimate
from keras_softsets.losses import GuidedCrossentropy as GuidedCrossentropy
from keras_softsets.losses import SoftAccuracy as SoftAccuracy
from keras_softsets.losses import SoftAUPRC as SoftAUPRC
from keras_softsets.losses import SoftAUROC as SoftAUROC
from keras_softsets.losses import SoftAveragePrecision as SoftAveragePrecision
from keras_softsets.losses import SoftBalancedAccuracy as SoftBalancedAccuracy
from keras_softsets.losses import SoftF1 as SoftF1
from keras_softsets.losses import SoftFBeta as SoftFBeta
from keras_softsets.losses import SoftGMean as SoftGMean
from keras_softsets.losses import SoftJaccard as SoftJaccard
from keras_softsets.losses import SoftKappa as SoftKappa
from keras_softsets.losses import SoftMCC as SoftMCC
from keras_softsets.losses import SoftMulticlassMCC as SoftMulticlassMCC
from keras_softsets.losses import SoftPrecision as SoftPrecision
from keras_softsets.losses import SoftPrecisionAtRecall as SoftPrecisionAtRecall
from keras_softsets.losses import SoftRecall as SoftRecall
from keras_softsets.losses import SoftRecallAtPrecision as SoftRecallAtPrecision
from keras_softsets.losses import SoftSensitivityAtSpecificity as SoftSensitivityAtSpecificity
from keras_softsets.losses import SoftSetLoss as SoftSetLoss
from keras_softsets.losses import SoftSpecificity as SoftSpecificity
from keras_softsets.losses import SoftSpecificityAtSensitivity as SoftSpecificityAtSensitivity
from keras_softsets.losses import SoftTversky as SoftTversky
from keras_softsets.multiclass import MulticlassMatrix as MulticlassMatrix
from keras_softsets.multiclass import multiclass_confusion_matrix as multiclass_confusion_matrix
from keras_softsets.scores import score as score
from keras_softsets.testing import check_score as check_score
from keras_softsets.tuning import tune_threshold as tune_threshold

__version__ = "0.1.0"
__all__ = [
    "Argmax",
    "AtPrecision",
    "AtRecall",
    "AtSpecificity",
    "BlendSchedule",
    "BlendedLoss",
    "Comparison",
    "ConfusionMatrix",
    "Estimate",
    "GuidedCrossentropy",
    "Heaviside",
    "LinearHeaviside",
    "MulticlassMatrix",
    "PerClass",
    "SigmoidHeaviside",
    "SoftAUPRC",
    "SoftAUROC",
    "SoftAccuracy",
    "SoftAveragePrecision",
    "SoftBalancedAccuracy",
    "SoftF1",
    "SoftFBeta",
    "SoftGMean",
    "SoftJaccard",
    "SoftKappa",
    "SoftMCC",
    "SoftMulticlassMCC",
    "SoftPrecision",
    "SoftPrecisionAtRecall",
    "SoftRecall",
    "SoftRecallAtPrecision",
    "SoftSensitivityAtSpecificity",
    "SoftSetLoss",
    "SoftSpecificity",
    "SoftSpecificityAtSensitivity",
    "SoftTversky",
    "StepHeaviside",
    "TabulatedHeaviside",
    "WindowedEarlyStopping",
    "as_classifier",
    "calibration",
    "check_score",
    "compare",
    "confusion_matrix",
    "datasets",
    "decisions",
    "evaluate",
    "export_classifier",
    "loss_for",
    "metrics",
    "models",
    "multiclass_confusion_matrix",
    "plots",
    "score",
    "scores",
    "tune_threshold",
]
