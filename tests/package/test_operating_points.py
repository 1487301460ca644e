"""Operating points in `evaluate`, metrics and the tuner: equal to brute force over all distinct probabilities."""

import keras
import numpy as np
import pytest
import reference
from cases import NINE
from sklearn import metrics as sk

from keras_softsets import (
    AtPrecision,
    AtRecall,
    AtSpecificity,
    PerClass,
    SoftPrecisionAtRecall,
    SoftRecallAtPrecision,
    SoftSensitivityAtSpecificity,
    SoftSpecificityAtSensitivity,
    TabulatedHeaviside,
    confusion_matrix,
    decisions,
    evaluate,
    metrics,
    scores,
    tune_threshold,
)
from keras_softsets.operating import FloatBins

AT = {"recall": AtRecall, "precision": AtPrecision, "specificity": AtSpecificity}
ONE_THRESHOLD = [name for name in reference.SCORES if not scores.get(name).curve]
RATES = (0.1, 0.5, 0.9, 0.95, 1.0)


def every_cut(y, p, w=None):
    """Cells of every decision rule, (4, rules, 1), and the thresholds."""
    cuts = [*np.unique(p), np.inf]
    y, w = np.asarray(y, "float64"), np.ones(len(y)) if w is None else np.asarray(w, "float64")
    called = np.array([p >= cut for cut in cuts], "float64")
    rows = [called @ (w * y), called @ (w * (1 - y)), (1 - called) @ (w * y), (1 - called) @ (w * (1 - y))]
    return np.array(rows)[:, :, None], cuts


def brute_force(score, rate, least, y, p, w=None):
    """The best value among all rules that meet the rate; 0 if none does."""
    matrix, _ = every_cut(y, p, w)
    met = reference.SCORES[rate](*matrix)[:, 0] >= least - 1e-12
    return max(reference.SCORES[score](*matrix)[met, 0], default=0.0)


def data(rng, n, ties=False, dtype="float32"):
    y = rng.integers(0, 2, n)
    p = np.clip(0.3 * y + rng.normal(0.35, 0.3, n), 0, 1)
    return y, (np.round(p, 1) if ties else p).astype(dtype), rng.integers(1, 4, n).astype("float32")


@pytest.mark.parametrize("rate", AT)
@pytest.mark.parametrize("score", ONE_THRESHOLD)
def test_evaluate_is_brute_force(score, rate, rng):
    """Samples without and with ties are two classes, which are independent; and then there are few samples."""
    y, p, w = (np.stack(pair, 1) for pair in zip(data(rng, 60), data(rng, 60, ties=True)))
    for least in RATES:
        check_brute_force(score, rate, [least], y, p)
    check_brute_force(score, rate, RATES, y, p, w)
    for weight in (None, w[:7, 1]):
        check_brute_force(score, rate, RATES, y[:7, 1], p[:7, 1], weight)


def check_brute_force(score, rate, rates, y, p, w=None):
    assert (y.mean(0) > 0).all()
    assert (y.mean(0) < 1).all()
    classes = zip(*(np.atleast_2d(x.T) for x in (y, p, np.ones(y.shape) if w is None else w)))
    expected = [np.mean([brute_force(score, rate, least, *each) for least in rates]) for each in classes]
    found = evaluate(y, p, score, w, threshold=AT[rate](rates), average=None)
    np.testing.assert_allclose(np.ravel(found), expected, rtol=0, atol=1e-12)


def test_metrics_have_the_names_and_values_of_keras(rng):
    y, p, w = data(rng, 400)
    p = np.round(p * 199) / 199  # the thresholds of Keras
    for name, rate in (
        ("PrecisionAtRecall", 0.8),
        ("RecallAtPrecision", 0.8),
        ("SensitivityAtSpecificity", 0.8),
        ("SpecificityAtSensitivity", 0.8),
    ):
        theirs = getattr(keras.metrics, name)(rate, num_thresholds=200)
        ours = getattr(metrics, name)(rate)
        assert ours.name == theirs.name.rstrip("_0123456789")
        theirs.update_state(y, p + 1e-4, w)  # Keras says p > threshold
        assert float(ours(y, p, w)) == pytest.approx(float(theirs.result()), abs=1e-6)


def test_rates_are_averaged_and_classes_have_thresholds_of_their_own(rng):
    y, p = rng.integers(0, 2, (80, 3)), rng.random((80, 3)).astype("float32")
    each = [[brute_force("precision", "recall", least, y[:, k], p[:, k]) for k in range(3)] for least in (0.5, 0.9)]
    found = evaluate(y, p, "precision", threshold=AtRecall([0.5, 0.9]), average=None)
    np.testing.assert_allclose(found, np.mean(each, 0), rtol=1e-12)
    metric = metrics.PrecisionAtRecall([0.5, 0.9], average=None)
    np.testing.assert_allclose(metric(y, p), np.mean(each, 0), rtol=1e-3)
    low, high = metric.threshold()
    assert isinstance(low, PerClass)
    assert len(high) == 3
    weighted = evaluate(y, p, "precision", threshold=AtRecall(0.5), average="weighted")
    assert weighted == pytest.approx(np.average(each[0], weights=y.sum(0)))


def test_micro_sums_the_cells_of_the_classes_thresholds(rng):
    y, p = rng.integers(0, 2, (50, 2)), rng.random((50, 2)).astype("float32")
    tuned = [tune_threshold(y[:, k], p[:, k], "precision", at_least={"recall": 0.7}).threshold for k in range(2)]
    cells = reference.cells(y, p >= np.float32(tuned), heaviside=reference.step).sum(-1)
    expected = cells[0] / (cells[0] + cells[1])
    assert evaluate(y, p, "precision", threshold=AtRecall(0.7), average="micro") == pytest.approx(expected.item())


# ---------------------------------------------------------------------------------------------------- without meaning


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_a_rate_without_meaning_is_zero_division(zero_division):
    options = dict(zero_division=zero_division)
    for label, decision in ((0, AtRecall(0.9)), (0, AtPrecision(0.9)), (1, AtSpecificity(0.9))):
        y = np.full(4, label)
        assert evaluate(y, [0.1, 0.2, 0.7, 0.9], "accuracy", threshold=decision, **options) == zero_division
        metric = metrics.SoftSetMetric("accuracy", threshold=decision, **options)
        assert float(metric(y, [0.1, 0.2, 0.7, 0.9])) == zero_division


def test_absent_classes_can_be_left_out():
    y, p = np.array([[0, 0], [1, 0], [1, 0]]), np.array([[0.6, 0.5], [0.4, 0.5], [0.9, 0.5]])
    options = dict(threshold=AtRecall(0.9), score="precision")
    assert evaluate(y, p, **options) == pytest.approx(1 / 3)
    assert evaluate(y, p, zero_division="ignore", **options) == pytest.approx(2 / 3)


def test_a_precision_out_of_reach_is_zero_and_nothing_is_positive():
    y, p = [1, 0, 0], [0.2, 0.8, 0.9]
    assert evaluate(y, p, "recall", threshold=AtPrecision(0.9)) == 0
    assert evaluate(y, p, "accuracy", threshold=AtPrecision(0.9), zero_division=1.0) == 0
    metric = metrics.RecallAtPrecision(0.9)
    assert float(metric(y, p)) == 0
    assert metric.threshold() == np.inf


# ------------------------------------------------------------------------------------------------------------ metrics


def distributions(rng, n):
    y = (rng.random(n) < 0.2).astype("float32")
    z = 2 * rng.normal(size=n) + 3 * y

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    return y, {
        "spread": sigmoid(z - 2),
        "uniform": np.clip(0.2 * y + 0.8 * rng.random(n), 0, 1),
        "saturated at 1e-6": sigmoid(z - 14),
        "saturated at 1 - 1e-6": sigmoid(z + 14),
        "both ends": sigmoid(6 * z),
        "below 1e-10": 2.0 ** np.round(z - 40),
        "ties": np.round(sigmoid(z), 1),
        "all equal": np.full(n, 0.3),
        "all 0": np.zeros(n),
        "all 1": np.ones(n),
    }


@pytest.mark.parametrize("rate", AT)
def test_metrics_are_within_a_ten_thousandth_for_every_distribution(rate, rng):
    y, kinds = distributions(rng, 30_000)
    p = np.stack(list(kinds.values()), 1).astype("float32")
    y = np.repeat(y[:, None], len(kinds), 1)
    for score, least in (("precision", 0.95), ("recall", 0.8), ("specificity", 0.95), ("f1", 0.3)):
        if score != rate:
            check_metric(score, AT[rate](least), y, p)
    check_metric("f1", AT[rate](0.3), y[:, :1], p[:, :1])


def check_metric(score, decision, y, p):
    """Class by class, it is hardly below the exact value, and exactly what its threshold reaches."""
    exact = evaluate(y, p, score, threshold=decision, average=None)
    metric = metrics.SoftSetMetric(score, threshold=decision, average=None, dtype="float64")
    found = keras.ops.convert_to_numpy(metric(y, p))
    assert (exact - 1e-4 <= found).all(), (exact, found)
    digits = 1e-12 if found.dtype == "float64" else 1e-6  # JAX has no float64 in metrics
    assert (found <= exact + digits).all(), (exact, found)
    cells = reference.cells(y, p >= np.float32(metric.threshold()), heaviside=reference.step)
    (reached,) = reference.SCORES[score](*cells)
    np.testing.assert_allclose(found, np.where(found, reached, 0), rtol=0, atol=digits)


@pytest.mark.parametrize("bits", [2, 3, 5, 8, 12])
def test_every_float_is_in_the_bin_whose_edge_is_below_it(rng, bits):
    bins = FloatBins(bits)
    edges = bins.thresholds[::-1]
    assert len(edges) == bins.size
    assert (np.diff(edges) > 0).all()
    near = [np.nextafter(np.float32(x), np.float32(to)) for x in edges[1::997] for to in (0, 2)]
    p = np.concatenate([edges, near, rng.random(10_000), 10.0 ** rng.uniform(-38, 0, 10_000), [0, 1, 0.5, 1e-45, -0.0]])
    p = np.clip(p, 0, 1).astype("float32")
    expected = np.searchsorted(edges, p, side="right") - 1
    np.testing.assert_array_equal(bins.bin_of(keras.ops.convert_to_tensor(p)), expected)


def test_batches_merged_metrics_and_weights_add_up(rng):
    y, p, w = data(rng, 90)
    whole, parts = metrics.PrecisionAtRecall(0.8), [metrics.PrecisionAtRecall(0.8) for _ in range(2)]
    expected = float(whole(y, p, w))
    for k, part in enumerate((slice(0, 20), slice(20, 60), slice(60, 90))):
        parts[k % 2].update_state(y[part], p[part], w[part])
    parts[0].merge_state(parts[1:])
    assert float(parts[0].result()) == expected
    assert parts[0].threshold() == whole.threshold()
    copies = metrics.PrecisionAtRecall(0.8)
    assert float(copies(np.repeat(y, w.astype(int)), np.repeat(p, w.astype(int)))) == expected
    whole.reset_state()
    assert float(whole.result()) == 0


def test_logits_and_nan(rng):
    y, z = rng.integers(0, 2, 50), rng.normal(size=50).astype("float32")
    p = keras.ops.convert_to_numpy(keras.ops.sigmoid(z))
    assert float(metrics.RecallAtPrecision(0.6, from_logits=True)(y, z)) == float(metrics.RecallAtPrecision(0.6)(y, p))
    p[3] = np.nan
    assert np.isnan(float(metrics.RecallAtPrecision(0.6)(y, p)))
    assert np.isnan(evaluate(y, p, "recall", threshold=AtPrecision(0.6)))
    with pytest.raises(ValueError, match="`y_pred` must hold probabilities"):
        metrics.RecallAtPrecision(0.6)(y, 10 * z)


def test_several_scores_at_one_operating_point(rng):
    y, p, _ = data(rng, 60)
    found = metrics.Scores(["precision", "f1"], threshold=AtRecall(0.9))(y, p)
    for score in ("precision", "f1"):
        assert float(found[score]) == pytest.approx(brute_force(score, "recall", 0.9, y, p))


# ------------------------------------------------------------------------------------------------------------- tuner


@pytest.mark.parametrize("score", ONE_THRESHOLD)
def test_the_tuner_meets_its_rules_and_is_brute_force(score, rng):
    for ties in (False, True):
        y, p, w = data(rng, 40, ties)
        rules = {"recall": 0.6, "specificity": 0.3, scores.f_beta(beta=2): 0.2}
        tuned = tune_threshold(y, p, score, w, at_least=rules, curve=True)
        matrix, _ = every_cut(y, p, w)
        met = np.all([
            reference.SCORES["recall"](*matrix) >= 0.6,
            reference.SCORES["specificity"](*matrix) >= 0.3,
            reference.SCORES["f_beta"](*matrix, beta=2) >= 0.2,
        ], 0)[:, 0]  # fmt: skip
        values = reference.SCORES[score](*matrix)[:, 0]
        assert tuned.score == pytest.approx(values[met].max(), abs=1e-12)
        np.testing.assert_allclose(tuned.curve.scores, np.where(met, values, np.nan), atol=1e-12)
        assert evaluate(y, p, score, w, threshold=tuned.threshold) == pytest.approx(tuned.score)


def test_several_classes_are_tuned_each_under_the_rules(rng):
    y, p = rng.integers(0, 2, (60, 3)), rng.random((60, 3)).astype("float32")
    tuned = tune_threshold(y, p, "precision", at_least={"recall": 0.8})
    assert isinstance(tuned.threshold, PerClass)
    assert (evaluate(y, p, "recall", threshold=tuned.threshold, average=None) >= 0.8).all()
    expected = [brute_force("precision", "recall", 0.8, y[:, k], p[:, k]) for k in range(3)]
    np.testing.assert_allclose(tuned.score, expected)


def test_rules_out_of_reach_say_what_is_within():
    y, p = [1, 0, 1, 0], [0.2, 0.4, 0.6, 0.8]
    with pytest.raises(ValueError, match=r"the best is precision of 0\.5\. Received: precision of 0.9"):
        tune_threshold(y, p, "recall", at_least={"precision": 0.9})
    with pytest.raises(ValueError, match=r"best is recall of 0.5, specificity of 0, each where the others are"):
        tune_threshold(y, p, "f1", at_least={"recall": 1.0, "specificity": 0.5})
    for wrong in ({"roc_auc": 0.5}, {"recall": "high"}, [("recall", 0.5)], {"recoil": 0.5}, {"kappa": 0.1}):
        with pytest.raises(ValueError, match=r"^(A key of )?`at_least(\['recall'\])?` must"):
            tune_threshold(y, p, at_least=wrong)


# ------------------------------------------------------------------------------------------------------ partial areas


@pytest.mark.parametrize("max_fpr", [0.01, 0.1, 0.37, 0.9, 1.0])
def test_partial_auroc_is_scikit_learns(max_fpr, rng):
    for ties in (False, True):
        y, p, w = data(rng, 200, ties)
        for weight in (None, w):
            expected = sk.roc_auc_score(y, p, sample_weight=weight, max_fpr=max_fpr)
            assert evaluate(y, p, "roc_auc", weight, max_fpr=max_fpr) == pytest.approx(expected, abs=1e-12)
    assert evaluate([0, 1], [0.2, 0.7], "roc_auc", max_fpr=max_fpr) == pytest.approx(1)


@pytest.mark.parametrize("min_recall", [0.0, 0.3, 0.95])
def test_partial_auprc_is_the_mean_precision_over_those_recalls(min_recall, rng):
    y, p, _ = data(rng, 300)
    matrix, _ = every_cut(y, p)
    matrix = matrix[:, :-1]  # something is called
    recall, precision = (reference.SCORES[name](*matrix)[::-1, 0] for name in ("recall", "precision"))
    grid = np.linspace(min_recall, 1, 200_001)
    expected = np.interp(grid, np.append(0, recall), np.append(precision[:1], precision))
    # At equal recalls the highest threshold comes first, and is where the line starts.
    assert evaluate(y, p, "pr_auc", min_recall=min_recall) == pytest.approx(expected.mean(), abs=1e-4)
    assert evaluate(y, y, "pr_auc", min_recall=min_recall) == pytest.approx(1)
    assert evaluate(y, 0.3 + 0 * p, "pr_auc", min_recall=min_recall) == pytest.approx(y.mean())


def test_partial_areas_have_arguments_in_losses_and_metrics(rng):
    from keras_softsets import SoftAUPRC, SoftAUROC

    y, p, _ = data(rng, 100)
    for loss, metric, score, part in (
        (SoftAUROC, metrics.AUROC, "roc_auc", {"max_fpr": 0.2}),
        (SoftAUPRC, metrics.AUPRC, "pr_auc", {"min_recall": 0.6}),
    ):
        soft = evaluate(y, p, score, heaviside="linear", threshold=NINE, **part)
        assert float(loss(**part)(y, p)) == pytest.approx(1 - soft, rel=1e-5)
        assert float(metric(**part)(y, p)) == pytest.approx(evaluate(y, p, score, **part), abs=0.05)
        for made in (loss(**part), metric(**part), loss(), metric()):
            again = type(made).from_config(made.get_config())
            assert again.get_config() == made.get_config()
            assert float(again(y, p)) == float(made(y, p))
    for wrong in ({"max_fpr": 0.0}, {"max_fpr": 1.1}):
        with pytest.raises(ValueError, match="`max_fpr` must be"):
            SoftAUROC(**wrong)
    with pytest.raises(ValueError, match="`min_recall` must be"):
        SoftAUPRC(min_recall=1.0)


# ------------------------------------------------------------------------------------------------- values and errors


@pytest.mark.parametrize("decision", [AtRecall(0.9), AtPrecision([0.5, 0.75]), AtSpecificity(np.float32(0.5))], ids=str)
def test_decisions_are_values_that_can_be_saved(decision):
    assert decisions.get(decision.config()) == decision
    assert hash(decisions.get(decision.config())) == hash(decision)
    assert decision != AtRecall(0.1)


def test_cells_at_the_boundary():
    y, p = [0, 1, 0, 1, 0], [0.1, 0.4, 0.5, 0.6, 0.9]
    for decision, expected in (
        (AtRecall(1.0), 0.4),
        (AtRecall(0.5), 0.6),
        (AtSpecificity(0.6), 0.55),
        (AtPrecision(0.5), 0.4),
    ):
        found = confusion_matrix(y, p, threshold=decision, heaviside="step")
        np.testing.assert_array_equal(found, confusion_matrix(y, p, threshold=expected, heaviside="step"))


@pytest.mark.parametrize("rate", [0, 1.5, [0.5, 2], None, "high"])
def test_a_rate_is_named_as_in_the_class_that_takes_it(rate):
    kinds = {
        "recall": (SoftPrecisionAtRecall, metrics.PrecisionAtRecall),
        "precision": (SoftRecallAtPrecision, metrics.RecallAtPrecision),
        "specificity": (SoftSensitivityAtSpecificity, metrics.SensitivityAtSpecificity),
        "sensitivity": (SoftSpecificityAtSensitivity, metrics.SpecificityAtSensitivity),
    }
    for name, kind in [(name, kind) for name, pair in kinds.items() for kind in pair]:
        with pytest.raises(
            ValueError, match=f"^`{name}` must be a .* greater than 0 and at most 1.* Received: {name}="
        ):
            kind(rate)


def test_bad_arguments_are_named():
    for wrong in (0.0, 1.1, -0.5, "high", [], [0.5, 2], None, np.nan, True):
        with pytest.raises((ValueError, TypeError)):
            AtRecall(wrong)
    with pytest.raises(ValueError, match="`recall` must be a finite number greater than 0 and at most 1"):
        AtRecall(1.5)
    with pytest.raises(ValueError, match="must not depend on the data with score='roc_auc'"):
        evaluate([0, 1], [0.1, 0.9], "roc_auc", threshold=AtRecall(0.5))
    with pytest.raises(ValueError, match="must not depend on the data with per_sample=True"):
        metrics.F1(threshold=AtRecall(0.5), per_sample=True)
    with pytest.raises(ValueError, match="`heaviside` must not be a table"):
        evaluate([0, 1], [0.1, 0.9], threshold=AtRecall(0.5), heaviside=TabulatedHeaviside())
    with pytest.raises(ValueError, match="it follows from `recall`"):
        metrics.PrecisionAtRecall(0.5, threshold=0.5)
    for metric in (metrics.F1(), metrics.PrecisionAtRecall(0.5)):
        with pytest.raises(ValueError, match=r"`threshold\(\)` must be called on a metric at an operating point"):
            metric.threshold()
