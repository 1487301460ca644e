"""Batches padded to a few sizes: the same numbers as without padding, and only a few sizes."""

import itertools
from pathlib import Path

import numpy as np
import processes
import pytest
import tensorflow as tf
from cases import NINE, batch, with_gradient

from keras_softsets import PerClass, SoftAUROC, SoftF1, metrics
from keras_softsets._backend.tensorflow import _cells, _sizes
from keras_softsets.heaviside import LinearHeaviside

LOSSES = {
    "one": SoftF1(),
    "nine": SoftF1(threshold=NINE),
    "area": SoftAUROC(),
    "sigmoid": SoftF1(threshold=NINE, heaviside="sigmoid"),
    "per class": SoftF1(threshold=PerClass([0.2, 0.7, 0.45])),
    "logits": SoftF1(threshold=NINE, from_logits=True),
}
SIZES = (12, 1025, 300)  # the last is as the first, and slow
SCRIPT = Path(__file__).parents[1] / "scripts" / "replicas_padded.py"


def value_and_gradient(loss, y, p, w):
    return with_gradient(lambda x: loss(y, x, w), p)


def compared(loss, arrays, compiled):
    """Pairs of values without and with padding: in a graph for that size alone and in one for all, and eagerly."""
    specs = [None if x is None else tf.TensorSpec([None, *x.shape[1:]], x.dtype) for x in arrays]
    given = [x for x in arrays if x is not None]
    for jit_compile in (False, True)[: 1 + compiled]:
        step = tf.function(value_and_gradient, autograph=False, jit_compile=jit_compile)
        unpadded, padded = (step.get_concrete_function(loss, *kind)(*given) for kind in (arrays, specs))
        yield unpadded, padded
    yield unpadded, value_and_gradient(loss, *arrays)


def padding_cases():
    """Every pair of a loss, a size, weights or none, and a compiled step or not; all combinations are slow."""
    for (k, name), (j, n), weighted in itertools.product(enumerate(LOSSES), enumerate(SIZES), (False, True)):
        usual, compiled = weighted == (k + j) % 2 and j < 2, (k // 2 + j) % 2 == 0
        if usual:
            yield name, n, weighted, compiled
        if not (usual and compiled):
            yield pytest.param(name, n, weighted, True, marks=pytest.mark.slow)


@pytest.mark.parametrize(("name", "n", "weighted", "compiled"), padding_cases())
def test_a_padded_batch_equals_the_unpadded_one(name, n, weighted, compiled):
    y, p, w = batch(n, weighted=weighted)
    p = np.log(p + 1e-3) if name == "logits" else p
    # XLA's exp may differ in the last digits from one program to another.
    check(LOSSES[name], [y, p, w], 3e-7 if name in ("sigmoid", "logits") else 1e-7, compiled)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_in_every_type(dtype):
    y, p, w = batch(300)
    check(LOSSES["nine"], [y, tf.cast(p, dtype), w], 1e-7)


def check(loss, arrays, tolerance, compiled=True):
    """Values and gradients to 1e-7, and the gradients to `tolerance` of the largest."""
    arrays = [None if x is None else tf.convert_to_tensor(x) for x in arrays]
    for pair in compared(loss, arrays, compiled):
        (value, gradient), (other, slopes) = ([np.asarray(tf.cast(x, tf.float64)) for x in found] for found in pair)
        scale = np.abs(gradient).max()
        assert scale > 0
        np.testing.assert_allclose(other, value, rtol=0, atol=1e-7)
        np.testing.assert_allclose(slopes, gradient, rtol=0, atol=1e-7)
        np.testing.assert_allclose(slopes / scale, gradient / scale, rtol=0, atol=tolerance)


def test_masked_and_empty_batches():
    y, p, _ = batch(300)
    arrays = [tf.convert_to_tensor(x) for x in (y, p)]
    arrays[1]._keras_mask = tf.constant(np.arange(300) % 3 > 0)
    kept = [x[np.arange(300) % 3 > 0] for x in (y, p)]
    np.testing.assert_allclose(LOSSES["nine"](*arrays), LOSSES["nine"](*kept), rtol=0, atol=1e-7)
    value, gradient = value_and_gradient(LOSSES["nine"], *(x[:0] for x in map(tf.convert_to_tensor, (y, p))), None)
    assert np.isfinite(value)
    assert gradient.shape == (0, 3)


def test_any_batch_meets_one_of_few_sizes(monkeypatch):
    thresholds = (0.21, 0.43, 0.61)
    kernel, seen = (
        _cells.cells_kernel(LinearHeaviside(), thresholds, False),
        {"sums_of_padded": set(), "slopes": set()},
    )
    for name, shapes in seen.items():
        function = getattr(kernel, name)
        # Not compiled, which would take seconds.
        note = lambda *args, f=function.python_function, s=shapes: (s.add(args[-1].shape[0]), f(*args))[1]
        monkeypatch.setattr(kernel, name, note)
    for n in np.random.default_rng(0).integers(1, 100_000, 40):
        value_and_gradient(SoftF1(threshold=thresholds), tf.ones((n, 1)), tf.fill((n, 1), 0.5), None)
    assert all(seen.values())
    assert sum(map(len, seen.values())) <= 24


@pytest.mark.parametrize("classes", [1, 3, 1000])
def test_few_sizes_and_little_padding(classes):
    samples = np.unique(np.geomspace(1, 10**7 // classes, 400).astype("int32"))
    sizes = np.array([_sizes.padded_size(tf.constant(n), classes).numpy() for n in samples])
    assert (sizes >= samples).all()
    small, many = (sizes * classes <= 1024) | (sizes <= 4), samples * classes > 2**17
    assert (sizes <= np.where(many, 1.25, 2.0) * samples)[~small].all()
    assert len(set(sizes[samples <= 100_000 // classes])) <= 12


def test_labels_of_another_number_of_samples_are_an_error():
    @tf.function(input_signature=[tf.TensorSpec([None, 1]), tf.TensorSpec([None, 1])])
    def loss(y, p):
        return SoftF1()(y, p)

    with pytest.raises(tf.errors.InvalidArgumentError):
        loss(tf.zeros((300, 1)), tf.zeros((290, 1)))


@pytest.mark.parametrize("threshold", [0.5, NINE])
def test_a_metric_compiles_no_gradient(threshold):
    metric = metrics.F1(threshold=threshold, heaviside=LinearHeaviside(0.123))
    tf.function(metric.update_state)(*map(tf.constant, batch(10, 1)[:2]))
    thresholds = metric.evaluation.decision.thresholds
    kernel = _cells.cells_kernel(LinearHeaviside(0.123), thresholds, False)
    assert kernel.slopes.experimental_get_tracing_count() == 0


def test_200_random_sizes_meet_few_programs(monkeypatch):
    """Every pair of a function and a shape is one program that XLA compiles; here nothing is compiled at all."""
    kernel, programs = _cells.cells_kernel(LinearHeaviside(), (0.22, 0.44, 0.66), False), set()
    zero = tf.zeros([4, 3, 1], tf.float64)
    monkeypatch.setattr(
        kernel, "sums_of_padded", lambda _, *x: (programs.add(("sums", x[1].shape[0])), (zero, tf.constant(True)))[1]
    )
    monkeypatch.setattr(
        kernel, "slopes", lambda *args: (programs.add(("slopes", args[-1].shape[0])), tf.zeros_like(args[-1]))[1]
    )
    for n in np.random.default_rng(0).choice(np.arange(1, 100_000), 200, replace=False):
        value_and_gradient(SoftF1(threshold=(0.22, 0.44, 0.66)), tf.ones((n, 1)), tf.fill((n, 1), 0.5), None)
    assert 2 < len(programs) <= 24


def test_masks_and_logits_inside_a_compiled_step():
    y, p = (tf.convert_to_tensor(x) for x in batch(300)[:2])
    keep, loss = np.arange(300) % 3 > 0, LOSSES["logits"]
    logits = tf.math.log(p + 1e-3)

    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 3], x.dtype) for x in (y, logits)])
    def masked(y, logits):
        logits._keras_mask = tf.range(tf.shape(logits)[0]) % 3 > 0
        return loss(y, logits)

    np.testing.assert_allclose(masked(y, logits), loss(y[keep], logits[keep]), rtol=0, atol=1e-7)


def test_padding_under_replicas_equals_the_global_batch():
    """Replicas of 300 and 157 samples, each padded for itself, in a process that has two devices."""
    difference, scale = map(float, processes.run_well(SCRIPT).split()[-2:])
    assert scale > 0
    assert difference <= 1e-7 * scale
