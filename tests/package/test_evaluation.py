"""evaluate, and how far probabilities are from frequencies: the calibration error and the Brier score."""

import keras
import numpy as np
import pytest
from cases import AVERAGED, BINARY, NINE, PARAMETERS, batch, compiled, since_tensorflow, with_gradient
from keras import ops
from reference import trapezoid
from sklearn import metrics as sk
from sklearn.metrics import brier_score_loss

from keras_softsets import SoftF1, SoftSetLoss, _backend, evaluate, metrics, score, scores
from keras_softsets.calibration import brier_score, calibration_error


@pytest.mark.parametrize("name", AVERAGED)
@pytest.mark.parametrize("average", ["macro", "micro", "weighted", None])
def test_equal_to_scikit_learn(name, average):
    y, p, w = batch()
    decided = (p >= np.float32(0.4)).astype(int)
    for weight in (None, w):
        found = evaluate(
            y, p, name, weight, threshold=0.4, average=average, **{k: v for k, v in PARAMETERS.get(name, {}).items()}
        )
        np.testing.assert_allclose(found, AVERAGED[name](y, decided, average=average, sample_weight=weight), rtol=1e-6)


@pytest.mark.parametrize("name", BINARY)
def test_equal_to_scikit_learn_for_one_class(name):
    y, p, w = (x[:, 0] if x.ndim == 2 else x for x in batch())
    expected = BINARY[name](y, (p >= 0.5).astype(int), sample_weight=w)
    assert evaluate(y, p, name, w) == pytest.approx(expected, rel=1e-6)


def test_areas_are_exact():
    y, p, w = batch()
    ties = np.round(p, 1)
    for prediction in (p, ties, np.float32(1e-6) * p, np.full_like(p, 0.5)):
        for weight in (None, w):
            found = evaluate(y, prediction, "roc_auc", weight, average=None)
            np.testing.assert_allclose(
                found, sk.roc_auc_score(y, prediction, average=None, sample_weight=weight), rtol=1e-9
            )
    precision, recall, _ = sk.precision_recall_curve(y[:, 0], p[:, 0])
    recall_point = np.flatnonzero(recall == recall[1])  # our curve ends at the last threshold's precision, not at 1
    area = -trapezoid(precision[:-1], recall[:-1]) + recall[-2] * precision[-2]
    assert len(recall_point)
    assert evaluate(y[:, 0], p[:, 0], "pr_auc") == pytest.approx(area, rel=1e-6)


def test_arrays_give_numbers_and_tensors_tensors():
    y, p, _ = batch()
    assert type(evaluate(y, p)) is float
    assert isinstance(evaluate(y, p, average=None), np.ndarray)
    value, gradient = with_gradient(lambda x: evaluate(y, x, heaviside="linear"), ops.convert_to_tensor(p))
    assert 1 - float(value) == pytest.approx(float(SoftF1()(y, p)), rel=1e-6)
    assert float(ops.max(ops.abs(gradient))) > 0
    graph = compiled(lambda y, p: evaluate(y, p, "roc_auc"), xla=True)
    assert float(graph(*map(ops.convert_to_tensor, (y, p)))) == pytest.approx(evaluate(y, p, "roc_auc"), rel=1e-6)


def test_several_scores_in_one_metric_sum_the_cells_once(monkeypatch):
    y, p, w = batch()
    calls, original = [], _backend.sum_cells
    monkeypatch.setattr(_backend, "sum_cells", lambda *a, **k: calls.append(a) or original(*a, **k))
    together = metrics.Scores(["f1", "precision", "recall", scores.f_beta(beta=2)], threshold=0.4)
    for part in (slice(0, 50), slice(50, 200)):
        together.update_state(y[part], p[part], w[part])
    assert len(calls) == 2
    found = together.result()
    assert list(found) == ["f1", "precision", "recall", "f_beta"]
    for name in found:
        alone = evaluate(y, p, name, w, threshold=0.4, **({"beta": 2} if name == "f_beta" else {}))
        assert float(found[name]) == pytest.approx(alone, rel=1e-6)


def test_scores_in_fit_are_logged_by_their_keys_and_saved(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, "sigmoid")])
    both = [metrics.Scores(["f1", "mcc"]), metrics.Scores({"f2": scores.f_beta(beta=2)}, threshold=0.3, name="low")]
    model.compile("sgd", SoftF1(), metrics=both)
    x, y = np.random.default_rng(0).normal(size=(40, 2)), batch(40)[0]
    logs = model.fit(x, y, verbose=0).history
    assert {"f1", "mcc", "low_f2"} <= set(logs)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    before, after = (m.evaluate(x, y, verbose=0, return_dict=True) for m in (model, loaded))
    assert before == pytest.approx(after)


def test_keys_of_scores():
    assert list(metrics.Scores(["f1"]).result()) == ["f1"]
    twice = metrics.Scores([scores.f_beta(beta=0.5), scores.f_beta(beta=2), "f1"])
    assert list(twice.result()) == ["f_beta_0.5", "f_beta_2", "f1"]
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(twice))
    assert list(again.result()) == list(twice.result())
    areas = metrics.Scores(["roc_auc", "pr_auc"])
    y, p, _ = batch()
    assert float(areas(y, p)["roc_auc"]) == pytest.approx(float(metrics.AUROC()(y, p)))
    for bad in ([], "f1", ["f1", "f1"], ["f1", "roc_auc"]):
        with pytest.raises(ValueError, match=r"`(scores|threshold)` must"):
            metrics.Scores(bad)
    assert len(metrics.Scores(["f1", "roc_auc"], threshold=NINE)(y, p)) == 2


# Scores of one's own that are not as they should be, and say so at once.


def test_a_score_must_be_floating():
    def at_least(cells):
        return scores.precision(cells) >= 0.9

    def product(cells):
        return scores.recall(cells) * at_least(cells)

    refused = "must return floating-point values.*bool"
    older = f"{refused}|type bool that does not match"  # TensorFlow 2.18 refuses to multiply by a truth value
    multiplied = refused if since_tensorflow(2, 21) else older
    functions = {at_least: refused, product: multiplied}
    if keras.config.backend() != "tensorflow":  # truth values are numbers there
        del functions[product]
    for function, message in functions.items():
        for use in (metrics.SoftSetMetric, lambda score: evaluate([0, 1], [0.1, 0.9], score)):
            with pytest.raises((ValueError, TypeError), match=message):
                use(function)


def test_a_score_may_cast_to_float32():
    def at_least(cells):
        return scores.recall(cells) * keras.ops.cast(scores.precision(cells) >= 0.5, "float32")

    y, p, _ = batch()
    expected = [
        r * (q >= 0.5)
        for r, q in zip(evaluate(y, p, "recall", average=None), evaluate(y, p, "precision", average=None))
    ]
    metric = metrics.SoftSetMetric(at_least)
    metric.update_state(y, p)
    assert float(metric.result()) == pytest.approx(np.mean(expected), rel=1e-6)


def test_a_broken_score_fails_where_it_is_passed():
    def broken(cells):
        return cells.true_positives

    with pytest.raises(AttributeError, match="true_positives"):
        metrics.SoftSetMetric(broken)
    with pytest.raises(AttributeError, match="true_positives"):
        SoftSetLoss(broken)


@pytest.mark.parametrize("name", ["threshold", "name", "average", "dtype", "zero_division", "reduction"])
def test_parameters_named_like_arguments_are_refused(name):
    namespace = {}
    exec(f"def reserved_{name}(cells, {name}=0.3): return cells.tp", namespace)
    with pytest.raises(ValueError, match=f"must not have parameters.*Received: {name}"):
        score(namespace[f"reserved_{name}"])


def by_hand(y, p, w, bins):
    place = np.minimum(np.digitize(p, np.linspace(0, 1, bins + 1)[1:-1].astype("float32")), bins - 1)
    return sum(abs(np.sum((w * (y - p))[place == b])) for b in range(bins)) / np.sum(w)


@pytest.mark.parametrize("weighted", [False, True])
def test_brier_score_is_scikit_learns(weighted):
    y, p, w = batch(200, classes=1)
    w = w if weighted else None
    want = brier_score_loss(y[:, 0], p[:, 0], sample_weight=w)
    assert brier_score(y, p, w) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("bins", [1, 10, 15])
def test_calibration_error_is_the_definition(bins):
    y, p, w = batch(300, classes=3)
    want = np.mean([by_hand(y[:, k], p[:, k].astype("float64"), w, bins) for k in range(3)])
    assert calibration_error(y, p, w, bins=bins) == pytest.approx(want, rel=1e-5)


def test_edges_belong_to_the_bin_above_and_one_to_the_last():
    assert calibration_error([1, 0], [0.5, 0.5], bins=2) == 0
    assert calibration_error([1, 0], [0.49, 0.51], bins=2) == pytest.approx(0.51)
    assert calibration_error([1, 1], [1.0, 0.0], bins=4) == pytest.approx(0.5)


@pytest.mark.parametrize("measure", [brier_score, calibration_error])
def test_weight_two_is_two_copies_and_weight_zero_is_absent(measure):
    y, p, _ = batch(60, classes=2)
    assert measure(y, p, np.full(60, 2.0)) == pytest.approx(measure(y, p), rel=1e-6)
    some = np.arange(60) % 3 > 0
    spoilt = np.where(some[:, None], p, np.nan)
    assert measure(y, spoilt, some.astype("float32")) == pytest.approx(measure(y[some], p[some]), rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "measure"), [(metrics.BrierScore, brier_score), (metrics.CalibrationError, calibration_error)]
)
def test_a_metric_over_batches_is_the_whole(kind, measure):
    y, p, w = batch(100, classes=3)
    metric = kind()
    assert float(metric.result()) == 0
    for part in (slice(0, 30), slice(30, 31), slice(31, 100)):
        metric.update_state(y[part], p[part], w[part])
    assert float(metric.result()) == pytest.approx(measure(y, p, w), rel=1e-6)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(metric))
    assert again.get_config() == metric.get_config()
    metric.reset_state()
    metric.update_state(np.eye(3)[[0, 2]], np.eye(3)[[0, 2]])
    assert float(metric.result()) == 0


def test_a_class_without_weight_does_not_count():
    y, p, _ = batch(60, classes=3)
    for measure, kind in ((brier_score, metrics.BrierScore), (calibration_error, metrics.CalibrationError)):
        expected = measure(y[:, :2], p[:, :2])
        weight = np.array([[1.0, 2.0, 0.0]])
        assert measure(y, p, weight) == pytest.approx(expected, rel=1e-6)
        metric = kind()
        assert float(metric(y, p, weight)) == pytest.approx(expected, rel=1e-6)
        with pytest.raises(ValueError, match="`y_pred` must have the same number of classes in every batch, 3"):
            metric.update_state(y[:, :1], p[:, :1])


def test_metrics_in_fit():
    y, p, _ = batch(64, classes=1)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "sigmoid")])
    model.compile(
        "sgd", "binary_crossentropy", weighted_metrics=[metrics.CalibrationError(bins=5), metrics.BrierScore()]
    )
    logs = model.fit(p, y, verbose=0, validation_data=(p, y)).history
    assert logs["val_brier_score"][0] == pytest.approx(brier_score(y, model.predict(p, verbose=0)), rel=1e-5)
    assert logs["val_calibration_error"][0] == pytest.approx(
        calibration_error(y, model.predict(p, verbose=0), bins=5), rel=1e-5
    )


def test_logits_are_refused():
    with pytest.raises(ValueError, match="`y_pred` must hold probabilities"):
        brier_score([0, 1], [-3.0, 4.0])
    with pytest.raises(ValueError, match=r"`bins` must be a whole number of at least 1 .*Received: bins=0"):
        calibration_error([0, 1], [0.2, 0.4], bins=0)
