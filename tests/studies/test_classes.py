"""The study of several classes: its recipe, that it resumes, and the arithmetic of its table."""

import keras
import numpy as np
import pytest

from keras_softsets import datasets, evaluate, scores, tune_threshold
from studies.classes import ordinal, plan, report, study
from studies.harness import runner


def test_the_recipe_keeps_a_share_of_each_letter():
    ids = np.repeat(np.arange(26), 104)
    x = np.arange(len(ids))
    rows, kept = plan.thinned((x, ids), (3, 0))
    np.testing.assert_array_equal(np.bincount(kept), [round(104 / k) for k in range(1, 27)])
    np.testing.assert_array_equal(ids[rows], kept)
    assert len(np.unique(rows)) == len(rows)
    again, other = (plan.thinned((x, ids), seed)[0] for seed in ((3, 0), (4, 0)))
    np.testing.assert_array_equal(rows, again)
    assert not np.array_equal(rows, other)


def test_every_method_has_a_loss_and_a_baseline():
    for each in plan.STUDIES.values():
        assert each.methods[0] == "ce"
        for method in each.methods:
            value = plan.loss(method)(np.array([0, 1]), np.array([[0.8, 0.2], [0.4, 0.6]], "float32"))
            assert 0 < float(keras.ops.mean(value)) < 3


def made_up(name, seed, raw_dir, classes=4, features=6):
    """Small ordinal data."""
    parts = []
    for number, samples in enumerate((300, 100, 100)):
        random = np.random.default_rng((seed, number))
        x = random.normal(size=(samples, features)).astype("float32")
        place = x[:, 0] + 0.5 * random.normal(size=samples)
        parts.append((x, np.digitize(place, np.linspace(-1, 1.5, classes - 1)).astype("int32")))
    return datasets.Splits(*parts)


@pytest.mark.usefixtures("eagerly")
def test_a_run_resumes_and_its_report_is_a_table(folder, monkeypatch):
    short = plan.STUDIES["letter"]._replace(
        scores=("f1",), training=plan.Training(epochs=2), guided=("f1+guided", "regression")
    )
    monkeypatch.setitem(plan.STUDIES, "letter", short)
    monkeypatch.setattr(study, "_load", made_up)
    wanted = [{"study": "letter", "method": method} for method in short.methods]
    runner.run(study.STUDY, wanted, trials=1, folder=folder)
    store = study.STUDY.store(folder)
    whole = store.read()
    assert not runner.missing(study.STUDY, wanted, trials=1, folder=folder)
    store.collect()
    lost = (",f1+ce,", ",bound,")  # a training, and a decision of another one
    lines = store.table.read_text().splitlines(keepends=True)
    store.table.write_text("".join(line for line in lines if not any(each in line for each in lost)))
    assert [job.key["method"] for job in runner.missing(study.STUDY, wanted, trials=1, folder=folder)] == [
        "ce",
        "f1+ce",
    ]
    runner.run(study.STUDY, wanted, trials=1, folder=folder)
    assert len(store.read()) == len(whole) == 5 * 2 + 3  # and three more of cross-entropy
    found = {(row["method"], row["decision"]): row["value"] for row in store.read()}
    assert found["ce", "bound"] >= max(found["ce", decision] for decision in ("argmax", "one number", "auto"))
    assert all(-1 <= value <= 1 for value in found.values())
    shown = report.page(folder)
    assert "## letter, 1 splits" in shown
    assert f"{found['f1+ce', 'argmax']:.3f} ± 0.000" in shown


def test_a_cumulative_link_is_the_definition():
    layer, f = ordinal.CumulativeLink(4), np.array([[-2.0], [0.3], [5.0]], "float32")
    layer.build((None, 1))
    layer.cuts.assign([-1.0, 0.5, -0.2])
    cuts = np.cumsum([-1.0, np.exp(0.5), np.exp(-0.2)])
    below = 1 / (1 + np.exp(f - cuts))
    want = np.diff(np.hstack([np.zeros((3, 1)), below, np.ones((3, 1))]))
    np.testing.assert_allclose(np.exp(layer(f)), want, rtol=1e-4, atol=1e-7)


def test_regression_is_rounded_and_offsets_are_cut_points():
    random = np.random.default_rng(0)
    grades = random.uniform(-0.4, 3.4, 400).astype("float32")
    y = np.digitize(grades, (0.2, 0.9, 2.7))  # cut points that are not halfway
    logits = np.asarray(ordinal.Grades(4)(grades[:, None]))
    np.testing.assert_array_equal(logits.argmax(1), np.round(grades))
    np.testing.assert_allclose(ordinal.squared_error(y, logits), (y - grades) ** 2, rtol=1e-4, atol=1e-5)
    kappa = scores.kappa(weights="quadratic")
    p = np.asarray(keras.ops.softmax(logits))
    tuned = tune_threshold(y, p, kappa, decision="argmax")
    assert evaluate(y, p, kappa, threshold="argmax") < 0.95
    assert tuned.score > 0.99  # coordinate by coordinate


def test_one_number_is_the_best_multiple_of_log_shares():
    random = np.random.default_rng(0)
    y = random.choice(3, 500, p=[0.8, 0.15, 0.05])
    p = random.dirichlet(np.ones(3), 500) * [0.8, 0.15, 0.05] + 0.2 * np.eye(3)[y]
    p /= p.sum(1, keepdims=True)
    found = study.one_number(y, p, scores.f1)
    ratio = np.array(found.offsets) / np.log(np.bincount(y) / 500)
    np.testing.assert_allclose(ratio, ratio[0])
    assert ratio[0] < -0.4
    value = evaluate(y, p, "f1", threshold=found)
    assert value > evaluate(y, p, "f1", threshold="argmax") + 0.02


def test_the_table_has_means_and_paired_differences():
    values = {("ce", "offsets"): (0.5, 0.7), ("f1", "argmax"): (0.6, 0.9)}
    found = [
        {"method": method, "decision": decision, "score": "f1", "trial": seed, "value": value}
        for (method, decision), pair in values.items()
        for seed, value in enumerate(pair)
    ]
    lines = report.table(plan.STUDIES["letter"], found).splitlines()
    assert "| cross-entropy | offsets | 0.600 ± 0.141 |  |  |  |" in lines
    assert "| soft macro F1 | argmax | 0.750 ± 0.212 | +0.150 ± 0.050 |  |  |" in lines


def test_a_gain_is_paired(folder):
    values = {("ce", "offsets"): (0.5, 0.7), ("f1+ce", "argmax"): (0.6, 0.9)}
    rows = [
        {"study": "letter", "method": m, "decision": d, "score": "f1", "trial": k, "value": value}
        for (m, d), pair in values.items()
        for k, value in enumerate(pair)
    ]
    study.STUDY.store(folder).append(rows)
    assert report.gain("letter", "f1", "offsets", folder) == "0.150 ± 0.050"
    assert report.gain("letter", "f1", "offsets", folder, sign="+") == "+0.150 ± 0.050"
    assert report.mean("letter", "f1", "f1+ce", "argmax", range(1, 2), folder) == "0.900"
