"""Scores: the formulas, the registry, averaging, and the conformance kit on every one of them."""

import copy
import dataclasses
import inspect
import json
import operator
import pickle

import keras
import numpy as np
import pytest
import reference
from cases import compiled, digits, of_tensorflow, since_tensorflow, with_gradient
from keras import ops

from keras_softsets import (
    ConfusionMatrix,
    MulticlassMatrix,
    SoftSetLoss,
    check_score,
    confusion_matrix,
    evaluate,
    metrics,
    score,
    scores,
    tune_threshold,
)
from keras_softsets._totals import averaged
from keras_softsets.scores._registry import RESERVED

OURS = [name for name in scores.names("cells") if hasattr(scores, name)]  # and not what docstrings register
PARAMETERS = {"f_beta": [{"beta": 0.5}, {"beta": 2}], "tversky": [{"alpha": 0.3, "beta": 0.7}, {"alpha": 1, "beta": 1}]}
CASES = [(name, parameters) for name in OURS for parameters in [{}, *PARAMETERS.get(name, [])]]


def random_cells(rng, thresholds=3, classes=4):
    return ConfusionMatrix(*rng.uniform(0.5, 100, (4, thresholds, classes)))


def gradient_in_cells(function, cells):
    stacked = ops.convert_to_tensor(np.stack(cells), "float64")
    found = with_gradient(lambda x: ops.sum(function(ConfusionMatrix(*ops.unstack(x, 4)))), stacked)[1]
    return ops.convert_to_numpy(found)


def test_every_score_has_its_reference():
    assert sorted(reference.SCORES) == sorted(OURS)


@pytest.mark.parametrize("name", OURS)
def test_conformance(name):
    assert len(check_score(name)) == 14


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=str)
def test_values_and_gradients_are_the_references(name, parameters, rng):
    p, y = rng.random((40, 4)), rng.random((40, 4)) < 0.4
    cells = reference.cells(y, p, thresholds=(0.2, 0.5, 0.8))
    function = scores.get(name, **parameters)
    np.testing.assert_allclose(
        function(ConfusionMatrix(*cells)), reference.SCORES[name](*cells, **parameters), rtol=digits(1e-10)
    )
    expected = reference.gradient(lambda c: reference.SCORES[name](*c, **parameters).sum(), cells, 1e-5)
    np.testing.assert_allclose(gradient_in_cells(function, cells), expected, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("empty", ["all", "positives", "negatives", "predicted positives", "predicted negatives"])
def test_nothing_divided_by_nothing_is_zero_with_a_quiet_gradient(name, empty):
    zero = {"all": "tp fp fn tn", "positives": "tp fn", "negatives": "fp tn"}
    zero |= {"predicted positives": "tp fp", "predicted negatives": "fn tn"}
    values = {cell: 0.0 if cell in zero[empty].split() else 5.0 for cell in ("tp", "fp", "fn", "tn")}
    cells = ConfusionMatrix(**{cell: np.full((2, 1), value) for cell, value in values.items()})
    function = scores.get(name)
    value = np.asarray(function(cells))
    assert np.isfinite(value).all()
    if not function.curve:  # what an area is without positives or negatives, the references do not say
        np.testing.assert_allclose(value, reference.SCORES[name](*cells), rtol=digits(1e-12))
    assert np.abs(gradient_in_cells(function, cells)).max() < 1e3
    if empty == "all":
        assert not function.curve or not value.any()
        assert not gradient_in_cells(function, cells).any()


def test_almost_nothing_divided_by_almost_nothing_has_its_value_and_a_bounded_gradient():
    for tiny in (1e-7, 1e-12, 1e-30, *([] if keras.config.backend() == "jax" else [1e-38])):
        cells = ConfusionMatrix(*(np.full((1, 1), cell) for cell in (tiny, 3 * tiny, 5.0, 7.0)))
        assert float(scores.precision(cells)[0, 0]) == pytest.approx(0.25)
        assert np.isfinite(gradient_in_cells(scores.precision, cells)).all()
        assert np.abs(gradient_in_cells(scores.precision, cells)).max() < 1e6
        assert np.abs(gradient_in_cells(scores.g_mean, cells)).max() < 1e3
        assert np.abs(gradient_in_cells(scores.mcc, cells)).max() < 1e7


def test_scores_do_not_depend_on_the_scale_of_the_weights(rng):
    for name in OURS:
        for scale in (1e-12, 1e-6, 1e6, 1e12):
            cells = random_cells(rng)
            scaled = ConfusionMatrix(*((scale * cell).astype("float32") for cell in cells))
            np.testing.assert_allclose(scores.get(name)(scaled), scores.get(name)(cells), rtol=1e-4, err_msg=name)


def test_identities(rng):
    cells = random_cells(rng)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=digits(1e-10))
    close(scores.f1(cells), scores.f_beta(cells, beta=1))
    close(scores.f1(cells), scores.tversky(cells))
    close(scores.jaccard(cells), scores.tversky(cells, alpha=1, beta=1))
    close(scores.f1(cells), 2 * scores.jaccard(cells) / (1 + scores.jaccard(cells)))
    close(scores.youden_j(cells), 2 * scores.balanced_accuracy(cells) - 1)
    one = ConfusionMatrix(*(cell[:1] for cell in cells))
    close(scores.roc_auc(one), scores.balanced_accuracy(one)[0])  # one threshold: two trapezia


def test_areas_of_perfect_constant_and_reversed_rankings(rng):
    y = (rng.random(400) < 0.2).astype("float32")
    thresholds = [k / 100 for k in range(1, 100)]
    for heaviside in ("step", "linear"):
        at = lambda p, h=heaviside: confusion_matrix(y, p, threshold=thresholds, heaviside=h)
        assert float(scores.roc_auc(at(y))[0]) == pytest.approx(1)
        assert float(scores.pr_auc(at(y))[0]) == pytest.approx(1)
        assert float(scores.roc_auc(at(1 - y))[0]) == pytest.approx(0, abs=1e-6)
        constant = at(np.full(400, 0.37))
        assert float(scores.roc_auc(constant)[0]) == pytest.approx(0.5)
        assert float(scores.pr_auc(constant)[0]) == pytest.approx(y.mean(), rel=1e-5)


@pytest.mark.parametrize("kind", [int, np.int64, lambda x: ops.convert_to_tensor(x, "int32"), lambda x: [[x]]])
def test_counts_are_cells_too(kind):
    cells = (4, 1, 2, 3)
    for name in OURS:
        if not scores.get(name).curve:
            expected = scores.get(name)(ConfusionMatrix(*map(float, cells)))
            np.testing.assert_allclose(np.ravel(scores.get(name)(ConfusionMatrix(*map(kind, cells)))), expected)


def test_areas_do_not_depend_on_the_order_of_the_thresholds(rng):
    y, p = rng.random((50, 2)) < 0.4, rng.random((50, 2))
    for heaviside in ("step", "linear", "sigmoid"):
        up, mixed = (
            confusion_matrix(y, p, threshold=t, heaviside=heaviside) for t in ([0.2, 0.5, 0.9], [0.5, 0.9, 0.2])
        )
        for area in (scores.roc_auc, scores.pr_auc):
            np.testing.assert_allclose(area(up), area(mixed), rtol=1e-6)


@pytest.mark.parametrize("average", ["macro", "micro", "weighted", None])
@pytest.mark.parametrize("name", OURS)
def test_averaging(name, average, rng):
    cells = reference.cells(rng.random((40, 4)) < 0.4, rng.random((40, 4)), thresholds=(0.2, 0.5, 0.8))
    value = averaged(scores.get(name), ConfusionMatrix(*map(ops.convert_to_tensor, cells)), average)
    np.testing.assert_allclose(value, reference.score(name, cells, average), rtol=digits(1e-8))


def test_a_weighted_average_without_any_positive_is_the_mean():
    zero = np.zeros((1, 3))
    cells = (zero, np.array([[2.0, 0.0, 4.0]]), zero, zero + 1)
    cells = ConfusionMatrix(*map(ops.convert_to_tensor, cells))
    assert float(averaged(scores.accuracy, cells, "weighted")) == pytest.approx((1 / 3 + 1 + 1 / 5) / 3)
    assert float(averaged(scores.f1, cells, "weighted", zero_division=1.0)) == pytest.approx(1 / 3)
    assert float(averaged(scores.f1, cells, "weighted", zero_division="ignore")) == 0


def test_a_score_of_ones_own():
    @score
    def hit_and_miss(cells, penalty=2.0):
        return scores.ratio(cells.tp, cells.tp + penalty * cells.fn, cells)

    assert "hit_and_miss" in scores.names()
    assert check_score("hit_and_miss", penalty=3)
    y, p = [0, 1, 1], [0.3, 0.4, 0.9]
    expected = float(SoftSetLoss(hit_and_miss(penalty=3))(y, p))
    assert float(SoftSetLoss("hit_and_miss", penalty=3)(y, p)) == expected
    assert float(SoftSetLoss(hit_and_miss, penalty=3)(y, p)) == expected
    assert float(metrics.SoftSetMetric("hit_and_miss", penalty=3, heaviside="linear")(y, p)) == pytest.approx(
        1 - expected
    )
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(SoftSetLoss(hit_and_miss(3))))
    assert float(again(y, p)) == expected


def test_parameters_of_numpy_are_saved_as_numbers():
    config = SoftSetLoss("f_beta", beta=np.float32(2)).get_config()
    assert json.loads(json.dumps(config["beta"])) == 2


def test_the_same_cell_of_a_notebook_may_run_twice_but_names_are_not_stolen():
    for _ in range(2):

        @score
        def run_again(cells):
            return cells.tp

    with pytest.raises(ValueError, match="must have a new name"):

        @score
        def f1(cells):
            return cells.tp

    assert scores.get("f1") is scores.f1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: scores.get("f2"), "score='f2'"),
        (lambda: scores.get(None), "score=None"),
        (lambda: scores.get("f_beta", beta=0), "beta=0"),
        (lambda: scores.get("f_beta", beta=-1), "beta=-1"),
        (lambda: scores.get("f_beta", beta="2"), "beta='2'"),
        (lambda: scores.get("f_beta", gamma=2), "gamma"),
        (lambda: scores.get("f1", beta=2), "no parameters"),
        (lambda: scores.f_beta(1, 2), "takes beta"),
        (lambda: scores.tversky(alpha=-0.1), "alpha=-0.1"),
        (lambda: evaluate([0, 1], [0.2, 0.7], average="mean"), "average='mean'"),
        (lambda: averaged(scores.get(ops.sum), ConfusionMatrix(*np.ones((4, 1, 1))), "macro"), "shape ()"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=r"must|takes") as error:
        make()
    assert message in str(error.value)


def test_the_kit_names_what_fails():
    def inverted(cells):
        return -scores.f1(cells)

    with pytest.raises(AssertionError, match=r"inverted\(\) fails 3 of 14 checks") as error:
        check_score(inverted)
    for part in ("perfect predictions", "wrong sign", "@keras_softsets.score"):
        assert part in str(error.value)

    def unsafe(cells):
        return cells.tp / (cells.tp + cells.fp)

    with pytest.raises(AssertionError, match="finite on one class"):
        check_score(unsafe)

    def scalar(cells):
        return ops.mean(scores.f1(cells))

    with pytest.raises(AssertionError, match="keeps the shape"):
        check_score(scalar)

    def mixing(cells):
        return scores.f1(cells) * 0 + ops.mean(scores.f1(cells), 1, keepdims=True)

    with pytest.raises(AssertionError, match="classes do not mix"):
        check_score(mixing)


def test_scores_pickle():
    for ours in (scores.f1, scores.f_beta(beta=2), scores.get(operator.attrgetter("tp"))):
        again = pickle.loads(pickle.dumps(ours))
        cells = ConfusionMatrix(tp=4.0, fp=1.0, fn=2.0, tn=3.0)
        assert float(again(cells)) == float(ours(cells))
        assert repr(again) == repr(ours)
        assert again.registered == ours.registered
    assert pickle.loads(pickle.dumps(scores.f1)) is scores.f1
    assert copy.deepcopy(scores.f_beta(beta=2)).parameters == {"beta": 2}


def test_a_score_that_is_not_floating_fails_the_kit_and_at_first_use():
    def at_least(cells):
        return scores.precision(cells) >= 0.9

    def product(cells):
        return scores.recall(cells) * at_least(cells)

    for function in (at_least, product) if since_tensorflow(2, 21) else (at_least,):  # others refuse or allow it
        with pytest.raises(ValueError, match="must return floating-point values"):
            check_score(function)


def test_reserved_names_are_all_that_losses_and_metrics_take():
    taken = set()
    for function in (SoftSetLoss, metrics.SoftSetMetric, metrics.Scores, evaluate, tune_threshold, check_score):
        taken |= set(inspect.signature(function).parameters)
    assert taken - {"score_args"} <= set(RESERVED)


def test_a_typo_in_an_option_is_not_blamed_on_the_score():
    for make in (lambda: SoftSetLoss("f1", treshold=0.3), lambda: metrics.F1(treshold=0.3)):
        with pytest.raises(ValueError, match=r"no argument `treshold`; did you mean `threshold`\?"):
            make()
    with pytest.raises(ValueError, match=r"no argument `bta`; did you mean `beta`\?"):
        SoftSetLoss("f_beta", bta=2)


def test_a_registered_score_is_tried_once_with_each_set_of_parameters():
    tries = []

    @score
    def counted(cells, share=0.5):
        if share > 1:
            raise ValueError("`share` must be at most 1.")
        tries.append(share)
        return share * scores.f1(cells)

    for _ in range(2):
        SoftSetLoss("counted")
        metrics.SoftSetMetric("counted", share=0.25)
    assert tries == [0.5, 0.25]
    for _ in range(2):  # what is refused stays refused
        with pytest.raises(ValueError, match="at most 1"):
            SoftSetLoss("counted", share=2.0)


def test_a_function_that_cannot_be_hashed_is_a_score():
    @dataclasses.dataclass
    class Share:
        share: float

        def __call__(self, cells):
            return self.share * scores.f1(cells)

    loss = SoftSetLoss(Share(0.5), name="share")
    assert float(loss([0, 1], [0.0, 1.0])) == pytest.approx(0.5)


def variable_of_tensorflow(value):
    import tensorflow as tf

    return tf.Variable(value)


@pytest.mark.parametrize(
    "make", [ops.convert_to_tensor, keras.Variable, pytest.param(variable_of_tensorflow, marks=of_tensorflow)]
)
def test_a_score_may_hold_a_tensor_or_a_variable(make, rng):
    penalty = make(3.0)
    y, p = rng.integers(0, 2, 50), rng.random(50)

    def held(cells):
        return cells.tp / (cells.tp + ops.cast(penalty, cells.tp.dtype) * cells.fp + 1)

    def plain(cells):
        return cells.tp / (cells.tp + 3.0 * cells.fp + 1)

    for loss in (SoftSetLoss(held), compiled(SoftSetLoss(held), xla=True)):
        assert float(loss(y, p)) == pytest.approx(float(SoftSetLoss(plain)(y, p)), rel=1e-6)
    assert evaluate(y, p, held) == pytest.approx(evaluate(y, p, plain), rel=1e-6)


def test_a_score_that_raises_a_runtime_error_says_so():
    def broken(cells):
        raise RuntimeError("no such penalty")

    with pytest.raises(RuntimeError, match="no such penalty"):
        SoftSetLoss(broken)


# A score that fails one check, and how the check is called.
WRONG = {
    "each class": (lambda matrix: matrix.right, "gives a single number"),
    "error rate": (lambda matrix: -scores.multiclass_accuracy(matrix), "perfect predictions beat constant ones"),
    "error rate too": (lambda matrix: -scores.multiclass_accuracy(matrix), "better logits never lower the score"),
    "division": (lambda matrix: matrix.right[0] / matrix.decided[0], "finite on one class"),
}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("kappa", {}), ("kappa", {"weights": "quadratic"}), ("multiclass_mcc", {}), ("multiclass_accuracy", {})],
)
def test_our_scores_pass(name, parameters):
    assert len(check_score(name, **parameters)) == 14


def test_a_score_of_ones_own_passes_and_is_saved():
    @score(of="classes")
    def within_one_grade(matrix: MulticlassMatrix, near: float = 0.5):
        size = matrix.counts.shape[-1]
        neighbours = ops.sum(ops.diagonal(matrix.counts, 1)) + ops.sum(ops.diagonal(matrix.counts, -1))
        assert size is not None
        return scores.ratio(ops.sum(matrix.right) + near * neighbours, matrix.total, matrix)

    assert "survives saving" in check_score(within_one_grade, near=0.25)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    function, check = WRONG[name]
    wrong = scores.Score(function, of="classes", registered=False)
    with pytest.raises(AssertionError, match=rf"- {check}"):
        check_score(wrong)
    if check == "better logits never lower the score":
        with pytest.raises(AssertionError) as error:
            check_score(wrong, monotone=False)
        assert check not in str(error.value)
