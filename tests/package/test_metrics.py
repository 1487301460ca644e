"""Metrics: equal to scikit-learn over streamed, uneven, weighted batches; exact totals; Keras's conventions."""

import warnings

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf
from cases import LOSSES, METRICS, NINE
from sklearn import metrics as sk

from keras_softsets import SoftSetLoss, confusion_matrix, metrics
from keras_softsets.metrics import SoftSetMetric

UNEVEN = (1, 7, 40, 2, 150)

SKLEARN = {
    "F1": sk.f1_score,
    "FBeta": lambda *a, **k: sk.fbeta_score(*a, beta=2, **k),
    "Precision": sk.precision_score,
    "Recall": sk.recall_score,
    "Jaccard": sk.jaccard_score,
}
BINARY = {
    "Accuracy": sk.accuracy_score,
    "BalancedAccuracy": sk.balanced_accuracy_score,
    "MCC": sk.matthews_corrcoef,
    "cohen_kappa": lambda y, d, sample_weight: sk.cohen_kappa_score(y, d, sample_weight=sample_weight),
    "Specificity": lambda y, d, sample_weight: sk.recall_score(1 - y, 1 - d, sample_weight=sample_weight),
}


def make(name, **options):
    if hasattr(metrics, name):
        return getattr(metrics, name)(**({"beta": 2} if name == "FBeta" else {}), **options)
    return SoftSetMetric(name, **options)


def streamed(metric, y, p, w):
    start = 0
    for size in UNEVEN:
        part = slice(start, start + size)
        metric.update_state(y[part], p[part], None if w is None else w[part])
        start += size
    return metric.result().numpy()


@pytest.fixture
def batch(rng):
    y = (rng.random((sum(UNEVEN), 3)) < [0.1, 0.4, 0.7]).astype(int)
    p = np.clip(0.3 * y + 0.7 * rng.random(y.shape), 0, 1).astype("float32")
    return y, p, rng.integers(1, 5, len(y)).astype("float64")


@pytest.mark.parametrize("name", SKLEARN)
@pytest.mark.parametrize("average", ["macro", "micro", "weighted", None])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_scikit_learn_multi_label(name, average, weighted, batch):
    y, p, w = batch
    w = w if weighted else None
    for thresholds in ((0.5,), (0.25,), NINE):
        oracle = [
            SKLEARN[name](y, p >= np.float32(t), average=average, sample_weight=w, zero_division=0) for t in thresholds
        ]
        value = streamed(make(name, threshold=thresholds, average=average), y, p, w)
        np.testing.assert_allclose(value, np.mean(oracle, axis=0), rtol=1e-6)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_scikit_learn_binary_and_per_class(name, weighted, batch):
    y, p, w = batch
    w = w if weighted else None
    for thresholds in ((0.5,), NINE):
        oracle = np.array(
            [[BINARY[name](y[:, c], p[:, c] >= np.float32(t), sample_weight=w) for c in range(3)] for t in thresholds]
        )
        value = streamed(make(name, threshold=thresholds, average=None), y, p, w)
        np.testing.assert_allclose(value, oracle.mean(0), rtol=1e-5, atol=1e-7)
        value = streamed(make(name, threshold=thresholds), y[:, 0], p[:, :1], w)
        np.testing.assert_allclose(value, oracle[:, 0].mean(), rtol=1e-5, atol=1e-7)


def test_areas_are_close_to_scikit_learns(rng):
    y = (rng.random(4000) < 0.2).astype(int)
    p = np.clip(0.25 * y + 0.7 * rng.random(4000), 0, 1)
    assert float(metrics.AUROC()(y, p)) == pytest.approx(sk.roc_auc_score(y, p), abs=1e-3)
    assert float(metrics.AUPRC()(y, p)) == pytest.approx(sk.average_precision_score(y, p), abs=1e-2)
    saturated = 1 / (1 + np.exp(-30 * (p - 0.5)))  # as after training on a set loss
    assert float(metrics.AUROC()(y, saturated)) == pytest.approx(sk.roc_auc_score(y, saturated), abs=0.01)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
def test_soft_metrics_are_the_losses_score_of_the_whole_epoch(metric, batch):
    y, p, w = batch
    ours = metric(heaviside="linear", threshold=NINE)
    expected = 1 - float(SoftSetLoss(metric.score_name, threshold=NINE)(y, p, w))
    assert float(streamed(ours, y, p, w)) == pytest.approx(expected, rel=1e-5)
    assert float(streamed(ours, y, p, w)) == pytest.approx(expected, rel=1e-5)  # twice the data, the same score
    ours.reset_state()
    assert float(ours.result()) in (0.0, -1.0)
    oracle = reference.score(metric.score_name, reference.cells(y, p, w[:, None], thresholds=NINE))
    assert float(streamed(ours, y, p, w)) == pytest.approx(oracle, rel=1e-5)


def test_the_mean_of_batches_is_another_number(rng):
    """Why metrics accumulate cells: 1 % positives in batches of 16."""
    y = (rng.random(3200) < 0.01).astype(int)
    p = np.clip(0.45 * y + 0.6 * rng.random(3200), 0, 1)
    whole = metrics.F1(threshold=0.55)
    means = []
    for part in np.split(np.arange(3200), 200):
        whole.update_state(y[part], p[part])
        means.append(float(metrics.F1(threshold=0.55)(y[part], p[part])))
    assert float(whole.result()) == pytest.approx(sk.f1_score(y, p >= 0.55), rel=1e-6)
    assert np.mean(means) < float(whole.result()) / 1.5


def test_confusion_gives_the_cells(batch):
    y, p, w = batch
    assert {name: float(cell) for name, cell in metrics.Confusion().result().items()} == dict.fromkeys(
        ("tp", "fp", "fn", "tn"), 0.0
    )
    binary = metrics.Confusion()(y[:, 0], p[:, 0], w)
    tn, fp, fn, tp = sk.confusion_matrix(y[:, 0], p[:, 0] >= 0.5, sample_weight=w).ravel()
    assert {name: float(cell) for name, cell in binary.items()} == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    micro = metrics.Confusion()(y, p)
    assert float(micro["tp"]) == (y * (p >= 0.5)).sum()
    assert sum(float(cell) for cell in micro.values()) == y.size
    every = metrics.Confusion(average=None, threshold=NINE)(y, p)
    np.testing.assert_array_equal(every["fp"], confusion_matrix(y, p, threshold=NINE, heaviside="step").fp)
    assert float(metrics.Confusion(average="macro")(y, p)["tn"]) == pytest.approx(float(micro["tn"]) / 3)


def test_metrics_of_equal_cells_call_one_function_without_state():
    # TensorFlow's graph optimizer merges such calls, so that several metrics take one pass over the batch.
    several = [SoftSetMetric(name) for name in ("f1", "precision", "recall")]

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None, 1])] * 2)
    def step(y, p):
        for metric in several:
            metric.update_state(y, p)

    for metric in several:
        metric.update_state([[0.0], [1.0]], [[0.3], [0.6]])
    operations = step.get_concrete_function().graph.get_operations()
    calls = [operation for operation in operations if "Call" in operation.type]
    assert [call.type for call in calls] == ["PartitionedCall"] * 3
    assert len({call.get_attr("f").name for call in calls}) == 1


def test_several_confusions_stand_in_one_model():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Identity()])
    low, high = metrics.Confusion(threshold=0.2, name="low"), metrics.Confusion(threshold=0.8, name="high")
    assert {name: float(cell) for name, cell in low.result().items()} == dict.fromkeys(
        ("low_tp", "low_fp", "low_fn", "low_tn"), 0.0
    )
    model.compile(loss="mse", metrics=[low, high, metrics.Confusion()])
    logs = model.evaluate(np.array([[0.1], [0.3], [0.6], [0.9]]), np.array([0, 1, 0, 1]), verbose=0, return_dict=True)
    assert [logs[f"{name}tp"] for name in ("low_", "", "high_")] == [2, 1, 1]
    assert [logs[f"{name}fp"] for name in ("low_", "", "high_")] == [1, 1, 0]


@pytest.mark.parametrize("thresholds", [0.5, NINE], ids=str)
def test_totals_stay_exact_past_two_to_the_24(thresholds):
    n = 2**24 + 5
    metric = metrics.Confusion(threshold=thresholds, average=None, dtype="float64")
    metric.update_state(tf.ones(n), tf.ones(n))  # one batch past it
    for _ in range(3):  # and one by one, where float32 would not move any more
        metric.update_state([1], [1.0])
    assert float(metric.result()["tp"][0, 0]) == n + 3
    assert float(metric.result()["fp"][0, 0]) == 0


def test_masks(rng):
    y, p = rng.integers(0, 2, (4, 6, 1)), tf.constant(rng.random((4, 6, 1)), tf.float32)
    kept = np.arange(6) < np.array([[6], [3], [1], [0]])
    p._keras_mask = tf.constant(kept)
    assert float(metrics.F1()(y, p)) == pytest.approx(sk.f1_score(y[kept], p.numpy()[kept] >= 0.5), rel=1e-6)


def test_shards_merge(batch):
    y, p, w = batch
    whole, left, right = metrics.F1(), metrics.F1(), metrics.F1()
    whole.update_state(y, p, w)
    left.update_state(y[:70], p[:70], w[:70])
    right.update_state(y[70:], p[70:], w[70:])
    merged = metrics.F1()
    merged.merge_state([left, metrics.F1(), right])
    with pytest.raises(ValueError, match="same `threshold`"):
        merged.merge_state([metrics.F1(threshold=0.9)])
    assert float(merged.result()) == float(whole.result())


def test_stateless_use(batch):
    y, p, _ = batch
    metric = metrics.F1()
    expected = float(metric(y, p))
    state = metric.stateless_reset_state()
    state = metric.stateless_update_state(state, y[:50], p[:50])
    state = metric.stateless_update_state(state, y[50:], p[50:])
    assert float(metric.stateless_result(state)) == pytest.approx(expected)


def test_results_are_scalars_of_the_metrics_type_unless_average_is_none(batch):
    y, p, _ = batch
    for metric in METRICS:
        result = metric()(y, p)
        assert result.shape == ()
        assert result.dtype == "float32"
        assert metric(average=None)(y, p).shape == (3,)
        assert metric(dtype="float64")(y, p).dtype == "float64"


def test_logits_and_other_callables(rng):
    y, z = rng.integers(0, 2, 50), rng.normal(size=50)
    assert float(metrics.F1(from_logits=True)(y, z)) == pytest.approx(sk.f1_score(y, z >= 0), rel=1e-6)
    miss_rate = SoftSetMetric(lambda cells: cells.fn / (cells.tp + cells.fn), name="miss_rate")
    assert float(miss_rate(y, z > 0)) == pytest.approx(1 - sk.recall_score(y, z > 0), rel=1e-6)
    with pytest.raises(ValueError, match="must be registered to be saved"):
        miss_rate.get_config()


def test_names_and_errors(batch):
    y, p, _ = batch
    assert metrics.F1().name == "f1"
    assert metrics.AUROC().name == "auroc"
    assert SoftSetMetric("cohen_kappa").name == "cohen_kappa"
    assert isinstance(metrics.F1(), keras.metrics.Metric)
    assert float(metrics.F1().result()) == 0
    metric = metrics.F1()
    metric.update_state(y, p)
    with pytest.raises(ValueError, match="same number of classes"):
        metric.update_state(y[:, :2], p[:, :2])
    with pytest.raises(ValueError, match="beta=0"):
        metrics.FBeta(beta=0)
    with pytest.raises(ValueError, match=r"threshold=1\.5"):
        metrics.F1(threshold=1.5)
    with pytest.raises(ValueError, match="average='binary'"):
        metrics.F1(average="binary")


def test_cells_of_each_sample_are_refused():
    with pytest.raises(ValueError, match="Received: average='samples'"):
        metrics.Confusion(average="samples")


def test_every_loss_has_its_metric():
    losses = {loss.__name__.removeprefix("Soft"): loss.score_name for loss in LOSSES}
    assert {metric.__name__: metric.score_name for metric in METRICS} == losses


def test_one_class_only():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric in METRICS:
            for label in (0, 1):
                y, p = np.full(5, label), np.linspace(0, 1, 5)
                areas = {"roc_auc": 0.0, "pr_auc": label, "average_precision": label}
                cells = reference.cells(y[:, None], p[:, None], heaviside=reference.step)
                expected = areas.get(metric.score_name, reference.score(metric.score_name, cells))
                assert float(metric()(y, p)) == pytest.approx(float(expected), abs=1e-6), metric.__name__


def test_keras_callbacks_know_the_direction():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "sigmoid")])
    model.compile(loss="binary_crossentropy", metrics=[metrics.F1(name="anything")])
    stopping = keras.callbacks.EarlyStopping("anything", mode="auto", patience=3)
    model.fit(np.ones((4, 1)), np.ones(4), callbacks=[stopping], verbose=0)
    assert stopping.monitor_op(1.0, 0.0)


NAMED = {
    "F1": (lambda **o: metrics.F1(**o), ["f1_cat", "f1_dog", "f1_owl"]),
    "AUROC": (lambda **o: metrics.AUROC(**o), ["auroc_cat", "auroc_dog", "auroc_owl"]),
    "at a rate": (lambda **o: metrics.PrecisionAtRecall(0.5, name="p", **o), ["p_cat", "p_dog", "p_owl"]),
    "Scores": (lambda **o: metrics.Scores(["f1", "recall"], name="low", **o), None),
}


@pytest.mark.parametrize("kind", NAMED)
def test_classes_with_names_are_scalars_in_the_logs(kind, batch, tmp_path):
    y, p, _ = batch
    make, keys = NAMED[kind]
    names = ["cat", "dog", "owl"]
    plain, named = make(average=None), make(average=None, class_names=names)
    keys = keys or [f"low_{score}_{name}" for score in ("f1", "recall") for name in names]
    assert {float(x) for x in named.result().values()} == {0.0}
    assert list(named.result()) == keys
    expected = plain(y, p)
    expected = np.concatenate(list(expected.values())) if isinstance(expected, dict) else np.asarray(expected)
    found = named(y, p)
    assert list(found) == keys
    np.testing.assert_array_equal(list(map(float, found.values())), expected)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(named))
    assert list(again(y, p)) == keys
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(3, activation="sigmoid")])
    model.compile("sgd", "mse", metrics=[make(average=None, class_names=names)])
    board = keras.callbacks.TensorBoard(tmp_path)
    stopping = keras.callbacks.EarlyStopping(f"val_{keys[1]}", mode="max")
    history = model.fit(p, y, validation_data=(p, y), verbose=0, callbacks=[board, stopping]).history
    assert set(keys) < set(history)


def test_names_of_classes_are_refused_where_they_mean_nothing(batch):
    y, p, _ = batch
    for options in ({}, {"average": "micro"}):
        with pytest.raises(ValueError, match="`class_names` must be None unless `average` is None"):
            metrics.F1(class_names=["a", "b", "c"], **options)
    for names in ("abc", [], ["a", "a", "b"], [1, 2, 3]):
        with pytest.raises(ValueError, match="`class_names` must be a sequence of different names"):
            metrics.F1(average=None, class_names=names)
    with pytest.raises(ValueError, match="one name for each of the 3 classes"):
        metrics.F1(average=None, class_names=["a", "b"])(y, p)
    with pytest.raises(ValueError, match="one name for each of the 3 classes"):
        metrics.MulticlassConfusion(class_names=["a", "b"])(y.argmax(1), p)


def test_a_class_matrix_with_names_is_a_dict_of_counts(batch):
    y, p, _ = batch
    ids, names = y.argmax(1), ["cat", "dog", "owl"]
    matrix = np.asarray(metrics.MulticlassConfusion()(ids, p))
    found = metrics.MulticlassConfusion(class_names=names, name="val")(ids, p)
    for i, true in enumerate(names):
        for j, decided in enumerate(names):
            assert float(found[f"val_{true}_as_{decided}"]) == matrix[i, j]
