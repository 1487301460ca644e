"""Runs that are resumed, the columns that they write, and images that are trained in two sittings."""

import keras
import numpy as np
import pytest
from paper_trials import two_trials

from benchmarks import frog
from benchmarks.paper.records.store import read_lines
from benchmarks.recipes import __main__ as command
from benchmarks.recipes import data, evaluation, images, plan, runner, unet
from keras_softsets.datasets import Splits


@pytest.fixture
def made_up(monkeypatch):
    """Two trials of a moment in the place of a data set."""
    asked = []

    def load(name, seeds, raw_dir):
        asked.append(seeds)
        return two_trials().of(np.arange(len(seeds)))._replace(seeds=np.array(seeds))

    monkeypatch.setattr(data, "load", load)
    monkeypatch.setattr(plan, "MOST_EPOCHS", 4)
    monkeypatch.setattr(plan, "LEAST_EPOCHS", 2)
    return asked


def test_a_run_is_resumed_where_it_was_left(made_up, tmp_path, capsys):
    rows = plan.rows(["mammography"], ["bce", "f1"], [32])
    runner.run(rows[:1], 1, None, tmp_path)
    first = read_lines(tmp_path / rows[0].path)
    runner.run(rows, 2, None, tmp_path)
    assert made_up == [(0,), (1,), (0, 1)]  # what was missing of each
    runner.run(rows, 2, None, tmp_path)
    assert len(made_up) == 3
    lines = read_lines(tmp_path / rows[0].path)
    assert lines[0] == first[0]
    assert [line["trial"] for line in lines] == [0, 1]
    assert set(evaluation.COLUMNS) < set(lines[0])
    assert "0 rows, at most 0.0 hours" in capsys.readouterr().out


def test_the_command_lists_and_runs(made_up, tmp_path, capsys):
    arguments = ["memory", "--data", "mammography", "--methods", "f1_memory", "--batch-size", "16", "--trials", "2"]
    command.main([*arguments, "--results", str(tmp_path), "--list"])
    assert "mammography/f1_memory-batch16.csv" in capsys.readouterr().out
    assert not made_up
    command.main([*arguments, "--results", str(tmp_path)])
    assert len(read_lines(tmp_path / "mammography" / "f1_memory-batch16.csv")) == 2
    with pytest.raises(SystemExit, match=r"--methods must be among .* Received: f2"):
        command.main(["tabular", "--methods", "f2"])


def test_the_estimate_learns_from_what_is_on_disk(made_up, tmp_path):
    row = plan.Row("mammography", "bce", 32)
    before = runner.estimate(row, 2, tmp_path)
    runner.run([row], 2, None, tmp_path)
    (line, _) = read_lines(tmp_path / row.path)
    updates = plan.budget(plan.SAMPLES["mammography"], 32).epochs * 224
    want = runner.SECONDS_TO_COMPILE + updates * line["seconds"] / line["updates"] * 2
    assert runner.estimate(row, 2, tmp_path) == pytest.approx(want, rel=1e-3)
    assert before != pytest.approx(want, rel=1e-3)


def test_calibration_error_by_hand():
    p = np.array([0.1, 0.1, 0.3, 0.3, 0.8, 0.8])
    y = np.array([0, 0, 0, 1, 1, 1])
    assert evaluation.calibration_error(y, p, bins=3) == pytest.approx((0.1 + 0.2 + 0.2) / 3)
    assert evaluation.calibration_error(y, p, bins=4) == pytest.approx((2 * 0.1 + 2 * 0.2 + 0.2 + 0.2) / 6)
    assert evaluation.brier(y, p) == pytest.approx((0.01 + 0.01 + 0.09 + 0.49 + 0.04 + 0.04) / 6)


def test_columns_are_those_of_probabilities():
    y, z = np.array([0.0, 1, 0, 1]), np.array([-3.0, -1, 0.5, 2])
    found = evaluation.columns((y, z), (y, z))
    assert found["f1_at_half"] == pytest.approx(0.5)
    assert found["recall_at_half"] == 0.5
    assert found["f1_tuned"] == pytest.approx(0.8)
    assert found["auroc"] == pytest.approx(0.75)


def frogs(samples=96):
    random = np.random.default_rng(0)
    y = (np.arange(samples) % 4 == 0).astype("float32")
    x = (random.random((samples, 32, 32, 3)) + 0.5 * y[:, None, None, None]).astype("float32")
    return Splits((x, y), (x[:40], y[:40]), (x[40:], y[40:]))


def without_seconds(path):
    return [{key: value for key, value in line.items() if key != "seconds"} for line in read_lines(path)]


def test_images_resumed_are_images_undisturbed(tmp_path, monkeypatch):
    name = "scheduled and oversampled"  # both depend on the epoch or the trial
    methods = {name: images.METHODS["f1_bce_scheduled"]._replace(balance="oversampled")}
    two, three = (images.STUDY._replace(methods=methods, epochs=epochs) for epochs in (2, 3))
    frog.train(three, "small_cnn", name, 1, frogs(), tmp_path / "whole")
    killed = tmp_path / "killed" / frog.path("small_cnn", name, 1)
    with monkeypatch.context() as patch:
        patch.setattr(type(killed), "unlink", lambda self, missing_ok=False: None)  # as if it had been killed here
        frog.train(two, "small_cnn", name, 1, frogs(), tmp_path / "killed")
    frog.train(three, "small_cnn", name, 1, frogs(), tmp_path / "killed")
    want = without_seconds(tmp_path / "whole" / frog.path("small_cnn", name, 1))
    assert without_seconds(killed) == want
    assert [line["epoch"] for line in want] == [1, 2, 3]
    assert sorted(path.suffix for path in (tmp_path / "killed").rglob("*.*")) == [".csv"]


def test_images_are_balanced_as_tables_are():
    (x, y), *_ = frogs()
    _, labels, weights = frog.balanced((x, y), "weighted", 0)
    assert (weights * labels).sum() == pytest.approx((weights * (1 - labels)).sum())
    more, labels, _ = frog.balanced((x, y), "oversampled", 0)
    assert labels.mean() == 0.5
    np.testing.assert_array_equal(more[: len(x)], x)


def test_a_unet_reports_whether_it_is_stuck(monkeypatch, tmp_path):
    for name, value in {"IMAGES": 8, "EPOCHS": 1, "SIDE": 16}.items():
        monkeypatch.setattr(unet, name, value)
    unet.run(["jaccard_bce_scheduled"], ["bfloat16_last_float32"], 1, None, tmp_path)
    (line,) = read_lines(tmp_path / unet.path("bfloat16_last_float32", "jaccard_bce_scheduled"))
    assert line["stuck"] == (line["recall_at_half"] < unet.STUCK_BELOW)
    assert keras.config.dtype_policy().name == "float32"
    assert unet.make_model(output_bias=True).layers[-1].bias.numpy() == pytest.approx(np.log(0.01 / 0.99))
    keras.config.set_dtype_policy("mixed_bfloat16")
    assert [unet.make_model(last_layer=dtype).layers[-1].compute_dtype for dtype in (None, "float32")] == [
        "bfloat16",
        "float32",
    ]
    monkeypatch.undo()
    assert unet.make_images(50, 0)[1].mean() == pytest.approx(unet.SHARE, rel=0.1)
