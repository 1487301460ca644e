"""The engine of the study: the paper's for a plain loss, schedules, memories, stratified batches and output biases."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from paper_trials import two_trials

from benchmarks.paper.methods import objectives as paper_objectives
from benchmarks.paper.methods.side_by_side import engine as paper_engine
from benchmarks.paper.methods.side_by_side import network
from benchmarks.paper.methods.side_by_side.settings import Settings
from benchmarks.recipes import engine, methods, orders, plan

SHORT = plan.Budget(6, 3)


@functools.cache  # compiling takes longer than all the rest
def trained(name, budget=SHORT, only=None):
    trials = two_trials() if only is None else two_trials().of(np.array([only]))
    return engine.train(trials, methods.ALL[name], 32, budget, lambda text: None)


@pytest.mark.parametrize(("name", "of_paper"), [("bce", "bce"), ("f1", "f1_linear")])
def test_a_plain_loss_is_trained_as_by_the_paper(name, of_paper):
    settings = Settings(32, patience=3, most_epochs=6)
    want = paper_engine.train(two_trials(), paper_objectives.OBJECTIVES[of_paper], settings)
    found = trained(name)
    assert found.best_epoch.tolist() == want.best_epoch.tolist()
    for got, wanted in zip(found.weights, want.weights, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-6)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("f1_stratified", "accuracy_bias", "savings_delta_0.2")]


@pytest.mark.parametrize("name", ["f1_bce_scheduled", "f1_memory", *SLOW])
def test_a_trial_does_not_depend_on_those_beside_it(name):
    both, alone = trained(name), trained(name, only=1)
    for pair, single in zip(both.weights, alone.weights, strict=True):
        np.testing.assert_allclose(pair[1], single[0], atol=1e-5)


def test_a_schedule_begins_with_cross_entropy_alone():
    one = plan.Budget(1, 1)
    for got, want in zip(trained("f1_bce_scheduled", one).weights, trained("bce", one).weights, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_methods_differ():
    found = {name: trained(name).weights[0].numpy() for name in ("bce", "f1", "f1_bce_scheduled", "f1_memory")}
    names = list(found)
    for k, one in enumerate(names):
        for other in names[k + 1 :]:
            assert np.abs(found[one] - found[other]).max() > 1e-4, (one, other)


def test_an_output_bias_starts_at_the_share_of_positives():
    trials = two_trials()
    state = engine._with_output_bias(engine.first_state(trials), trials.train.y)
    zero = tf.zeros_like(tf.constant(trials.train.x[:, :1]))
    start = tf.sigmoid(network.logits(state.weights, zero)).numpy()[0]
    np.testing.assert_allclose(start, trials.train.y.mean(axis=1), atol=1e-6)  # all other biases are 0


def test_stratified_batches_share_the_positives():
    trials = two_trials()
    rows = orders.stratified(trials, 16, 0, 2)
    assert rows.shape == (2, 10, 2, 16)
    for epoch in range(2):
        for trial in range(2):
            order = rows[epoch, :, trial].ravel()
            assert sorted(order[order >= 0]) == list(range(150))
            positives = trials.train.y[trial][rows[epoch, :9, trial]].sum(axis=1)
            assert positives.min() >= 3, positives  # 16 * 38 / 150 = 4.05
            assert positives.max() <= 5, positives
    assert not np.array_equal(rows[0], rows[1])


@pytest.mark.parametrize(
    ("samples", "batch_size", "want"),
    [(3_360, 1024, (1000, 100)), (182_277, 16, (20, 5)), (7_156, 16, (223, 55)), (182_277, 1024, (558, 100))],
)
def test_the_budget(samples, batch_size, want):
    assert tuple(plan.budget(samples, batch_size)) == want
