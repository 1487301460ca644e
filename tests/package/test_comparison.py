import base64
import itertools
import json
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_softsets
from keras_softsets import Argmax, Estimate, SoftF1, compare, loss_for
from keras_softsets.comparison import _comparison, _runs
from keras_softsets.comparison._comparison import Comparison, interval_of, paired_difference, signed, t_quantile
from keras_softsets.comparison._data import Answers, Part, class_weights
from keras_softsets.comparison._task import Row, Task, expected_calibration_error, rows_of, task_of
from keras_softsets.scores import get

pytestmark = pytest.mark.usefixtures("eagerly")

X = np.random.default_rng(0).normal(size=(360, 3)).astype("float32")
NOISE = np.random.default_rng(1).normal(size=(360, 3))
BINARY = (X[:, 0] + NOISE[:, 0] > 0.8).astype("float32")
GRADES = np.clip(np.round(X[:, 0] + 0.3 * NOISE[:, 1] + 1), 0, 2).astype("int64")
SEVERAL = (X + NOISE > 0.8).astype("float32")
PARTS = {"train": slice(0, 160), "validation": slice(160, 260), "test": slice(260, 360)}
F1 = get("f1")


def model(outputs=1, activation="sigmoid"):
    return lambda: keras.Sequential([keras.Input((3,)), keras.layers.Dense(outputs, activation)])


def parts(y):
    return {name: (X[rows], y[rows]) for name, rows in PARTS.items()}


def small(make_model, y, losses=None, **options):
    data = parts(y) if isinstance(y, np.ndarray) else y
    return compare(make_model, losses, **data, **{"seeds": 1, "epochs": 2, "verbose": False, **options})


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The defaults; made before `eagerly` of any test, so with graphs, as users have them."""
    assert not tf.config.functions_run_eagerly()
    return small(model(), BINARY, seeds=2, folder=tmp_path_factory.mktemp("runs"))


def test_the_defaults_of_two_classes(report):
    names = [line.name for line in report.lines]
    assert names[:2] == ["cross-entropy", "balanced cross-entropy"]
    assert len(names) >= 3
    assert all(len(line.tuned) == 2 for line in report.lines)
    assert report.lines[0].difference is None
    for line in report.lines[1:]:
        assert line.difference.value == pytest.approx(np.mean(line.tuned) - np.mean(report.lines[0].tuned))
        assert line.difference.low <= line.difference <= line.difference.high


def test_the_numbers_are_those_of_the_best_models_on_test_data(report):
    run = report.best_run
    p = report.best.predict(X[PARTS["test"]], verbose=0)
    np.testing.assert_allclose(p, run.test.prediction, atol=1e-6)
    line = report.recommended
    place = [each.seed for each in line.runs].index(run.seed)
    y = BINARY[PARTS["test"]]
    assert line.tuned[place] == keras_softsets.evaluate(y, p, threshold=report.best_decision)
    assert line.default[place] == keras_softsets.evaluate(y, p)


def test_validation_data_choose_the_candidate(report):
    best = max(np.mean(line.on_validation) for line in report.lines)
    assert np.mean(report.candidate.on_validation) == best


def test_table_and_reports(report, tmp_path):
    table = report.table()
    assert len(table.splitlines()) == len(report.lines) + 2
    assert {line.count("|") for line in table.splitlines()} == {8}
    markdown = report.save(tmp_path / "new" / "report.md").read_text()
    assert report.verdict in markdown
    assert table in markdown
    page = report.save(tmp_path / "report.html").read_text()
    assert not re.search(r'(src|href)="(?!data:)|@import|https?://', page)
    figure = base64.b64decode(re.search(r"base64,([^\"]+)", page)[1])
    assert figure.startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"`path` must end in .html or .md"):
        report.save(tmp_path / "report.pdf")


def test_the_figure_shows_every_run(report):
    left, right = report.plot().axes
    assert sorted(x for line in left.lines[::2] for x in line.get_xdata()) == sorted(
        value for line in report.lines for value in line.tuned
    )
    assert len(right.containers) == len(report.lines) - 1


def test_one_seed_says_that_it_proves_little(report):
    alone = small(model(), BINARY)
    assert "One seed proves little" in alone.verdict
    assert "One seed" not in report.verdict
    assert alone.lines[1].difference.method == "samples"


def test_several_classes_and_several_at_once():
    # All that is compared by default with kappa, test_command_line compares.
    ordered = {"ce": "sparse_categorical_crossentropy", "ours": loss_for("kappa", weights="quadratic")}
    grades = small(model(3, "softmax"), GRADES, ordered, score="kappa", weights="quadratic")
    assert isinstance(grades.best_decision, (str, Argmax))
    assert "at the argmax" in grades.table()
    two = {"ce": "categorical_crossentropy", "f1": SoftF1(threshold="argmax")}
    hot = small(model(3, "softmax"), np.eye(3, dtype="float32")[GRADES], two)
    assert hot.task.kind == "classes"
    several = small(model(3), SEVERAL)
    assert several.task.kind == "multilabel"
    assert len(several.best_decision) == 3


def test_areas_have_no_decision():
    areas = small(model(), BINARY, {"bce": "binary_crossentropy", "auroc": keras_softsets.SoftAUROC()}, score="roc_auc")
    assert areas.best_decision is None
    assert "tuned" not in areas.table() + areas.verdict


def test_data_sets_and_sequences_give_the_numbers_of_arrays():
    class Batches(keras.utils.PyDataset):
        def __init__(self, x, y):
            super().__init__()
            self.data = x, y

        def __len__(self):
            return -(-len(self.data[0]) // 32)

        def __getitem__(self, k):
            return tuple(x[32 * k : 32 * k + 32] for x in self.data)

    losses = {"bce": keras.losses.BinaryCrossentropy(), "f1": SoftF1()}
    sets = {name: tf.data.Dataset.from_tensor_slices(pair).batch(32) for name, pair in parts(BINARY[:, None]).items()}
    first = small(model(), sets, losses)
    second = small(model(), {name: Batches(*pair) for name, pair in parts(BINARY[:, None]).items()}, losses)
    assert [line.runs[0].test.label.shape for line in first.lines] == [(100, 1)] * 2
    assert second.lines[0].runs[0].test.prediction.shape == (100, 1)
    np.testing.assert_allclose(first.lines[0].runs[0].test.label, second.lines[0].runs[0].test.label)


def test_shuffled_data_keep_labels_and_predictions_together():
    p = np.linspace(0, 1, 50, dtype="float32")[:, None]
    data = tf.data.Dataset.from_tensor_slices((p, p)).shuffle(50).batch(7)
    identity = keras.Sequential([keras.Input((1,)), keras.layers.Activation("linear")])
    label, prediction, weight = Part("test", data).answers(identity)
    np.testing.assert_array_equal(label, prediction)
    assert weight is None


def test_it_resumes_after_being_killed(tmp_path, monkeypatch, capsys):
    trained, original = [], _runs.train

    def counted(make_model, row, seed, *args):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append((row.name, seed))
        return original(make_model, row, seed, *args)

    monkeypatch.setattr(_runs, "train", counted)
    losses = {"a": keras.losses.BinaryCrossentropy(), "b": SoftF1()}
    with pytest.raises(KeyboardInterrupt):
        small(model(), BINARY, losses, seeds=2, folder=tmp_path)
    first, trained[:] = list(trained), []
    found = small(model(), BINARY, losses, seeds=2, folder=tmp_path, verbose=True)
    assert sorted(first + trained) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    said = capsys.readouterr().err
    assert "2 of 4 runs were done before." in said
    assert re.search(r"3 of 4: a, seed 1: f1 0\.\d+ on validation data, \d+ s; about \d+ s left", said)
    again = small(model(), BINARY, losses, seeds=2, folder=tmp_path)
    assert again.table() == found.table()
    with pytest.raises(ValueError, match=r"`folder` must be new, or of the same comparison.*: epochs"):
        small(model(), BINARY, losses, seeds=2, epochs=3, folder=tmp_path)
    json.loads((tmp_path / "settings.json").read_text())


def test_a_loss_that_ends_in_nan_is_left_out(tmp_path):
    losses = {"bce": "bce", "broken": lambda y, p: keras.ops.mean(y - p, -1) * np.nan, "f1": SoftF1()}
    found = small(model(), BINARY, losses, seeds=2, epochs=1)
    assert [line.name for line in found.lines] == ["bce", "f1"]
    assert found.left_out == {"broken": 0}
    assert "broken is left out: seed 0 ended in NaN." in found.verdict
    with pytest.raises(ValueError, match="NaN for validation data after training with broken"):
        small(model(), BINARY, {"broken": losses["broken"], "f1": SoftF1()}, epochs=1)


def test_the_epoch_is_chosen_by_the_losss_own_value_on_all_validation_data(monkeypatch):
    values = iter([0.5, 0.2, float("nan"), 0.3])
    monkeypatch.setattr(_runs, "own_value", lambda *args: next(values))
    data = tuple(Part(name, pair) for name, pair in parts(BINARY).items())
    run, _ = _runs.train(model(), Row("f1", SoftF1()), 0, data, Task("binary", False, F1), 4, 64)
    assert run.epoch == 2


def test_own_value_is_that_of_one_batch_with_the_rows_weights():
    y, p = BINARY[:50], np.linspace(0.05, 0.95, 50, dtype="float32")[:, None]
    answers = Answers(y, p, None)
    assert _runs.own_value(Row("f1", SoftF1()), answers, None) == pytest.approx(float(SoftF1()(y, p)))
    weights = class_weights(y)
    bce = keras.losses.BinaryCrossentropy()
    each = np.where(y == 1, weights[1], weights[0])
    expected = float(bce(y[:, None], p, sample_weight=each))
    assert _runs.own_value(Row("bce", bce, balanced=True), answers, weights) == pytest.approx(expected)
    assert np.sum(each[y == 1]) == pytest.approx(np.sum(each[y == 0]))


def answers(rng, quality, n=400):
    y = (np.arange(n) % 4 == 0).astype("float64")
    return Answers(y, 1 / (1 + np.exp(-(quality * (2 * y - 1) + rng.normal(size=n)))), None)


def test_a_clear_difference_is_found_and_the_same_predictions_have_none(rng):
    task = Task("binary", False, F1)
    good, bad = ([(answers(rng, quality), 0.5) for _ in range(3)] for quality in (1.5, 0.5))
    assert paired_difference(task, good, bad).low > 0
    same = paired_difference(task, good, good)
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_two_copies_of_one_loss_rarely_differ():
    """Seeds and samples both vary; the interval must include 0 in 19 of 20 comparisons."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(500):
        over_samples = rng.normal() * 0.02  # hits all seeds alike
        inside += (found := interval_of(over_samples + rng.normal(size=5) * 0.03, 0.02**2)).low <= 0 <= found.high
    assert 0.93 <= inside / 500 <= 0.99


class _Quick(Task):
    """The same with F1 in NumPy: `evaluate` would trace a graph for each tuned threshold."""

    def value(self, answers, threshold):
        y, p, _ = answers
        decided = p >= threshold
        return float(2 * (y * decided).sum() / max(decided.sum() + y.sum(), 1))


def compared_by_chance(seed, seeds, losses=3, n=300):
    """A whole comparison of losses whose models differ by the seed of the training alone."""
    rng, task = np.random.default_rng(seed), _Quick("binary", False, F1)
    truth = rng.normal(size=8) / 2
    trained = truth + 0.1 * rng.normal(size=8)  # what the training data say to all
    parts = [rng.normal(size=(n, 8)) for _ in range(2)]
    labels = [(rng.random(n) < 1 / (1 + np.exp(2 - x @ truth))).astype(float) for x in parts]

    def run(name, k):
        weights = trained + 0.1 * rng.normal(size=8)
        said = [Answers(y, 1 / (1 + np.exp(2 - x @ weights)), None) for x, y in zip(parts, labels)]
        return _runs.Run(name, k, 1, 1.0, task.tuned(said[0]), *said)

    return Comparison(task, [[run(f"loss {k}", each) for each in range(seeds)] for k in range(losses)], load=print)


@pytest.mark.parametrize(
    ("seeds", "comparisons"),
    [(2, 20), *(pytest.param(seeds, 200, marks=pytest.mark.slow) for seeds in (1, 2, 5))],
)
def test_losses_that_differ_by_chance_alone_rarely_differ_in_the_verdict(seeds, comparisons, monkeypatch):
    for name in ("ranking", "calibration_error"):
        monkeypatch.setattr(_comparison, name, lambda *args: 0.0)
    monkeypatch.setattr(_comparison, "_RESAMPLES", 200)
    verdicts = [compared_by_chance(seed, seeds).verdict for seed in range(comparisons)]
    claims = sum(verdict.startswith(("A gain", "A loss")) for verdict in verdicts)
    assert claims <= 0.05 * comparisons + 2 * np.sqrt(0.05 * 0.95 * comparisons)
    assert any(verdict.startswith("No difference") for verdict in verdicts)


def test_a_difference_that_is_rounded_to_0_has_no_minus():
    assert signed(Estimate(-0.0001, -0.0123, 0.0004)) == "+0.000 [-0.012, +0.000]"


def test_quantiles_of_t():
    from scipy import stats

    for freedom in (1, 2.5, 4, 30, 2000):
        assert t_quantile(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-4)


def test_calibration_error():
    rng = np.random.default_rng(0)
    p = rng.random(20000)
    right = rng.random(20000) < p
    assert expected_calibration_error(right, p, np.ones(20000)) < 0.015
    assert expected_calibration_error(right, p / 2, np.ones(20000)) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("make_model", "options", "message"),
    [
        (model()(), {}, "`make_model` must be a function"),
        (model(1, None), {}, "`make_model` must return models of probabilities"),
        (model(), {"losses": ["bce"]}, "`losses` must hold two or more losses with different names"),
        (model(), {"losses": [SoftF1(), SoftF1()]}, "`losses` must hold two or more losses with different names"),
        (model(), {"losses": {1: SoftF1()}}, "`losses` must be None, a dictionary"),
        (model(), {"losses": {"one": SoftF1(), "two": 3}}, "`losses` must hold instances"),
        (model(), {"losses": ["bce", "no_such_loss"]}, "`losses` must hold instances"),
        (model(), {"losses": {"bce": "bce", "mine": lambda y, p: p[:, 7]}}, "`losses` must take .*'mine'"),
        (itertools.repeat(model()()).__next__, {}, "`make_model` must build its layers anew"),
        (model(), {"train": (X[:160].tolist(), BINARY[:160])}, "`train` must have arrays as inputs"),
        (model(), {"train": tf.data.Dataset.from_tensors((X, BINARY)).repeat()}, "`train` must end"),
        (model(), {"train": tf.data.Dataset.from_tensor_slices((X, BINARY))}, "`train` must hold batches"),
        (model(), {"train": tf.data.Dataset.from_tensors(X)}, "`train` must hold .x, y."),
        (model(), {"score": "kappa"}, "`score` must be a score of one class"),
        (model(), {"seeds": 0}, "`seeds` must be a whole number"),
        (model(), {"train": X}, "`train` must be"),
        (model(), {"train": (X[:160], GRADES[:160])}, "`train` must have labels 0 and 1"),
        (model(), {"test": (X,)}, "`test` must be"),
        (model(), {"test": (X[:50, :2], BINARY[:50])}, "`test` must have inputs of the shapes of `train`"),
        (model(), {"test": (X[:50], BINARY[:60])}, "`test` must have arrays of equal length"),
        (model(), {"test": (X[:50] * np.nan, BINARY[:50])}, "NaN for test data after training with cross-entropy"),
        (model(), {"validation": (X[:50], BINARY[:50] * 0)}, "`validation` must have labels of more than one class"),
        (model(), {"test": (X[:50], BINARY[:50] * np.nan)}, "`test` must have labels that are numbers"),
        (model(), {"train": (X[:50], np.array(["no", "yes"] * 25))}, "`train` must have labels that are numbers"),
        (model(), {"train": (X[:50].tolist(), BINARY[:50])}, "`train` must have arrays as inputs, np.array"),
        (model(), {"test": (X[:50], BINARY[:50], np.zeros(50))}, "`test` must have sample weights .* from 0 to 0"),
        (model(), {"train": (X[:50], BINARY[:50], np.full(50, np.nan))}, "`train` must have sample weights .* NaN"),
        (model(), {"train": (X[:50], BINARY[:50], ["a"] * 50)}, "`train` must have sample weights .* of type <U1"),
        (model(2, "softmax"), {"train": (X[:160], GRADES[:160])}, "`train` must have class ids from 0 to 1"),
    ],
)
def test_mistakes(make_model, options, message):
    with pytest.raises(ValueError, match=message):
        compare(make_model, **{**parts(BINARY), "epochs": 1, "seeds": 1, "verbose": False, **options})


def test_cross_entropy_comes_first_and_labels_tell_the_task():
    losses = {"mine": SoftF1(), "ce": keras.losses.BinaryCrossentropy()}
    assert [row.name for row in rows_of(losses, Task("binary", False, F1))] == ["ce", "mine"]
    with pytest.raises(ValueError, match="several classes at once"):
        task_of(SEVERAL, 3, get("kappa"))


def brier(y_true, y_pred):
    return keras.ops.mean((y_true - y_pred) ** 2, -1)


@pytest.mark.parametrize(
    ("losses", "names"),
    [
        (["SoftF1", "bce"], ["bce", "SoftF1"]),
        ([SoftF1(), "dice", keras.losses.binary_crossentropy], ["binary_crossentropy", "soft_f1", "dice"]),
        ({"mine": brier}, ["cross-entropy", "mine"]),
        ([brier, SoftF1], ["brier", "SoftF1"]),
    ],
)
def test_what_compile_takes_as_a_loss(losses, names):
    rows = rows_of(losses, Task("binary", False, F1))
    assert [row.name for row in rows] == names
    y, p = BINARY[:20, None], np.linspace(0.1, 0.9, 20, dtype="float32")[:, None]
    for row in rows:
        expected = brier if row.name in ("mine", "brier") else {"dice": keras.losses.Dice()}.get(row.name)
        expected = expected or (SoftF1() if "f1" in row.name.lower() else keras.losses.BinaryCrossentropy())
        assert float(row.fresh()(y, p)) == pytest.approx(float(np.mean(expected(y, p))), rel=1e-5)


def test_a_function_as_score_and_as_loss_resumes(tmp_path):
    def found(power):
        losses = {"bce": "bce", "mine": lambda y, p: keras.ops.mean((y - p) ** power)}
        return small(model(), BINARY, losses, score=lambda cells: cells.tp / (cells.tp + cells.fn), folder=tmp_path)

    assert found(2).table() == found(2).table()
    with pytest.raises(ValueError, match="what differs: score"):
        small(model(), BINARY, {"bce": "bce", "f1": SoftF1()}, score=lambda cells: cells.tp, folder=tmp_path)


def test_the_best_model_is_the_recommended_one_and_decides(tmp_path, rng):
    noise, fair, good = (answers(rng, quality) for quality in (0.0, 0.5, 2.0))

    def comparison(*each):
        runs = [[_runs.Run(name, seed, 1, 1.0, 0.5, one, one) for seed in (0, 1)] for name, one in zip("ab", each)]
        return keras_softsets.Comparison(Task("binary", False, F1), runs, lambda run: run.row)

    assert comparison(fair, good).best == "b"  # a gain
    assert comparison(fair, fair).best == "a"  # no difference
    assert comparison(good, noise).best == "a"
    report = small(model(), BINARY, ["bce", "SoftF1"], folder=tmp_path)
    x = X[PARTS["test"]]
    p = report.best.predict(x, verbose=0)
    found = report.classifier().predict(x, verbose=0)
    np.testing.assert_allclose(found["probability"], p, atol=1e-6)
    np.testing.assert_array_equal(found["label"], p >= report.best_decision)


def test_weighted_batches_are_not_balanced_and_other_features_are_another_comparison(tmp_path):
    weighted = {name: (*pair, np.ones(len(pair[1]), "float32")) for name, pair in parts(BINARY).items()}
    sets = {name: tf.data.Dataset.from_tensor_slices(arrays).batch(64) for name, arrays in weighted.items()}
    assert "balanced cross-entropy" not in [line.name for line in small(model(), sets, epochs=1).lines]
    losses = {"a": keras.losses.BinaryCrossentropy(), "b": SoftF1()}
    small(model(), weighted, losses, epochs=1, folder=tmp_path)
    other = {**weighted, "train": (2 * X[:160], *weighted["train"][1:])}
    with pytest.raises(ValueError, match="what differs: data"):
        small(model(), other, losses, epochs=1, folder=tmp_path)
