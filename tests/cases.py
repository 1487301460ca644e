"""What several test files need: the named losses and metrics, thresholds, batches, and scikit-learn's scores."""

import numpy as np
from sklearn import metrics as sk

from keras_softsets import LinearHeaviside, SigmoidHeaviside, TabulatedHeaviside, scores
from keras_softsets.losses import PAPER_THRESHOLDS, NamedLoss
from keras_softsets.metrics import NamedMetric


def _named(base, of):
    named = [kind for kind in base.__subclasses__() if scores.get(kind.score_name).of == of]
    return sorted(named, key=lambda kind: kind.__name__)


LOSSES, CLASS_LOSSES = (_named(NamedLoss, of) for of in ("cells", "classes"))
METRICS, CLASS_METRICS = (_named(NamedMetric, of) for of in ("cells", "classes"))
NINE = PAPER_THRESHOLDS
SOFT = {
    "linear": LinearHeaviside(),
    "linear 0.2": LinearHeaviside(0.2),
    "sigmoid": SigmoidHeaviside(),
    "tabulated": TabulatedHeaviside(),
}
PARAMETERS = {"f_beta": {"beta": 2}, "tversky": {"alpha": 0.2, "beta": 0.9}}

# Of decisions, by the names of our scores; several classes are averaged as scikit-learn does.
AVERAGED = {
    "f1": sk.f1_score,
    "f_beta": lambda *args, **options: sk.fbeta_score(*args, beta=2, **options),
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "jaccard": sk.jaccard_score,
}
BINARY = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "mcc": sk.matthews_corrcoef,
    "cohen_kappa": lambda y, d, sample_weight=None: sk.cohen_kappa_score(y, d, sample_weight=sample_weight),
    "specificity": lambda y, d, sample_weight=None: sk.recall_score(1 - y, 1 - d, sample_weight=sample_weight),
}


def batch(n=200, classes=3, seed=0, weighted=True):
    """Labels of different frequency, float32 probabilities that know something about them, and weights."""
    random = np.random.default_rng(seed)
    y = (random.random((n, classes)) < np.linspace(0.15, 0.6, classes)).astype("int64")
    p = np.clip(0.3 * y + 0.7 * random.random(y.shape), 0, 1).astype("float32")
    return y, p, random.uniform(0.1, 2, n).astype("float32") if weighted else None
