"""Every configuration has its method, and a method's lines are what its networks do on test data."""

import numpy as np
import pytest
from paper_trials import FEATURES

from benchmarks.paper.methods import evaluation
from benchmarks.paper.methods.protocol import Job, method_of
from benchmarks.paper.methods.side_by_side import engine, network
from benchmarks.paper.methods.side_by_side import method as side_by_side
from benchmarks.paper.plan.configuration import Configuration


@pytest.mark.parametrize(
    ("dataset", "loss", "module"),
    [
        ("adult_authors", "wmw_authors", "side_by_side.method"),
        ("adult", "svm_roc", "svm.method"),
        ("cifar10_frog", "bce", "cifar10.method"),
    ],
)
def test_a_configuration_has_its_method(dataset, loss, module):
    assert method_of(Configuration(dataset, loss)).__module__ == f"benchmarks.paper.methods.{module}"


def test_networks_side_by_side_are_read_both_ways(trials, monkeypatch):
    weights = network.initial_weights(FEATURES, trials.seeds)
    asked = []

    def train(data, objective, settings, report):
        report(25, 1)
        asked.append((data.train.weight, settings))
        return engine.Trained(weights, np.array([7, 9]), np.array([0.5, 0.25]), np.array([17, 19]), seconds=3.0)

    monkeypatch.setattr(engine, "train", train)
    monkeypatch.setattr(side_by_side, "load_trials", lambda name, seeds, raw_dir: trials)
    said = []
    job = Job(Configuration("adult", "bce", "weighted", 64, "pytorch"), (3, 5), None, said.append)
    (lines,) = side_by_side.train(job)
    assert said == ["epoch 25, 1 trials in training"]
    assert asked[0][1][0] == 64
    assert asked[0][1].start == "pytorch"
    assert len(np.unique(asked[0][0])) == 2  # weighted
    assert [(line["trial"], line["reading"]) for line in lines] == [
        (trial, reading) for trial in (3, 5) for reading in ("probabilities", "logits")
    ]
    outputs = [(part.y[1], network.logits(weights, part.x).numpy()[:, 1]) for part in (trials.validation, trials.test)]
    for line in lines[2:]:
        values = evaluation.read(line["reading"], *outputs)
        np.testing.assert_equal({name: line[name] for name in values}, values)
        assert [line[name] for name in ("best_epoch", "epochs", "validation_loss", "seconds")] == [9, 19, 0.25, 1.5]


def test_the_adversarial_f1_trains_the_same_network(trials):
    pytest.importorskip("ap_perf")
    from benchmarks.paper.methods import adversarial

    weights = network.initial_weights(FEATURES, trials.seeds)
    model = adversarial.build(weights)
    ours = network.logits(weights, trials.test.x).numpy()[:, 0]
    np.testing.assert_allclose(adversarial._logits(model, trials.test.x[0]), ours, atol=1e-5)
    assert {line["reading"] for line in adversarial.trial_lines(trials, minutes=0.001)} == {"probabilities", "logits"}
