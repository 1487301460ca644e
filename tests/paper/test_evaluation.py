"""What is reported about a classifier is what scikit-learn computes."""

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


def test_a_threshold_is_tuned_on_validation_data(rng):
    labels = [(rng.random(300) < 0.3).astype("float32") for _ in range(2)]
    logits = [rng.normal(size=300) + y - 2 for y in labels]
    validation, test = zip(labels, logits, strict=True)
    values = evaluation.read("probabilities", validation, test)
    probabilities = [1 / (1 + np.exp(-z)) for z in logits]
    scores = [metrics.f1_score(labels[0], probabilities[0] >= threshold) for threshold in probabilities[0]]
    assert values["threshold"] < 0.4
    found = metrics.f1_score(labels[0], probabilities[0] >= values["threshold"])
    np.testing.assert_allclose(found, max(scores))
    np.testing.assert_allclose(values["f1_tuned"], metrics.f1_score(labels[1], probabilities[1] >= values["threshold"]))


def test_logits_are_thresholded_as_they_are(rng):
    labels, logits = (rng.random(200) < 0.5).astype("float32"), rng.normal(size=200)
    values = evaluation.read("logits", (labels, logits), (labels, logits))
    np.testing.assert_allclose(values["f1_at_half"], metrics.f1_score(labels, logits >= 0.5))
    assert np.isnan(values["threshold"])
    assert np.isnan(values["f1_tuned"])
