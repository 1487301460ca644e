"""Results on disk: resumed after being killed, whole or not there, and with the versions that made them."""

import csv

import pytest

from benchmarks import machine
from benchmarks.paper import runner
from benchmarks.paper.methods.svm.method import COSTS
from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.records import environment, store


def test_an_interrupted_run_is_resumed(tmp_path, monkeypatch):
    wanted = [Configuration("synthetic_05", loss) for loss in ("f1_linear", "svm_f1")]
    calls = []

    def method(job):
        for seed in job.seeds:
            calls.append((job.configuration.loss, seed))
            if len(calls) == 4:
                raise KeyboardInterrupt
            yield [{"trial": seed, "reading": "probabilities", "mean_f1": 0.5}]

    monkeypatch.setattr(runner, "method_of", lambda configuration: method)
    with pytest.raises(KeyboardInterrupt):
        runner.run(wanted, 2, None, tmp_path)
    assert [line["trial"] for line in store.read(wanted[1], tmp_path)] == [0]
    runner.run(wanted, 2, None, tmp_path)
    runner.run(wanted, 3, None, tmp_path)
    first, second = (c.loss for c in wanted)
    assert calls == [(first, 0), (first, 1), (second, 0), (second, 1), (second, 1), (first, 2), (second, 2)]
    assert [line["trial"] for line in store.read(wanted[0], tmp_path)] == [0, 1, 2]
    assert not list(tmp_path.rglob("*.tmp"))


def test_lines_of_one_file_have_the_same_columns(tmp_path):
    configuration = Configuration("adult", "svm_f1")
    store.add(configuration, [{"trial": 0, "reading": "decision", "validation_loss": 10.0}], tmp_path)
    before = (tmp_path / configuration.path).read_text()
    with pytest.raises(ValueError, match=r"same columns. Received: \['cost', 'validation_loss'\]"):
        store.add(configuration, [{"trial": 1, "reading": "decision", "cost": 10.0}], tmp_path)
    assert (tmp_path / configuration.path).read_text() == before


def test_the_cost_of_an_svm_has_a_column_of_its_own():
    files = sorted(store.FOLDER.rglob("svm_*.csv"))
    assert len(files) == 12
    for path in files:
        with path.open(newline="") as file:
            lines = list(csv.DictReader(file))
        assert "validation_loss" not in lines[0]
        assert {float(line["cost"]) for line in lines} <= set(COSTS)


def test_versions_that_only_an_earlier_run_had_are_kept(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(environment, "_ADVERSARIAL", ("pytest",))
        environment.write(tmp_path)
        patch.setattr(machine, "version", lambda package: None)
        environment.write(tmp_path)
        assert environment.read(tmp_path)["pytest"] == pytest.__version__
    environment.write(tmp_path)
    assert "pytest" not in environment.read(tmp_path)
