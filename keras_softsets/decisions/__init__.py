"""How probabilities become decisions, as values: a threshold, several, one for each class, or the largest class.

Losses, metrics, `evaluate`, `confusion_matrix`, plots and `export_classifier` take a decision as `threshold`:

| `threshold=` | meaning | rows of cells |
|---|---|---|
| `0.3` | positive from 0.3 up | 1 |
| `[0.1, ..., 0.9]` | a sweep: the score is averaged over it; a curve score reads it whole | one for each threshold |
| `PerClass([0.2, 0.7, 0.4])` | one threshold for each class; what `tune_threshold` returns for several classes | 1 |
| `Argmax(temperature=1.0)`, `"argmax"` | the largest class wins | 1 |
| `AtRecall(0.95)`, `AtPrecision`, `AtSpecificity` | wherever that rate is reached | one for each rate |
"""

from keras_softsets.decisions._argmax import TINY as TINY
from keras_softsets.decisions._argmax import Argmax as Argmax
from keras_softsets.decisions._at_rate import AtPrecision as AtPrecision
from keras_softsets.decisions._at_rate import AtRate as AtRate
from keras_softsets.decisions._at_rate import AtRecall as AtRecall
from keras_softsets.decisions._at_rate import AtSpecificity as AtSpecificity
from keras_softsets.decisions._base import Decision as Decision
from keras_softsets.decisions._per_class import PerClass as PerClass
from keras_softsets.decisions._resolve import DecisionLike as DecisionLike
from keras_softsets.decisions._resolve import get as get
from keras_softsets.decisions._resolve import written as written
from keras_softsets.decisions._thresholds import Thresholds as Thresholds
