"""From labels and predictions to the value of a score: `evaluate`, and the path behind losses and metrics."""

from keras_softsets.evaluation._evaluate import evaluate as evaluate
from keras_softsets.evaluation._evaluation import CURVE_THRESHOLDS as CURVE_THRESHOLDS
from keras_softsets.evaluation._evaluation import PAPER_THRESHOLDS as PAPER_THRESHOLDS
from keras_softsets.evaluation._evaluation import AverageLike as AverageLike
from keras_softsets.evaluation._evaluation import Evaluation as Evaluation
from keras_softsets.evaluation._evaluation import ScoreLike as ScoreLike
from keras_softsets.evaluation._evaluation import saved_name as saved_name
from keras_softsets.evaluation._signatures import signature_of as signature_of
