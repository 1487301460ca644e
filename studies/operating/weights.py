"""How much of the gain at an operating point is a class weight: cross-entropy of a linear model, any weight.

A guided form of `SoftPrecisionAtRecall` would be cross-entropy with two class weights; the best of all weights bounds
it. This was added when all other results of the study were known. Weights of a positive are 1/4, 1/2, ..., 1,024 times
that of a negative; the one with the best score on validation data is tested. The solver is scikit-learn's, until it has
converged, nearly without a penalty.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from keras_softsets import evaluate
from studies.engine.evaluation import sigmoid
from studies.harness.store import Line
from studies.harness.study import Job, Study, product
from studies.operating import DATA, SPLITS, load
from studies.operating.training import MIN_RECALL, Part

RATIOS = tuple(2.0**k for k in range(-2, 11))


def area(part: Part, logits: np.ndarray) -> float:
    """The mean precision over recalls from 0.95 to 1, in %."""
    return 100 * evaluate(part.y[:, 0], sigmoid(logits), "pr_auc", min_recall=MIN_RECALL)


def _train(job: Job) -> Iterator[Line]:
    from sklearn.linear_model import LogisticRegression

    for trial in job.trials:
        split, found = load(job.key["data"], trial, job.raw_dir), []
        for ratio in RATIOS:
            model = LogisticRegression(C=1e4, class_weight={0: 1.0, 1: ratio}, max_iter=1000)
            model.fit(split.train.x, split.train.y[:, 0])
            scores = [area(part, model.decision_function(part.x)) for part in (split.validation, split.test)]
            found.append({"trial": trial, "weight": ratio, "validation": scores[0], "test": scores[1]})
        yield max(found, key=lambda line: line["validation"])


STUDY = Study(
    "operating_weights",
    "how much of the gain at an operating point the best class weight has, for a linear model",
    ("data", "trial"),
    product(data=DATA),
    _train,
    trials=SPLITS,
    minutes=0.2,
)
