"""What tests of several classes share: batches, streams, scikit-learn's scores and float64 transcriptions."""

import warnings

import numpy as np
import reference
from sklearn import metrics as sk

NAN = float("nan")
# By the names of our scores: of the decided classes, averaged over those that exist.
AVERAGED = {
    "f1": sk.f1_score,
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "jaccard": sk.jaccard_score,
}


def _kappa(weights):
    # Without `labels`, scikit-learn drops absent classes, and their neighbours move together.
    return lambda y, d, classes, **k: sk.cohen_kappa_score(y, d, labels=range(classes), weights=weights, **k)


# Of true and decided classes and the number of classes.
OF_THE_MATRIX = {
    "multiclass_accuracy": ({}, lambda y, d, classes, **k: sk.accuracy_score(y, d, **k)),
    "multiclass_mcc": ({}, lambda y, d, classes, **k: sk.matthews_corrcoef(y, d, **k)),
    "kappa": ({}, _kappa(None)),
    "kappa linear": ({"weights": "linear"}, _kappa("linear")),
    "kappa quadratic": ({"weights": "quadratic"}, _kappa("quadratic")),
}


def classes_batch(n=150, classes=4, seed=0, *, absent=()):
    """Class ids of uneven frequency, float32 probabilities that know something about them, and weights.

    Classes in `absent` are neither true nor ever the largest.
    """
    random = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, classes + 1)
    share[list(absent)] = 0
    ids = random.choice(classes, n, p=share / share.sum())
    p = random.dirichlet(np.ones(classes), n) + 0.4 * np.eye(classes)[ids] * random.random((n, 1))
    p[:, list(absent)] = 0
    p = (p / p.sum(1, keepdims=True)).astype("float32")
    return ids, p, random.uniform(0.1, 2, n).astype("float32")


def streamed(metric, y, p, w=None, sizes=(1, 6, 50)):
    """The result of a metric that saw the data in uneven batches."""
    for rows in np.split(np.arange(len(p)), np.cumsum(sizes)):
        metric.update_state(y[rows], p[rows], None if w is None else w[rows])
    return np.asarray(metric.result())


def scikit_learn(function, *args, **options):
    """A score of scikit-learn, without its warnings about 0 / 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


def reference_loss(name, ids, w, temperature, *, logits, offsets=0.0, average="macro", **parameters):
    """1 - score as a function of predictions, in float64 NumPy."""

    def loss(p):
        y = np.eye(p.shape[-1])[ids]
        matrix = reference.counts(y, reference.shares(p, temperature, offsets, logits=logits), w)
        if name in reference.MATRIX_SCORES:
            return 1 - reference.MATRIX_SCORES[name](matrix, **parameters)
        return 1 - reference.score(name, reference.one_vs_rest(matrix), average, **parameters)

    return loss
