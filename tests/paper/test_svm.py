"""The structural SVMs: their constraints against trying everything, one of them against scikit-learn."""

import itertools

import numpy as np
import pytest

from benchmarks.paper.methods.svm import constraints, cutting_planes, method
from benchmarks.paper.methods.svm.constraints import VIOLATIONS


def labellings(n):
    return np.array(list(itertools.product([0, 1], repeat=n)), dtype="float64")


def violation_by_trying_everything(name, y, scores):
    """The largest Delta - w . (Psi(y) - Psi(y')) over all labellings, or over all subsets of swapped pairs."""
    positives = y.sum()
    if name == "svm_roc":
        gaps = scores[y == 1][:, None] - scores[y == 0][None]
        return np.maximum(0, 1 - gaps).mean()
    if name == "svm_error":
        return max((wrong := other != y).mean() - (wrong * (2 * y - 1) * scores).mean() for other in labellings(len(y)))
    f1 = [2 * (y * other).sum() / (positives + other.sum()) for other in labellings(len(y))]
    psi = [(other - y) @ scores / positives for other in labellings(len(y))]
    return max(1 - f + p for f, p in zip(f1, psi, strict=True))


@pytest.mark.parametrize("name", VIOLATIONS)
def test_the_most_violated_constraint_is_found(name):
    for seed in range(20):
        random = np.random.default_rng(seed)
        x, y, w = random.normal(size=(9, 3)), (np.arange(9) < 1 + seed % 5).astype("float64"), random.normal(size=3)
        gap, loss = VIOLATIONS[name](x, y, x @ w)
        np.testing.assert_allclose(loss - gap @ w, violation_by_trying_everything(name, y, x @ w), atol=1e-9)


def test_the_error_svm_is_the_usual_svm(rng):
    from sklearn.svm import SVC

    y = (np.arange(60) % 3 == 0).astype("float64")
    x = np.c_[rng.normal(size=(60, 2)) + y[:, None], np.ones(60)]
    weights = cutting_planes.fit(x, y, constraints.error_constraint, cost=30.0)

    def objective(w):
        return w @ w / 2 + 30 * np.maximum(0, 1 - (2 * y - 1) * (x @ w)).mean()

    machine = SVC(C=0.5, kernel="precomputed", tol=1e-6).fit(x @ x.T, y)  # C / n, bias in the features
    dual = machine.dual_coef_[0] @ x[machine.support_]
    assert objective(weights) <= objective(dual) + 30 * cutting_planes.TOLERANCE + 0.05


@pytest.mark.parametrize("name", VIOLATIONS)
def test_svms_separate_what_is_separable(name, trials):
    shifted = trials._replace(
        **{
            part: getattr(trials, part)._replace(x=getattr(trials, part).x + 4 * getattr(trials, part).y[:, :, None])
            for part in ("train", "validation", "test")
        }
    )
    line = method.trial_line(name, shifted, 1)
    assert line["trial"] == 5
    assert line["auroc"] == 1
    if name != "svm_roc":  # a ranking has no threshold
        assert line["mean_f1"] > 0.95


def test_the_cost_is_the_one_that_validation_data_choose(trials, monkeypatch):
    """One of the costs says the opposite of what training and test data say, as the validation data do."""
    separating = np.ones(trials.train.x.shape[-1] + 1)
    monkeypatch.setattr(method, "fit", lambda x, y, find, cost: -separating if cost == 100.0 else separating)
    contrary = trials._replace(validation=trials.validation._replace(y=1 - trials.validation.y))
    line = method.trial_line("svm_roc", contrary, 0)
    assert line["cost"] == 100.0
    assert line["auroc"] < 0.5
    assert "validation_loss" not in line
