"""Training on images: which networks, until when, and how a run resumes after being killed."""

import keras
import numpy as np
import pytest

import keras_softsets as kss
from benchmarks.paper.methods import evaluation
from benchmarks.paper.methods.cifar10 import epoch_by_epoch, method, training
from benchmarks.paper.methods.protocol import Job
from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.report import numbers


@pytest.mark.parametrize(("network_name", "parameters"), [("tiny_darknet_keras", 917_617), ("yolov3_tiny", 6_299_505)])
def test_other_networks_are_what_their_names_say(network_name, parameters):
    model = training.untrained("bce", 0, network_name)
    assert model.count_params() == parameters
    kernel = next(layer.kernel for layer in model.layers if getattr(layer, "filters", 0) == 128).numpy()
    fan_in, fan_out = np.prod(kernel.shape[:-1]), np.prod(kernel.shape[:2]) * kernel.shape[-1]
    scale = 2 / (fan_in + fan_out) if network_name == "tiny_darknet_keras" else 1 / (3 * fan_in)
    np.testing.assert_allclose(kernel.std(), scale**0.5, rtol=0.05)


@pytest.fixture
def _small_images(monkeypatch):
    random = np.random.default_rng(0)
    part = random.normal(size=(24, 32, 32, 3)).astype("float32"), (np.arange(24) % 3 == 0).astype("float32")
    monkeypatch.setattr(training, "load", lambda *_: kss.datasets.Splits(part, part, part))
    monkeypatch.setattr(training, "BATCH_SIZE", 12)
    monkeypatch.setattr(training.networks.models, "tiny_darknet", small_network)


def small_network(logits):
    layers = [keras.Input((32, 32, 3)), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)]
    return keras.Sequential(layers)


@pytest.mark.usefixtures("_small_images")
@pytest.mark.parametrize(("loss", "reading"), [("f1_linear", "probabilities"), ("dice_logits", "logits")])
def test_images_are_trained_until_the_clock_says_stop(loss, reading, monkeypatch):
    trained = []
    untrained = training.untrained
    monkeypatch.setattr(training, "untrained", lambda *a: trained.append(untrained(*a)) or trained[-1])
    monkeypatch.setattr(method, "MINUTES_ON_CPU", 0.0)
    ((line,),) = method.train(Job(Configuration("cifar10_frog", loss), (0,)))
    assert line["best_epoch"] == 1
    assert line["epochs"] == 0.5  # one batch of two: the clock does not wait for the end of an epoch
    assert trained[0].optimizer.iterations == 1
    assert line["reading"] == reading
    outputs = training.outputs(trained[0], training.load("cifar10_frog", 0, None))
    values = evaluation.read(reading, *outputs)
    np.testing.assert_equal({name: line[name] for name in values}, values)


@pytest.mark.usefixtures("_small_images")
def test_the_best_weights_are_restored_when_the_clock_says_stop(monkeypatch):
    class StopAfterThreeEpochs(method.StopAtTime):
        def on_train_batch_end(self, batch, logs=None):
            super().on_train_batch_end(batch, logs)
            self.model.stop_training = self.batches == 6

    trained = []
    untrained = training.untrained
    monkeypatch.setattr(training, "untrained", lambda *a: trained.append(untrained(*a)) or trained[-1])
    monkeypatch.setattr(training, "LEARNING_RATE", -0.1)  # uphill: the first epoch is the best
    monkeypatch.setattr(method, "StopAtTime", StopAfterThreeEpochs)
    monkeypatch.setattr(method, "MINUTES_ON_CPU", 99.0)
    ((line,),) = method.train(Job(Configuration("cifar10_frog", "dice"), (0,)))
    assert (line["best_epoch"], line["epochs"]) == (1, 3)
    (labels, logits), _ = training.outputs(trained[0], training.load("cifar10_frog", 0, None))
    np.testing.assert_allclose(trained[0].loss(labels, logits[:, None]), line["validation_loss"], rtol=1e-5)


@pytest.mark.usefixtures("_small_images")
def test_a_network_that_is_tested_every_epoch_resumes_where_it_was_killed(tmp_path, monkeypatch):
    configuration = Configuration("cifar10_frog", "f1_linear")
    monkeypatch.setattr(training, "LEARNING_RATE", 0.1)  # so that the order of the batches shows
    epoch_by_epoch.run(configuration, 3, None, tmp_path / "whole")
    (whole,) = numbers.epochs(configuration, tmp_path / "whole")
    assert [row["epoch"] for row in whole] == [1, 2, 3]

    epoch_by_epoch.run(configuration, 1, None, tmp_path / "killed")
    with monkeypatch.context() as patch:  # after the line of the second epoch, before its weights
        patch.setattr(keras.Model, "save_weights", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            epoch_by_epoch.run(configuration, 3, None, tmp_path / "killed")
    assert [len(rows) for rows in numbers.epochs(configuration, tmp_path / "killed")] == [2]
    epoch_by_epoch.run(configuration, 3, None, tmp_path / "killed")
    (resumed,) = numbers.epochs(configuration, tmp_path / "killed")
    for row in (*whole, *resumed):
        assert row.pop("seconds") > 0
    np.testing.assert_allclose(*([list(row.values()) for row in rows] for rows in (whole, resumed)), rtol=1e-4)
    assert numbers.best_epoch(whole)["validation_loss"] == min(row["validation_loss"] for row in whole)

    lines, weights = (next((tmp_path / "whole").rglob(f"*.{kind}")) for kind in ("csv", "h5"))
    before = lines.read_text()
    weights.unlink()
    epoch_by_epoch.run(configuration, 3, None, tmp_path / "whole")  # has them all
    with pytest.raises(FileNotFoundError, match="3 epochs"):
        epoch_by_epoch.run(configuration, 4, None, tmp_path / "whole")
    assert lines.read_text() == before


@pytest.mark.usefixtures("_small_images")
def test_trials_of_a_network_that_is_tested_every_epoch_differ(tmp_path, monkeypatch):
    seeds = []
    images = training.load("cifar10_frog", 0, None)
    monkeypatch.setattr(training, "load", lambda _, seed, __: seeds.append(seed) or images)
    configuration = Configuration("cifar10_frog", "f1_linear")
    for trial in (0, 1):
        epoch_by_epoch.run(configuration, 1, None, tmp_path, trial=trial)
    first, second = numbers.epochs(configuration, tmp_path)
    assert seeds == [0, 1]
    assert first[0]["validation_loss"] != second[0]["validation_loss"]


@pytest.mark.usefixtures("_small_images")
def test_balanced_cross_entropy_weights_both_parts(tmp_path, monkeypatch):
    """Eight positives of 24 weigh 1.5 each and the others 0.75, in training and in the validation loss."""
    monkeypatch.setattr(training, "LEARNING_RATE", 1.0)  # so that the weights show
    images, labels = training.load("cifar10_frog", 0, None).train
    weights = np.where(labels == 1, 1.5, 0.75)
    keras.utils.set_random_seed(1)
    model = training.untrained("bce", 0)
    keras.utils.set_random_seed(1)
    model.fit(training.batches((images, labels, weights)), shuffle=False, verbose=0)
    expected = float(model.loss(labels, model(images), weights))

    configuration = Configuration("cifar10_frog", "bce", "weighted")
    epoch_by_epoch.run(configuration, 1, None, tmp_path)
    ((line,),) = numbers.epochs(configuration, tmp_path)
    assert line["validation_loss"] == pytest.approx(expected, rel=1e-5)
    epoch_by_epoch.run(Configuration("cifar10_frog", "bce"), 1, None, tmp_path)
    ((plain,),) = numbers.epochs(Configuration("cifar10_frog", "bce"), tmp_path)
    assert plain["validation_loss"] != pytest.approx(expected, rel=1e-2)
