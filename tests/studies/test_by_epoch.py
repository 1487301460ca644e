"""Training on images: which networks, until when, and how a run resumes after being killed."""

import keras
import numpy as np
import pytest

import keras_softsets as kss
from studies.engine import evaluation
from studies.harness import runner
from studies.harness.study import Job
from studies.images import training
from studies.paper import EPOCHS
from studies.paper.methods import cifar10
from studies.paper.plan import Configuration
from studies.paper.report import numbers


@pytest.mark.parametrize(("network_name", "parameters"), [("tiny_darknet_keras", 917_617), ("yolov3_tiny", 6_299_505)])
def test_other_networks_are_what_their_names_say(network_name, parameters):
    model = cifar10.untrained("bce", 0, network_name)
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
    monkeypatch.setattr(training.models, "tiny_darknet", small_network)


def run_epochs(configuration, epochs, folder, trials=1):
    """Trains what is missing, as the command line does."""
    key = {"data": configuration.data, "network": "tiny_darknet", "loss": configuration.loss}
    runner.run(EPOCHS, [key | {"balance": configuration.balance}], trials=trials, epochs=epochs, folder=folder)


def small_network(logits):
    layers = [keras.Input((32, 32, 3)), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)]
    return keras.Sequential(layers)


@pytest.mark.usefixtures("_small_images")
@pytest.mark.parametrize(("loss", "reading"), [("f1_linear", "probabilities"), ("dice_logits", "logits")])
def test_images_are_trained_until_the_clock_says_stop(loss, reading, monkeypatch):
    trained = []
    untrained = cifar10.untrained
    monkeypatch.setattr(cifar10, "untrained", lambda *a: trained.append(untrained(*a)) or trained[-1])
    monkeypatch.setattr(cifar10, "MINUTES_ON_CPU", 0.0)
    (line,) = cifar10.train(Job(Configuration("cifar10_frog", loss)._asdict(), (0,)))
    assert line["best_epoch"] == 1
    assert line["epochs"] == 0.5  # one batch of two: the clock does not wait for the end of an epoch
    assert trained[0].optimizer.iterations == 1
    assert line["reading"] == reading
    outputs = training.outputs(trained[0], training.load("cifar10_frog", 0, None))
    values = evaluation.read(reading, *outputs)
    np.testing.assert_equal({name: line[name] for name in values}, values)


@pytest.mark.usefixtures("_small_images")
def test_the_best_weights_are_restored_when_the_clock_says_stop(monkeypatch):
    class StopAfterThreeEpochs(cifar10.StopAtTime):
        def on_train_batch_end(self, batch, logs=None):
            super().on_train_batch_end(batch, logs)
            self.model.stop_training = self.batches == 6

    trained = []
    untrained = cifar10.untrained
    monkeypatch.setattr(cifar10, "untrained", lambda *a: trained.append(untrained(*a)) or trained[-1])
    monkeypatch.setattr(cifar10, "LEARNING_RATE", -0.1)  # uphill: the first epoch is the best
    monkeypatch.setattr(cifar10, "StopAtTime", StopAfterThreeEpochs)
    monkeypatch.setattr(cifar10, "MINUTES_ON_CPU", 99.0)
    (line,) = cifar10.train(Job(Configuration("cifar10_frog", "dice")._asdict(), (0,)))
    assert (line["best_epoch"], line["epochs"]) == (1, 3)
    (labels, logits), _ = training.outputs(trained[0], training.load("cifar10_frog", 0, None))
    np.testing.assert_allclose(trained[0].loss(labels, logits[:, None]), line["validation_loss"], rtol=1e-5)


@pytest.mark.usefixtures("_small_images")
def test_a_network_that_is_tested_every_epoch_resumes_where_it_was_killed(tmp_path, monkeypatch):
    configuration = Configuration("cifar10_frog", "f1_linear")
    monkeypatch.setattr(cifar10, "LEARNING_RATE", 0.1)  # so that the order of the batches shows
    run_epochs(configuration, 3, tmp_path / "whole" / "results")
    (whole,) = numbers.epochs(configuration, tmp_path / "whole" / "results")
    assert [row["epoch"] for row in whole] == [1, 2, 3]

    run_epochs(configuration, 1, tmp_path / "killed" / "results")
    with monkeypatch.context() as patch:  # after the line of the second epoch, before its weights
        patch.setattr(keras.Model, "save_weights", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_epochs(configuration, 3, tmp_path / "killed" / "results")
    assert [len(rows) for rows in numbers.epochs(configuration, tmp_path / "killed" / "results")] == [2]
    run_epochs(configuration, 3, tmp_path / "killed" / "results")
    (resumed,) = numbers.epochs(configuration, tmp_path / "killed" / "results")
    for row in (*whole, *resumed):
        assert row.pop("seconds") > 0
    columns = [column for column, value in whole[0].items() if not isinstance(value, str)]
    found = ([[row[column] for column in columns] for row in rows] for rows in (whole, resumed))
    np.testing.assert_allclose(*found, rtol=1e-4)
    assert numbers.best_epoch(whole)["validation_loss"] == min(row["validation_loss"] for row in whole)

    lines, weights = (next((tmp_path / "whole").rglob(f"*.{kind}")) for kind in ("jsonl", "h5"))
    before = lines.read_text()
    weights.unlink()
    run_epochs(configuration, 3, tmp_path / "whole" / "results")  # has them all
    with pytest.raises(FileNotFoundError, match="3 epochs"):
        run_epochs(configuration, 4, tmp_path / "whole" / "results")
    assert lines.read_text() == before


@pytest.mark.usefixtures("_small_images")
def test_trials_of_a_network_that_is_tested_every_epoch_differ(tmp_path, monkeypatch):
    seeds = []
    images = training.load("cifar10_frog", 0, None)
    monkeypatch.setattr(training, "load", lambda _, seed, __: seeds.append(seed) or images)
    configuration = Configuration("cifar10_frog", "f1_linear")
    run_epochs(configuration, 1, tmp_path / "results", trials=2)
    first, second = numbers.epochs(configuration, tmp_path / "results")
    assert seeds == [0, 1]
    assert first[0]["validation_loss"] != second[0]["validation_loss"]


@pytest.mark.usefixtures("_small_images")
def test_balanced_cross_entropy_weights_both_parts(tmp_path, monkeypatch):
    """Eight positives of 24 weigh 1.5 each and the others 0.75, in training and in the validation loss."""
    monkeypatch.setattr(cifar10, "LEARNING_RATE", 1.0)  # so that the weights show
    images, labels = training.load("cifar10_frog", 0, None).train
    weights = np.where(labels == 1, 1.5, 0.75)
    keras.utils.set_random_seed(1)
    model = cifar10.untrained("bce", 0)
    keras.utils.set_random_seed(1)
    model.fit(training.batches((images, labels, weights)), shuffle=False, verbose=0)
    expected = float(model.loss(labels, model(images), weights))

    configuration = Configuration("cifar10_frog", "bce", "weighted")
    run_epochs(configuration, 1, tmp_path / "results")
    ((line,),) = numbers.epochs(configuration, tmp_path / "results")
    assert line["validation_loss"] == pytest.approx(expected, rel=1e-5)
    run_epochs(Configuration("cifar10_frog", "bce"), 1, tmp_path / "results")
    ((plain,),) = numbers.epochs(Configuration("cifar10_frog", "bce"), tmp_path / "results")
    assert plain["validation_loss"] != pytest.approx(expected, rel=1e-2)
