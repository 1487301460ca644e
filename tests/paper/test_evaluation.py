"""What is reported of a classifier is what scikit-learn says of it."""

import numpy as np
from sklearn import metrics

from benchmarks.paper.methods import evaluation


def test_metrics_are_those_of_scikit_learn(rng):
    labels, outputs = (rng.random(200) < 0.2).astype("float32"), rng.random(200)
    ours = evaluation.evaluate(labels, outputs, tuned=0.3)
    at = [outputs >= threshold for threshold in evaluation.THRESHOLDS]
    pairs = {
        "mean_f1": np.mean([metrics.f1_score(labels, p) for p in at]),
        "mean_f3": np.mean([metrics.fbeta_score(labels, p, beta=3) for p in at]),
        "mean_accuracy": np.mean([metrics.accuracy_score(labels, p) for p in at]),
        "mean_balanced_accuracy": np.mean([metrics.roc_auc_score(labels, p) for p in at]),  # the paper's "AUROC"
        "mean_precision": np.mean([metrics.precision_score(labels, p) for p in at]),
        "f1_tuned": metrics.f1_score(labels, outputs >= 0.3),
        "f1_at_half": metrics.f1_score(labels, outputs >= 0.5),
    }
    for name, expected in pairs.items():
        np.testing.assert_allclose(ours[name], expected, err_msg=name)
