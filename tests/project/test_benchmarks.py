"""The benchmarks run, write what they promise, and count rightly; how long anything takes is not a test's business."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import _report
    import _timing

    return _timing, _report


def run(script, *arguments):
    command = [sys.executable, str(FOLDER / script), *arguments]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


@pytest.mark.slow
@pytest.mark.parametrize("script", ["loss_speed", "fit_speed"])
def test_quick_run_writes_json_and_a_page(script, tmp_path):
    assert "Results are in" in run(f"{script}.py", "--quick", "--output", str(tmp_path))
    results = json.loads((tmp_path / f"{script}.json").read_text())
    assert {"cores", "packages", "command"} <= set(results["machine"])
    cases = results["setups"] if script == "fit_speed" else results["speed"]["n=256, compiled"]
    assert len(cases) >= 3
    assert all(len(case["wall"]["ratio"]) == 3 for case in cases.values())
    assert all(name in (tmp_path / f"{script}.md").read_text() for name in cases)


def test_cases_are_timed_in_turn(modules):
    timing, _ = modules
    calls = []
    times = timing.interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, seconds=0, least=3)
    assert calls == ["a", "a", "b", "b"] + ["a", "b"] * 3
    assert [len(rounds) for rounds in times.values()] == [3, 3]


def test_ratios_are_those_of_the_same_round(modules):
    timing, _ = modules
    base = [[1.0, 1.0], [10.0, 1.0], [2.0, 1.0]]
    ours = [[2.0, 3.0], [20.0, 3.0], [4.0, 3.0]]  # twice as long, whatever the machine did meanwhile
    summary = timing.summary(ours, base)
    assert summary["wall"]["ratio"] == [2.0, 2.0, 2.0]
    assert summary["processor"]["ratio"] == [3.0, 3.0, 3.0]
    assert summary["wall"]["ms"][1] == 4000.0


def test_peak_memory_sees_what_a_call_allocates(modules):
    timing, _ = modules
    needed = timing.peak_memory(lambda: bytes(bytearray(b"x") * 50_000_000))
    assert needed == 0 or 45e6 < needed < 150e6


def test_report_judges_targets(modules):
    _, report = modules
    case = {"wall": {"ratio": [0.8, 0.9, 1.1], "ms": [1, 1, 1]}, "processor": {"ratio": [1, 1, 1]}, "rounds": 3}
    slow = {**case, "wall": {"ratio": [3, 4, 5], "ms": [1, 1, 1]}}
    speed = {"n=1000000, compiled": {"linear, 1 threshold": case, "linear, 9 thresholds": slow}}
    machine = {key: "" for key in ("command", "date", "processor", "cores", "load_at_start", "python")}
    results = {"machine": {**machine, "packages": {}}, "speed": speed, "times_torch_btg": 900.0, "growth": {"x": 1.2}}
    page = report.page(results)
    assert "| linear, 1 threshold; n=1000000, compiled: ratio | at most 1 | 0.9 | yes |" in page
    assert "| linear, 9 thresholds; n=1000000, compiled: ratio | at most 3 | 4 | **no** |" in page
    assert "| at least 500 | 900 | yes |" in page
    assert "| x: exponent of n, 1e5 to 1e7 | at most 1.1 | 1.2 | **no** |" in page
    assert report.exponent((10, 1.0), (1000, 100.0)) == pytest.approx(1.0)
