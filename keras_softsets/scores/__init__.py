"""Scores of a confusion matrix: one small function each, from cells to a value, higher is better.

A score of one threshold maps cells of shape (thresholds, classes) to values of the same shape; a curve score reads the
whole threshold axis and gives one value for each class. Scores of the c x c matrix are declared with
`@score(of="classes")`. The loss (1 - score), the metric, the threshold tuner, the table in the documentation and the
property tests all follow from the registry. 0 / 0 is 0, with a zero gradient: use `ratio` for divisions and
`square_root` for roots.

Examples:
    >>> @score
    ... def fraud_savings(cells, alert_cost=0.02):
    ...     return ratio(cells.tp - alert_cost * cells.predicted_positives, cells.positives, cells)
    >>> get("fraud_savings", alert_cost=0.05)
    fraud_savings(alert_cost=0.05)
"""

from keras_softsets.matrices import ratio as ratio
from keras_softsets.matrices import square_root as square_root
from keras_softsets.scores._classes import kappa as kappa
from keras_softsets.scores._classes import multiclass_accuracy as multiclass_accuracy
from keras_softsets.scores._classes import multiclass_cost as multiclass_cost
from keras_softsets.scores._classes import multiclass_mcc as multiclass_mcc
from keras_softsets.scores._curves import average_precision as average_precision
from keras_softsets.scores._curves import pr_auc as pr_auc
from keras_softsets.scores._curves import roc_auc as roc_auc
from keras_softsets.scores._formulas import accuracy as accuracy
from keras_softsets.scores._formulas import balanced_accuracy as balanced_accuracy
from keras_softsets.scores._formulas import cohen_kappa as cohen_kappa
from keras_softsets.scores._formulas import cost as cost
from keras_softsets.scores._formulas import f1 as f1
from keras_softsets.scores._formulas import f_beta as f_beta
from keras_softsets.scores._formulas import g_mean as g_mean
from keras_softsets.scores._formulas import jaccard as jaccard
from keras_softsets.scores._formulas import mcc as mcc
from keras_softsets.scores._formulas import precision as precision
from keras_softsets.scores._formulas import recall as recall
from keras_softsets.scores._formulas import specificity as specificity
from keras_softsets.scores._formulas import tversky as tversky
from keras_softsets.scores._formulas import youden_j as youden_j
from keras_softsets.scores._registry import Score as Score
from keras_softsets.scores._registry import get as get
from keras_softsets.scores._registry import names as names
from keras_softsets.scores._registry import score as score
