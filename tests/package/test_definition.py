"""The definition of the cells, and the kernels beside it: values, first and second derivatives, forward mode."""

import numpy as np
import pytest
import reference
import tensorflow as tf
from cases import NINE, SOFT, batch, value_and_gradient, with_gradient

from keras_softsets import PerClass, SoftF1, StepHeaviside, decisions
from keras_softsets._inputs import as_samples
from keras_softsets._totals import sum_by_definition, sum_cells

DECISIONS = {
    "one": 0.3,
    "nine": NINE,
    "uneven": (0.013, 0.5551, 0.953),
    "per class": PerClass([0.2, 0.7, 0.45]),
    "steep": PerClass([1e-6, 0.7, 1 - 1e-6]),
    "argmax": "argmax",
}
UPSTREAM = np.random.default_rng(1).normal(size=(4, 9, 3))


def both(function, decision, heaviside):
    return [function(lambda *data, f=f: f(as_samples(*data), decisions.get(decision), heaviside)) for f in FORMS]


FORMS = (sum_cells, lambda *arguments: sum_by_definition(*arguments).stacked())


def close(pair, tolerance=1e-6):
    scale = np.abs(pair[1]).max()
    np.testing.assert_allclose(pair[0] / scale, pair[1] / scale, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [*SOFT, "step"])
@pytest.mark.parametrize("decision", DECISIONS)
def test_kernels_equal_the_definition(name, decision):
    heaviside, decision = SOFT.get(name, StepHeaviside()), DECISIONS[decision]
    y, p, w = batch()

    def cells_and_gradient(cells):
        of_p = with_gradient(lambda x: cells(y, x, w), tf.constant(p), lambda found: UPSTREAM[:, : found.shape[1]])
        return [x.numpy() for x in of_p]

    (cells, gradient), (expected, expected_gradient) = both(cells_and_gradient, decision, heaviside)
    close((cells, expected))
    if heaviside.differentiable:
        close((gradient, expected_gradient))
    else:
        assert not gradient.any()


@pytest.mark.parametrize("n", [1, 3, 4, 1023, 37_003])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_lose_no_sample_for_any_size(n, weighted):
    """Slices, lanes and the remainders of both: the soft argmax sums them without a kernel around it."""
    y, p, w = batch(n, weighted=weighted)
    close(both(lambda cells: cells(y, p, w).numpy(), "argmax", SOFT["linear"]))
    close(both(lambda cells: cells(y, p, w).numpy(), 0.3, SOFT["linear"]))


@pytest.mark.parametrize("name", SOFT)
@pytest.mark.parametrize("decision", ["one", "nine", "per class"])
def test_second_derivatives_and_forward_mode(name, decision):
    heaviside, decision = SOFT[name], DECISIONS[decision]
    y, p, w = batch()  # of the size for which kernels are already compiled

    def derivatives(cells):
        variable = tf.constant(p)
        with tf.GradientTape() as outer:
            outer.watch(variable)
            with tf.GradientTape() as inner:
                inner.watch(variable)
                value = tf.reduce_sum(tf.sin(cells(y, variable, w) / 20))
            penalty = tf.reduce_sum(tf.square(inner.gradient(value, variable)))
        with tf.autodiff.ForwardAccumulator(variable, tf.ones_like(variable)) as accumulator:
            found = cells(y, variable, w)
        return outer.gradient(penalty, variable).numpy(), accumulator.jvp(found).numpy()

    (second, forward), (expected, expected_forward) = both(derivatives, decision, heaviside)
    assert np.abs(expected).max() > 1e-4
    close((second, expected), 1e-5)
    close((forward, expected_forward), 1e-5)


def test_a_gradient_penalty_in_a_graph_equals_finite_differences():
    y, p, _ = batch(20, 1)

    @tf.function
    def penalty(p):
        with tf.GradientTape() as tape:
            tape.watch(p)
            loss = SoftF1(threshold=NINE)(y, p)
        return tf.reduce_sum(tf.square(tape.gradient(loss, p)))

    variable = tf.constant(p)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        value = penalty(variable)

    def oracle(q):
        gradient = reference.gradient(lambda r: reference.loss("f1", y, r, thresholds=NINE), q, 1e-5)
        return np.square(gradient).sum()

    inside = (np.abs(p - np.round(p * 20) / 20) > 1e-3).ravel()  # away from the break points, where slopes jump
    expected = reference.gradient(oracle, p, 1e-4)
    np.testing.assert_allclose(tape.gradient(value, variable).numpy()[inside], expected[inside], rtol=2e-2, atol=1e-4)


def test_the_definition_is_the_papers():
    y, p, w = batch()
    found = sum_by_definition(as_samples(y, p, w), decisions.get(NINE), SOFT["linear"])
    np.testing.assert_allclose(np.stack(found), reference.cells(y, p, w[:, None], thresholds=NINE), rtol=1e-5)


@pytest.mark.parametrize("name", ["linear", "sigmoid"])
@pytest.mark.parametrize("decision", ["one", "nine", "per class"])
def test_functions_that_run_eagerly_give_the_same(name, decision):
    """`tf.config.run_functions_eagerly`, with which people debug."""
    y, p, w = batch(40)
    loss = SoftF1(threshold=DECISIONS[decision], heaviside=name)
    expected, gradient = value_and_gradient(loss, y, p, w)
    tf.config.run_functions_eagerly(True)
    try:
        value, eager_gradient = value_and_gradient(loss, y, p, w)
    finally:
        tf.config.run_functions_eagerly(False)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(eager_gradient, gradient, rtol=1e-4, atol=1e-7)
