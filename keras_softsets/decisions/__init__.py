"""How probabilities become decisions, as values: a threshold, several, one for each class, or the largest class.

Losses, metrics, `evaluate`, `confusion_matrix`, plots and `export_classifier` take a decision as `threshold`:

| `threshold=` | meaning | rows of cells |
|---|---|---|
| `0.3` | positive from 0.3 up | 1 |
| `[0.1, ..., 0.9]` | a sweep: the score is averaged over it; a curve score reads it whole | one for each threshold |
| `PerClass([0.2, 0.7, 0.4])` | one threshold for each class; what `tune_threshold` returns for several classes | 1 |
| `Argmax(temperature=1.0)`, `"argmax"` | the largest class wins | 1 |
| `Argmax(costs=[[0, 1], [50, 0]])` | the class of least expected cost wins | 1 |
| `AtRecall(0.95)`, `AtPrecision`, `AtSpecificity` | wherever that rate is reached | one for each rate |
"""

import sys

from keras_softsets.decisions import _decision, _tuned
from keras_softsets.decisions._at_rate import AtPrecision as AtPrecision
from keras_softsets.decisions._at_rate import AtRate as AtRate
from keras_softsets.decisions._at_rate import AtRecall as AtRecall
from keras_softsets.decisions._at_rate import AtSpecificity as AtSpecificity
from keras_softsets.decisions._decision import Argmax as Argmax
from keras_softsets.decisions._decision import Decision as Decision
from keras_softsets.decisions._decision import get as get
from keras_softsets.decisions._tuned import PerClass as PerClass

# The paths in pickles of earlier versions; other decisions are pickled with their public path.
sys.modules[f"{__name__}._thresholds"], sys.modules[f"{__name__}._resolve"] = _decision, _tuned
