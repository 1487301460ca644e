"""The speed benchmarks run, count rightly and write what they measured; how long anything takes is not tested."""

import csv
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import tuner_rules
from benchmarks.speed import (
    docs_page,
    fit_speed,
    loss_speed,
    measurements,
    pages,
    plan,
    results,
    timing,
)
from benchmarks.speed.cases import BASE, Batch, Case, Group
from benchmarks.speed.losses import AP_PERF, LOSSES, TORCH_BTG, Peer, named
from benchmarks.speed.shapes import plan as shapes
from benchmarks.speed.timing import Rounds

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_quick_run_writes_json_and_pages(tmp_path):
    command = [sys.executable, "-m", "benchmarks.speed", "--quick", "--output", str(tmp_path)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=ROOT).stdout
    assert f"Results are in {tmp_path}" in out
    assert "linear, 1 threshold" in (tmp_path / "shape_speed.md").read_text()
    for name in ("loss_speed", "fit_speed"):
        found = json.loads((tmp_path / f"{name}.json").read_text())
        assert found["machine"]["command"] == f"python -m benchmarks.speed --quick --output {tmp_path}"
        cases = found["setups"] if name == "fit_speed" else found["speed"]["n=256, compiled"]
        assert len(cases) >= 3
        for case, measured in cases.items():
            assert measured["wall"]["ms"][0] > 0
            assert case in (tmp_path / f"{name}.md").read_text()
    (arrays,) = json.loads((tmp_path / "loss_speed.json").read_text())["memory"]["n=1000000, compiled"].values()
    assert 1 <= arrays <= plan.MOST_MEMORY if sys.platform == "linux" else arrays is None


def test_runs_are_timed_in_turn():
    calls = []
    runs = {name: lambda name=name: calls.append(name) for name in "ab"}
    times = timing.interleaved(runs, Rounds(seconds=0, least=3))
    assert calls == ["a", "a", "b", "b"] + ["a", "b"] * 3
    assert [len(rounds) for rounds in times.values()] == [3, 3]


def test_ratios_are_those_of_the_same_round():
    base = [[1.0, 1.0], [10.0, 1.0], [2.0, 1.0]]
    ours = [[2.0, 3.0], [20.0, 3.0], [4.0, 3.0]]  # twice as long, whatever the machine did meanwhile
    summary = timing.summary(ours, base)
    assert summary["wall"]["ratio"] == [2.0, 2.0, 2.0]
    assert summary["processor"]["ratio"] == [3.0, 3.0, 3.0]
    assert summary["wall"]["ms"][1] == 4000.0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak of a process, and lets it be reset")
def test_peak_memory_sees_what_a_call_allocates():
    twice = measurements.peak_memory(lambda: bytes(bytearray(b"x") * 50_000_000))  # a bytearray and its copy
    assert 90e6 < twice < 150e6
    assert measurements.peak_memory(lambda: None) < 10e6


def test_peak_memory_is_not_zero_where_the_system_does_not_tell(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "write_text", refuse)
    assert measurements.peak_memory(lambda: None) is None


@pytest.mark.parametrize(("needed", "arrays"), [(3 * 4 * 8, 3.0), (4 * 8 - 1, None), (0, None), (None, None)])
def test_a_peak_below_the_gradient_is_no_measurement(needed, arrays, monkeypatch):
    monkeypatch.setattr(measurements, "peak_memory", lambda step: needed)
    assert measurements.memory(Case(Peer("a", "json", lambda arrays: lambda: 0.0), Batch(8))) == arrays


def test_a_step_is_the_loss_of_its_batch():
    batch = Batch(64, weighted=True, soft_labels=True)
    y, p, w = batch.arrays()
    assert y.shape == p.shape == w.shape == (64, 1)
    assert set(np.unique(y.round(2))) == {np.float32(0.05), np.float32(0.95)}
    entropy = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    np.testing.assert_allclose(Case(LOSSES[BASE], batch).step()(), (w * entropy).mean(), rtol=1e-4)


def test_a_group_is_named_by_what_it_is():
    group = Group(Batch(64, 5, weighted=True), named(BASE), compiled=False)
    assert group.title == "n=64, 5 classes, uncompiled, weights"
    assert plan.PEERS.title == "n=1000000, peers"
    titles = [group.title for group in plan.GROUPS]
    assert len(set(titles)) == len(titles)
    assert set(titles) <= set(results.read("loss_speed")["speed"])


def test_cases_can_be_sent_to_a_process_of_their_own():
    for group in (*plan.GROUPS, *plan.MEMORY):
        for case in group.cases.values():
            assert pickle.loads(pickle.dumps(case)).contender.name == case.contender.name


def test_a_peer_that_is_not_installed_is_left_out():
    here, missing = (Peer(name, package, lambda arrays: lambda: 0.0) for name, package in [("a", "json"), ("b", "no")])
    group = Group(Batch(8), (here, missing), base="a", rounds=Rounds(seconds=0, least=2))
    assert {name: len(times) for name, times in measurements.step_times(group, Rounds(9)).items()} == {"a": 2}


def test_ratios_are_to_the_base_and_to_our_own_loss(monkeypatch):
    seconds = {TORCH_BTG.name: 6.0, AP_PERF.name: 3.0, BASE: 1.0, plan.OURS: 2.0}
    times = {name: [[value, value]] * 3 for name, value in seconds.items()}
    monkeypatch.setattr(measurements, "step_times", lambda group, rounds: times)
    found = loss_speed.compared_with_peers({"before": {}}, Rounds(0))
    assert list(found["speed"]) == ["before", "n=1000000, peers"]
    ratios = {name: case["wall"]["ratio"][1] for name, case in found["speed"]["n=1000000, peers"].items()}
    assert ratios == seconds
    assert found["times_torch_btg"] == 3.0


def test_growth_is_the_exponent_of_n():
    def cases(ms):
        return {name: {"wall": {"ms": [0, ms, 0]}} for name in plan.GROWING}

    speed = {"n=100000, compiled": cases(2.0)}
    assert loss_speed.growth(speed) == {}
    assert loss_speed.growth(speed | {"n=10000000, compiled": cases(20.0)}) == dict.fromkeys(plan.GROWING, 0.5)


def test_the_time_to_a_goal_ends_with_the_epoch_that_reached_it():
    run = {"times": [[1.0, 9.0], [2.0, 9.0], [4.0, 9.0]], "f1": [0.2, 0.6, 0.5]}
    assert fit_speed.seconds_to(0.6, run) == 3.0
    assert fit_speed.seconds_to(0.7, run) is None


def test_targets_are_judged():
    case = {"wall": {"ratio": [0.8, 0.9, 1.1], "ms": [1, 1, 1]}, "processor": {"ratio": [1, 1, 1]}, "rounds": 3}
    slow = {**case, "wall": {"ratio": [3, 4, 5], "ms": [1, 1, 1]}}
    speed = {"n=1000000, compiled": {"linear, 1 threshold": case, "linear, 9 thresholds": slow}}
    machine = dict.fromkeys(("command", "date", "processor", "cores", "load", "python"), "")
    found = {"machine": {**machine, "packages": {}}, "speed": speed, "times_torch_btg": 900.0, "growth": {"x": 1.2}}
    found["memory"] = {"n=8": {"y": None, "z": 7.0}}
    page = pages.loss_page(found)
    assert "| linear, 1 threshold; n=1000000, compiled: ratio | at most 1 | 0.9 | yes |" in page
    assert "| linear, 9 thresholds; n=1000000, compiled: ratio | at most 3 | 4 | **no** |" in page
    assert "| at least 500 | 900 | yes |" in page
    assert "| x: exponent of n, 1e5 to 1e7 | at most 1.1 | 1.2 | **no** |" in page
    assert "| y; n=8: float32 arrays of length n | at most 6 | not measured |  |" in page
    assert "| z; n=8: float32 arrays of length n | at most 6 | 7 | **no** |" in page
    assert plan.Target("t", 500, 400, upper=False).verdict == "**no**"
    assert loss_speed.exponent((10, 1000), (1.0, 100.0)) == pytest.approx(1.0)


def test_the_pages_are_what_the_results_say():
    found = {"loss_speed": pages.loss_page, "fit_speed": pages.fit_page, "shape_speed": pages.shape_page}
    for name, page in found.items():
        assert (results.FOLDER / f"{name}.md").read_text() == page(results.read(name))
    with (results.FOLDER / "tuner_rules.csv").open() as file:
        assert (results.FOLDER / "tuner_rules.md").read_text() == tuner_rules.table(list(csv.reader(file))[1:])
    assert not docs_page.lacking()
    assert docs_page.PAGE.read_text() == docs_page.render()


def test_results_without_peers_or_memory_do_not_reach_the_documentation(tmp_path):
    found = results.read("loss_speed")
    del found["speed"][plan.PEERS.title]["AP-Perf, batch of 20"]
    found["memory"]["n=1000000, compiled"][BASE] = None
    results.write("loss_speed", found, tmp_path)
    results.write("shape_speed", {"steps": {}, "sizes": {}, "first epoch": {}, "metrics": {}}, tmp_path)
    assert docs_page.lacking(tmp_path) == ["AP-Perf, batch of 20", "memory", "growth"]


def test_goals_of_other_shapes_are_judged():
    goal = shapes.GOALS[0]
    case = {"wall": {"ratio": [0.8, 2.0, 3.1], "ms": [1, 2, 3]}}
    page = pages.goals({"steps": {goal.group.title: dict.fromkeys(goal.limits, case)}})
    assert "| n=1024, 1000 classes, compiled | linear, 1 threshold | 2.00 [0.80, 3.10] | 2 | 1 | **no** |" in page
    assert "| n=1024, 1000 classes, compiled | linear, 9 thresholds | 2.00 [0.80, 3.10] | 2 | 2.5 | yes |" in page


def test_batches_of_images_and_of_exclusive_classes():
    y, p = Batch(2, 5, sides=(3, 4)).arrays()
    assert y.shape == p.shape == (2, 3, 4, 5)
    y, p = Batch(50, 4, exclusive=True).arrays()
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-6)
    assert (y.sum(1) == 1).all()
    assert len({goal.group.title for goal in shapes.GOALS}) == len(shapes.GOALS)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(measurements.tf.config, "list_physical_devices", lambda kind: [])
    with pytest.raises(SystemExit, match="needs a GPU"):
        measurements.choose_device("gpu")
