"""Training on pictures: which networks, until when, and how a killed run goes on."""

import keras
import numpy as np
import pytest

import keras_softsets as kss
from benchmarks.paper import cifar10, epochs, summary
from benchmarks.paper.configurations import Configuration


@pytest.mark.parametrize(("network_name", "parameters"), [("tiny_darknet_keras", 917_617), ("yolov3_tiny", 6_299_505)])
def test_other_networks_are_what_their_names_say(network_name, parameters):
    model = cifar10.untrained("bce", 0, network_name)
    assert model.count_params() == parameters
    kernel = next(layer.kernel for layer in model.layers if getattr(layer, "filters", 0) == 128).numpy()
    fan_in, fan_out = np.prod(kernel.shape[:-1]), np.prod(kernel.shape[:2]) * kernel.shape[-1]
    scale = 2 / (fan_in + fan_out) if network_name == "tiny_darknet_keras" else 1 / (3 * fan_in)
    np.testing.assert_allclose(kernel.std(), scale**0.5, rtol=0.05)


@pytest.fixture
def _small_pictures(monkeypatch):
    random = np.random.default_rng(0)
    part = random.normal(size=(24, 32, 32, 3)).astype("float32"), (np.arange(24) % 3 == 0).astype("float32")
    monkeypatch.setattr(cifar10, "load", lambda *_: kss.datasets.Splits(part, part, part))
    monkeypatch.setattr(cifar10, "BATCH_SIZE", 12)
    monkeypatch.setattr(cifar10.models, "tiny_darknet", small_network)


def small_network(logits):
    layers = [keras.Input((32, 32, 3)), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)]
    return keras.Sequential(layers)


@pytest.mark.usefixtures("_small_pictures")
@pytest.mark.parametrize("loss", ["f1_linear", "dice_logits"])
def test_pictures_are_trained_until_the_clock_says_stop(loss, monkeypatch):
    monkeypatch.setattr(cifar10, "MINUTES_ON_CPU", 0.0)
    (row,) = cifar10.run_trial(Configuration("cifar10_frog", loss), 0, None)
    assert row["best_epoch"] == 1
    assert 0 < row["epochs"] <= 1
    assert row["reading"] == ("logits" if loss == "dice_logits" else "probabilities")
    assert 0 <= row["mean_f1"] <= 1


@pytest.mark.usefixtures("_small_pictures")
def test_a_network_that_is_tested_every_epoch_goes_on_where_it_was_killed(tmp_path, monkeypatch):
    configuration = Configuration("cifar10_frog", "f1_linear")
    monkeypatch.setattr(cifar10, "LEARNING_RATE", 0.1)  # so that the order of the batches shows
    epochs.run(configuration, 3, None, tmp_path / "whole")
    (whole,) = summary.epochs(configuration, tmp_path / "whole")
    assert [row["epoch"] for row in whole] == [1, 2, 3]

    epochs.run(configuration, 1, None, tmp_path / "killed")
    with monkeypatch.context() as patch:  # after the line of the second epoch, before its weights
        patch.setattr(keras.Model, "save_weights", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            epochs.run(configuration, 3, None, tmp_path / "killed")
    assert [len(rows) for rows in summary.epochs(configuration, tmp_path / "killed")] == [2]
    epochs.run(configuration, 3, None, tmp_path / "killed")
    (resumed,) = summary.epochs(configuration, tmp_path / "killed")
    for row in (*whole, *resumed):
        assert row.pop("seconds") > 0
    np.testing.assert_allclose(*([list(row.values()) for row in rows] for rows in (whole, resumed)), rtol=1e-4)
    assert summary.best_epoch(whole)["validation_loss"] == min(row["validation_loss"] for row in whole)

    lines, weights = (next((tmp_path / "whole").rglob(f"*.{kind}")) for kind in ("csv", "h5"))
    before = lines.read_text()
    weights.unlink()
    with pytest.raises(FileNotFoundError, match="3 epochs"):
        epochs.run(configuration, 4, None, tmp_path / "whole")
    assert lines.read_text() == before


@pytest.mark.usefixtures("_small_pictures")
def test_trials_of_a_network_that_is_tested_every_epoch_differ(tmp_path, monkeypatch):
    seeds = []
    pictures = cifar10.load("cifar10_frog", 0, None)
    monkeypatch.setattr(cifar10, "load", lambda _, seed, __: seeds.append(seed) or pictures)
    configuration = Configuration("cifar10_frog", "f1_linear")
    for trial in (0, 1):
        epochs.run(configuration, 1, None, tmp_path, trial=trial)
    first, second = summary.epochs(configuration, tmp_path)
    assert seeds == [0, 1]
    assert first[0]["validation_loss"] != second[0]["validation_loss"]
