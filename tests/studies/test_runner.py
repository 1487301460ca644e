"""Runs that are resumed, the columns that they write, and images that are trained in two sittings."""

import dataclasses

import keras
import numpy as np
import pytest
from paper_trials import two_trials

import keras_softsets as kss
from keras_softsets.datasets import Splits
from studies import __main__ as command
from studies.engine import evaluation, fitting, side_by_side, tabular
from studies.engine.tabular import Method
from studies.harness import runner
from studies.harness.study import Job, Study, product
from studies.images import frog, training
from studies.recipes import images, unet
from studies.recipes.plan import STUDY

KEYS = ("data", "method", "trial")


def made_up_study(train, **options):
    return Study("made_up", "nothing", KEYS, product(data=["a", "b"], method=["x"]), train, trials=2, **options)


def test_a_killed_run_loses_nothing_that_was_finished(folder):
    calls = []

    def train(job):
        for trial in job.trials:
            calls.append((job.key["data"], trial))
            if len(calls) == 4:
                raise KeyboardInterrupt
            yield {"trial": trial, "f1": 0.5}

    study = made_up_study(train, together=True)
    with pytest.raises(KeyboardInterrupt):
        runner.run(study, folder=folder)
    assert len(study.store(folder).read()) == 3
    runner.run(study, folder=folder)
    study.store(folder).collect()
    runner.run(study, folder=folder, trials=3)
    assert calls == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_all_entries_get_their_first_trial_before_any_gets_its_second(folder):
    jobs = runner.missing(made_up_study(None), folder=folder)
    assert [(job.key["data"], job.trials) for job in jobs] == [("a", (0,)), ("b", (0,)), ("a", (1,)), ("b", (1,))]


def test_a_trial_with_some_of_its_epochs_is_not_finished(folder):
    study = dataclasses.replace(made_up_study(None, epochs=2), keys=(*KEYS, "epoch"))
    rows = [{"data": "a", "method": "x", "trial": 0, "epoch": k, "seconds": 60.0} for k in (1, 2)]
    study.store(folder).append([*rows, rows[0] | {"trial": 1}])
    (left,) = runner.missing(study, study.plan[:1], folder=folder)
    assert (left.trials, len(left.done), left.epochs) == ((1,), 1, 2)
    assert len(runner.missing(study, study.plan[:1], epochs=3, folder=folder)) == 2
    assert runner._minutes(study, left, study.store(folder)) == 1.0  # one of two epochs, a minute each


@pytest.fixture
def _small(monkeypatch):
    """Two trials of a moment in the place of a data set."""
    for module in (side_by_side, fitting):
        load = lambda name, seeds, raw_dir: two_trials().of(np.arange(len(seeds)))._replace(seeds=np.array(seeds))
        monkeypatch.setattr(module, "load_trials", load)
    monkeypatch.setattr(tabular, "MOST_EPOCHS", 4)
    monkeypatch.setattr(tabular, "LEAST_EPOCHS", 2)


@pytest.mark.usefixtures("_small")
def test_the_command_lists_runs_and_resumes(folder, capsys):
    only = ["--only", "data=mammography", "method=f1_memory", "batch_size=16"]
    arguments = ["--results", str(folder), "run", "recipes", *only, "--trials"]
    command.main([*arguments, "2", "--dry-run"])
    assert "recipes mammography f1_memory 16, trial 0, 1" in capsys.readouterr().out
    assert not folder.exists()
    command.main([*arguments, "1"])
    (first,) = STUDY.store(folder).read()
    command.main([*arguments, "2"])
    assert "recipes mammography f1_memory 16, trial 1\n" in capsys.readouterr().out  # only what was missing
    rows = STUDY.store(folder).read()
    assert rows[0] == first
    assert [row["trial"] for row in rows] == [0, 1]
    assert set(evaluation.COLUMNS) < set(rows[0])
    command.main(["--results", str(folder), "collect", "recipes"])
    assert capsys.readouterr().out.endswith("recipes: 2 rows\n")
    with pytest.raises(SystemExit, match=r"Received: method=f2, where method is one of bce, "):
        command.main(["run", "recipes", "--only", "method=f2"])


@pytest.mark.usefixtures("_small")
def test_a_study_of_any_keras_loss_is_a_plan_and_methods(folder):
    """As in studies/README.md: the losses are Keras's, and each trial is a row as soon as it is finished."""
    bce = lambda: keras.losses.BinaryCrossentropy(from_logits=True)
    methods = {
        "bce": Method("BCE", bce),
        "bce_weighted": Method("balanced BCE", bce, balance="weighted"),
        "f1": Method("SoftF1", lambda: kss.SoftF1(from_logits=True), output_bias=True),
    }
    plan = product(data=["adult"], method=methods, batch_size=[32])
    study = tabular.tabular_study("mine", "whether it runs", plan, methods, trials=2, by="fit")
    runner.run(study, folder=folder)
    rows = study.store(folder).read()
    assert [row["trial"] for row in rows] == [0, 0, 0, 1, 1, 1]
    assert len({row["brier"] for row in rows}) == 6
    assert {row["updates"] for row in rows} == {4 * 5}  # 150 samples
    assert not runner.missing(study, folder=folder)


def test_fit_keeps_the_epoch_with_the_lowest_validation_loss(monkeypatch):
    data = two_trials()
    monkeypatch.setattr(fitting, "load_trials", lambda name, seeds, raw_dir: data.of(np.array([0])))
    monkeypatch.setattr(fitting, "LEARNING_RATE", -0.05)  # uphill: the first epoch is the best
    method = Method("BCE", lambda: keras.losses.BinaryCrossentropy(from_logits=True))
    budget = lambda samples, size: tabular.Budget(20, 3)
    (row,) = fitting.rows(Job({"data": "adult", "method": "bce", "batch_size": 32}, (0,)), method, budget)
    assert (row["best_epoch"], row["epochs"]) == (1, 4)


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


def test_images_resumed_are_images_undisturbed(folder, monkeypatch):
    name = "scheduled and oversampled"  # both depend on the epoch or the trial
    methods = {name: images.METHODS["f1_bce_scheduled"]._replace(balance="oversampled")}
    monkeypatch.setattr(training, "load", lambda *_: frogs())
    monkeypatch.setattr(images, "METHODS", methods)
    study = dataclasses.replace(images.STUDY, plan=product(network=["small_cnn"], method=methods), trials=1)
    killed = folder.with_name("killed")
    runner.run(study, epochs=3, folder=folder)
    runner.run(study, epochs=2, folder=killed / "results")
    runner.run(study, epochs=3, folder=killed / "results")
    found = [
        [{key: value for key, value in row.items() if key != "seconds"} for row in study.store(each).read()]
        for each in (folder, killed / "results")
    ]
    assert found[0] == found[1]
    assert [row["epoch"] for row in found[0]] == [1, 2, 3]


def test_images_are_balanced_as_tables_are():
    (x, y), *_ = frogs()
    _, labels, weights = frog.balanced((x, y), "weighted", 0)
    assert (weights * labels).sum() == pytest.approx((weights * (1 - labels)).sum())
    more, labels, _ = frog.balanced((x, y), "oversampled", 0)
    assert labels.mean() == 0.5
    np.testing.assert_array_equal(more[: len(x)], x)


def test_a_unet_reports_whether_it_is_stuck(monkeypatch):
    for name, value in {"IMAGES": 8, "EPOCHS": 1, "SIDE": 16}.items():
        monkeypatch.setattr(unet, name, value)
    key = {"variant": "bfloat16_last_float32", "method": "jaccard_bce_scheduled"}
    (line,) = unet.STUDY.train(Job(key, (0,)))
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
