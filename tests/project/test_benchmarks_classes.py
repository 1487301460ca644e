"""The study of several classes: its recipe, that it resumes, and the arithmetic of its table."""

import sys

import numpy as np

from benchmarks.classes import __main__ as command
from benchmarks.classes import data, plan, records, report
from benchmarks.classes.records import Record


def test_the_recipe_keeps_a_share_of_each_letter():
    ids = np.repeat(np.arange(26), 104)
    x = np.arange(len(ids))
    rows, kept = data.thinned((x, ids), (3, 0))
    np.testing.assert_array_equal(np.bincount(kept), [round(104 / k) for k in range(1, 27)])
    np.testing.assert_array_equal(ids[rows], kept)
    assert len(np.unique(rows)) == len(rows)
    again, other = (data.thinned((x, ids), seed)[0] for seed in ((3, 0), (4, 0)))
    np.testing.assert_array_equal(rows, again)
    assert not np.array_equal(rows, other)


def test_every_method_has_a_loss_and_a_rival():
    for study in plan.STUDIES.values():
        assert study.methods[0] == "ce"
        for method in study.methods:
            value = float(plan.loss(method)(np.array([0, 1]), np.array([[0.8, 0.2], [0.4, 0.6]], "float32")))
            assert 0 < value < 3


def test_a_run_resumes_and_its_report_is_a_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(plan.STUDIES, "letter", plan.STUDIES["letter"]._replace(scores=("f1",)))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["classes", *arguments, "--output", str(tmp_path), "--data", "letter"])
        command.main()
        return capsys.readouterr().out

    first = run("run", "--smoke", "--seeds", "1")
    assert first.count("letter, seed 0") == 3
    file = tmp_path / "letter.csv"
    whole = file.read_text()
    assert run("run", "--smoke", "--seeds", "1") == ""
    lost = (",f1+ce,", ",bound,")  # a training, and a decision of another one
    file.write_text("".join(line for line in whole.splitlines(keepends=True) if not any(x in line for x in lost)))
    assert run("run", "--smoke", "--seeds", "1").count("letter, seed 0") == 2
    assert len(file.read_text().splitlines()) == len(whole.splitlines())
    found = {r[:5]: r.value for r in records.read(file)}
    assert len(found) == 3 * 2 + 1  # and the bound of cross-entropy
    assert found["letter", 0, "ce", "f1", "bound"] >= found["letter", 0, "ce", "f1", "argmax"]
    assert all(-1 <= value <= 1 for value in found.values())
    shown = run("report")
    assert "## letter, 1 splits" in shown
    assert f"{found['letter', 0, 'f1+ce', 'f1', 'argmax']:.3f} ± 0.000" in shown


def test_the_table_has_means_and_paired_differences():
    values = {("ce", "offsets"): (0.5, 0.7), ("f1", "argmax"): (0.6, 0.9)}
    found = [
        Record("letter", seed, method, "f1", decision, value, 1.0)
        for (method, decision), pair in values.items()
        for seed, value in enumerate(pair)
    ]
    lines = report.table(plan.STUDIES["letter"], found).splitlines()
    assert "| cross-entropy | offsets | 0.600 ± 0.141 |  |  |  |" in lines
    assert "| soft macro F1 | argmax | 0.750 ± 0.212 | +0.150 ± 0.050 |  |  |" in lines
