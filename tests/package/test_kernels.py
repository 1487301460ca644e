"""The kernels: binned = direct = a float64 transcription, compiled once, and nothing of size samples x thresholds."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from cases import NINE

from keras_softsets._backend.tensorflow import _binned, _bins, _blocks, _cells, _direct
from keras_softsets.heaviside import Heaviside, LinearHeaviside, SigmoidHeaviside, StepHeaviside, TabulatedHeaviside
from keras_softsets.losses import SoftF1
from keras_softsets.metrics import CURVE_THRESHOLDS
from keras_softsets.samples import Samples

ONE = (0.37,)
MANY = tuple(k / 100 for k in range(1, 100))
UNEVEN = (0.013, 0.0971, 0.2017, 0.31, 0.4423, 0.5551, 0.6713, 0.8117, 0.953)
CROWDED = tuple(np.random.default_rng(7).uniform(1e-3, 1 - 1e-3, 60))  # more edges than are compared one by one
STEEP = (1e-4, 0.5, 1 - 1e-4)
SINGLE = tuple(np.linspace(0.1, 0.9, 9, dtype="float32").tolist())  # edges that differ, but not in float32
TWINS = (0.3, float(np.float32(0.3)), 0.3 + 1e-8, 0.6, 0.2)
EXACT = 1e-6
BLOCKS = 2 * _blocks._BLOCK + 3  # two blocks of samples, and a rest


def reference(heaviside, p, thresholds):
    """Values and slopes in float64, (thresholds, *p.shape); break points are compared in float32, as the user's p."""
    pairs = [_transcribed(heaviside, p, threshold) for threshold in thresholds]
    return np.stack([h for h, _ in pairs]), np.stack([slope for _, slope in pairs])


def _transcribed(heaviside, p, tau):
    q = p.astype("float64")
    if isinstance(heaviside, StepHeaviside):
        return (p >= np.float32(tau)).astype("float64"), np.zeros_like(q)
    if isinstance(heaviside, SigmoidHeaviside):
        h = 1 / (1 + np.exp(-heaviside.k * (q - tau)))
        return h, heaviside.k * h * (1 - h)
    if isinstance(heaviside, TabulatedHeaviside):
        return _table(heaviside, p, tau)
    margin, delta = min(tau, 1 - tau), heaviside.delta
    low, high = tau - margin / 2, tau + margin / 2
    h = np.interp(q, [0, low, high, 1], [0, delta, 1 - delta, 1])
    outer = [p < np.float32(low), p > np.float32(high)]
    return h, np.select(outer, [delta / low, delta / (1 - high)], (1 - 2 * delta) / margin)


def _table(heaviside, p, tau):
    cells = 10**heaviside.decimals
    edges = np.arange(cells + 1) / cells
    cell = np.searchsorted(edges.astype("float32"), p, "right") - 1
    value, _ = _transcribed(heaviside.base, edges, tau)
    return value[cell], (np.diff(value) * cells)[np.minimum(cell, cells - 1)]


def transcription(heaviside, y, p, w, thresholds, upstream):
    """Cells, and the gradient of sum(cells * upstream), as the definitions say."""
    h, slope = reference(heaviside, p, thresholds)
    y, w = y.astype("float64"), np.ones_like(p, "float64") if w is None else w.astype("float64")
    cells = np.stack([w * y * h, w * (1 - y) * h, w * y * (1 - h), w * (1 - y) * (1 - h)]).sum(2)
    tp, fp, fn, tn = upstream[:, :, None]
    return cells, (w * slope * (y * (tp - fn) + (1 - y) * (fp - tn))).sum(0)


def computed(heaviside, y, p, w, thresholds, upstream):
    arrays = [tf.constant(x) if x is not None else None for x in (y, p, w)]
    with tf.GradientTape() as tape:
        tape.watch(arrays[1])
        cells = _cells.sum_cells(Samples(*arrays), thresholds, heaviside)
        total = tf.reduce_sum(cells * upstream)
    return cells.numpy(), tape.gradient(total, arrays[1]).numpy()


def assert_exact(actual, expected):
    scale = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=EXACT, atol=EXACT * scale)


def check(heaviside, thresholds, y, p, w=None):
    upstream = np.random.default_rng(0).normal(size=(4, len(thresholds), p.shape[1]))
    expected_cells, expected_gradient = transcription(heaviside, y, p, w, thresholds, upstream)
    cells, gradient = computed(heaviside, y, p, w, thresholds, upstream)
    np.testing.assert_allclose(cells, expected_cells, rtol=EXACT, atol=EXACT * len(p) / 1000)
    assert_exact(gradient, expected_gradient)


def batch(n=3000, classes=1, soft=False, weighted=False):
    rng = np.random.default_rng(0)
    y = (rng.random((n, classes)) < 0.2).astype("float32")
    p = np.clip(rng.beta(0.7, 1.5, (n, classes)) + 0.2 * y, 0, 1).astype("float32")
    y = (0.9 * y + 0.05).astype("float32") if soft else y
    return y, p, rng.exponential(size=(n, classes)).astype("float32") if weighted else None


def adversarial(edges):
    """Every edge in float32, its neighbours on both sides, the ends, and the smallest numbers there are."""
    exact = np.unique(np.concatenate([np.asarray(edges, "float32"), np.float32([0, 0.5, 1])]))
    around = [exact, np.nextafter(exact, np.float32(0)), np.nextafter(exact, np.float32(1))]
    p = np.concatenate([*around, np.float32([1e-45, 1e-38, 1e-20, 1e-8])])
    y = np.float32(np.arange(2 * len(p)) % 2)[:, None]
    return y, np.repeat(p, 2)[:, None]


BINNED = {
    "linear, 9": (LinearHeaviside(), NINE),
    "linear, 99": (LinearHeaviside(), MANY),
    "linear, uneven": (LinearHeaviside(), UNEVEN),
    "linear, crowded": (LinearHeaviside(0.2), CROWDED),
    "linear, steep": (LinearHeaviside(), STEEP),
    "linear, unsorted": (LinearHeaviside(), (0.7, 0.2, 0.2)),
    "linear, float32": (LinearHeaviside(), SINGLE),
    "linear, twins": (LinearHeaviside(), TWINS),
    "linear, curve": (LinearHeaviside(), CURVE_THRESHOLDS),
    "step, 9": (StepHeaviside(), NINE),
    "step, uneven": (StepHeaviside(), UNEVEN),
    "step, twins": (StepHeaviside(), (*TWINS, *NINE, 1e-13)),
    "tabulated": (TabulatedHeaviside("linear"), NINE),
    "tabulated, 1": (TabulatedHeaviside("linear"), ONE),
    "tabulated sigmoid": (TabulatedHeaviside("sigmoid", decimals=3), NINE),
}
DIRECT = {
    "linear, 1": (LinearHeaviside(), ONE),
    "linear, 1 above": (LinearHeaviside(0.25), (0.81,)),
    "step, 1": (StepHeaviside(), (0.7,)),
    "sigmoid, 1": (SigmoidHeaviside(), ONE),
    "sigmoid, 9": (SigmoidHeaviside(), NINE),
    "sigmoid, steep": (SigmoidHeaviside(k=40.0), (0.02, 0.5, 0.9)),
    "sigmoid, loop": (SigmoidHeaviside(), MANY[::4]),
}
ALL = BINNED | DIRECT
TYPICAL = ["linear, 1", "linear, 9", "linear, uneven", "step, 9", "tabulated", "sigmoid, 9"]  # each way to the sums


@pytest.mark.parametrize("name", ALL)
def test_exact_at_random_at_break_points_and_beside_them(name):
    heaviside, thresholds = ALL[name]
    pieces = heaviside.pieces(thresholds)
    edges = thresholds if pieces is None else pieces.edges.clip(0, 1)
    y, p = (np.concatenate(pair) for pair in zip(batch()[:2], adversarial(edges)))
    check(heaviside, thresholds, y, p)
    check(heaviside, thresholds, (0.3 + 0.5 * y).astype("float32"), p)


@pytest.mark.parametrize("name", TYPICAL)
@pytest.mark.parametrize("classes", [1, 3])
def test_exact_with_weights_over_several_blocks(name, classes):
    heaviside, thresholds = ALL[name]
    for soft in (False, True):
        check(heaviside, thresholds, *batch(BLOCKS, classes, soft, weighted=True))


@pytest.mark.parametrize("name", ["linear, 9", "sigmoid, 9"])
def test_exact_in_blocks_as_large_as_on_a_gpu(name, monkeypatch):
    for module in (_binned, _direct):
        monkeypatch.setattr(module, "room", lambda: _blocks._GPU_BLOCK)
    heaviside, thresholds = ALL[name]
    thresholds = (*thresholds, 0.45)  # a configuration of its own: kernels are kept
    check(heaviside, thresholds, *batch(2 * _blocks._GPU_BLOCK + 3, weighted=True))


def test_loss_and_its_gradient_are_those_of_the_definition():
    y, p, w = batch(BLOCKS, weighted=True)
    (tp, fp, fn, _), _ = transcription(LinearHeaviside(), y, p, w, NINE, np.zeros((4, 9, 1)))
    below = 2 * tp + fp + fn
    upstream = np.stack([-2 * (fp + fn), 2 * tp, 2 * tp, 0 * tp]) / below**2 / 9
    variable = tf.constant(p)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        loss = SoftF1(threshold=NINE)(y, variable, w)
    assert_exact(float(loss), np.mean(1 - 2 * tp / below))
    assert_exact(tape.gradient(loss, variable).numpy(), transcription(LinearHeaviside(), y, p, w, NINE, upstream)[1])


def test_algorithm_is_chosen_by_approximation_and_number_of_thresholds(monkeypatch):
    chosen = []
    for algorithm in ("direct", "binned"):
        monkeypatch.setattr(_cells, algorithm, lambda *_, name=algorithm: chosen.append(name))
    for name in (*BINNED, *DIRECT):
        _cells._algorithm(*ALL[name], per_class=False)
    assert chosen == ["binned"] * len(BINNED) + ["direct"] * len(DIRECT)


class Ramp(Heaviside):
    """A user's approximation: not known to be piecewise linear, so direct."""

    def call(self, p, threshold):
        return keras.ops.clip(0.5 + 4 * (p - threshold), 0, 1)


@pytest.mark.parametrize("count", [3, 17])
def test_users_approximation(count):
    thresholds = np.linspace(0.2, 0.8, count)
    y, p, w = batch(weighted=True)
    cells, gradient = computed(Ramp(), y, p, w, thresholds, np.ones((4, count, 1)) * [[[1.0]], [[0]], [[0]], [[0]]])
    h = np.clip(0.5 + 4 * (p - thresholds.astype("float32")), 0, 1)
    np.testing.assert_allclose(cells[0, :, 0], (w * y * h).sum(0), rtol=1e-5)
    inside = (np.abs(p - thresholds.astype("float32")) < 0.125).sum(1, keepdims=True)
    np.testing.assert_allclose(gradient, 4 * w * y * inside, atol=1e-5)


def test_a_kernel_first_called_inside_one_graph_serves_another():
    thresholds = np.linspace(0.2, 0.7, 17)
    y, p, _ = batch()
    values = [training_step(Ramp(), thresholds)(tf.constant(y), tf.constant(p))[0] for _ in range(2)]
    assert values[0] == values[1]


EXTREMES = [
    (1 - 1e-7,),
    (1 - 1e-9,),
    (1e-9,),
    (1 - 1e-9, 0.5),
    (1 - 1e-12, 0.5),
    (1 - 1e-15, 0.3, 0.4),
    (1e-13, 0.3, 0.4, 0.6),
    (1e-35, 0.4, 1 - 1e-8),
]


@pytest.mark.parametrize("thresholds", EXTREMES)
def test_thresholds_that_float32_takes_for_0_or_1(thresholds):
    y, p = (np.concatenate(pair) for pair in zip(batch(100)[:2], adversarial([])))
    p = p[p > 1e-34][:, None]  # for smaller ones float32 has no slope
    y = y[: len(p)]
    expected = transcription(LinearHeaviside(), y, p, None, thresholds, np.zeros((4, len(thresholds), 1)))[0]
    cells, gradient = computed(LinearHeaviside(), y, p, None, thresholds, 1.0 + np.arange(4.0)[:, None, None])
    np.testing.assert_allclose(cells, expected, atol=1e-4)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("name", ALL)
def test_nan_is_in_every_cell(name):
    heaviside, thresholds = ALL[name]
    y, p, _ = batch()
    p[17] = np.nan
    assert np.isnan(computed(heaviside, y, p, None, thresholds, 1.0)[0]).all()


@pytest.mark.parametrize("name", [pytest.param(x, marks=() if x in TYPICAL else pytest.mark.slow) for x in ALL])
def test_an_empty_batch_is_zero(name):
    heaviside, thresholds = ALL[name]
    y, p, _ = batch()
    cells, gradient = computed(heaviside, y[:0], p[:0], None, thresholds, 1.0)
    assert not cells.any()
    assert gradient.shape == (0, 1)


@pytest.mark.parametrize("name", TYPICAL)
def test_weight_zero_leaves_no_trace_and_probabilities_are_clipped(name):
    heaviside, thresholds = ALL[name]
    y, p, w = batch(weighted=True)
    w[:40], y[:20], p[10:30], p[30] = 0, -1, np.nan, np.inf
    p[40:50], p[50:60] = -0.05, 1.05
    upstream = 1.0 + np.arange(4.0)[:, None, None] ** 2
    cells, gradient = computed(heaviside, y, p, w, thresholds, upstream)
    y[:40], p[:40] = 0, 0.3
    expected, slopes = computed(heaviside, y, p.clip(0, 1), w, thresholds, upstream)
    slopes[40:60] = 0  # beyond 0 and 1, where clipping has no slope
    assert_exact(cells, expected)
    assert_exact(gradient, slopes)
    assert not gradient[:60].any()


@pytest.mark.parametrize("heaviside", [StepHeaviside(), LinearHeaviside(), SigmoidHeaviside()])
def test_totals_of_weights_that_are_no_powers_of_two(heaviside):
    y, p, _ = batch(30_000)
    cells = _cells.sum_cells(Samples(y, p, np.full_like(p, 0.1)), (0.3, 0.7), heaviside).numpy()
    np.testing.assert_allclose(cells.sum(0), 3000, rtol=EXACT)


@pytest.mark.parametrize("name", ["linear, 1", "linear, 9", "step, 9"])
def test_totals_are_exact_past_2_to_the_24(name):
    heaviside, thresholds = ALL[name]
    n = 2**24 + 5
    ones = tf.ones((n, 1))
    tp, fp, fn, tn = _cells.sum_cells(Samples(ones, ones, None), thresholds, heaviside).numpy()
    assert (tp == n).all()
    assert not np.concatenate([fp, fn, tn]).any()


def training_step(heaviside, thresholds):
    @tf.function(jit_compile=True)
    def step(y, p):
        with tf.GradientTape() as tape:
            tape.watch(p)
            loss = SoftF1(threshold=thresholds, heaviside=heaviside)(y, p)
        return loss, tape.gradient(loss, p)

    return step


@pytest.mark.parametrize("name", ["linear, 1", "linear, 9", "linear, 99", "linear, uneven", "sigmoid, 9"])
def test_nothing_of_samples_times_thresholds_is_stored(name):
    """Forward and backward in one program: what it stores outside its loops is at most six arrays of n."""
    n = 1_000_003
    y = p = tf.zeros((n, 1))
    program = training_step(*ALL[name]).experimental_get_compiler_ir(y, p)(stage="optimized_hlo")
    assert max(size(shape) for shape in re.findall(r"= [fs]\d+\[([\d,]*)\]", program)) <= n
    entry = program[program.index("\nENTRY") :]
    stored = re.findall(r"= [fs]\d+\[([\d,]*)\]\S* (?:fusion|copy|concatenate|reduce|scatter|gather)\(", entry)
    assert sum(size(shape) for shape in stored if size(shape) > n / 2) <= 6 * n


def size(shape):
    return int(np.prod([int(side) for side in shape.split(",") if side], dtype="int64"))


def test_batches_do_not_retrace_and_a_partial_batch_neither():
    loss, kernel = SoftF1(threshold=(0.25, 0.75)), _cells.cells_kernel(LinearHeaviside(), (0.25, 0.75), False)
    model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", loss)
    y, p, _ = batch(n=4 * 32 + 5)
    model.fit(p, y, batch_size=32, epochs=2, verbose=0)
    for n in (32, 32, 5, 32):
        loss(y[:n], p[:n])
    assert kernel.sums_of_padded.experimental_get_tracing_count() == 1
    assert kernel.slopes.experimental_get_tracing_count() == 1


def test_works_inside_a_compiled_model():
    losses = []
    for jit_compile in (False, True):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
        model.compile("sgd", SoftF1(threshold=NINE), jit_compile=jit_compile)
        y, p, w = batch(n=4 * 32 + 5, weighted=True)
        losses.append(model.fit(p, y, sample_weight=w[:, 0], batch_size=32, epochs=2, verbose=0).history["loss"])
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_many_configurations_are_not_taken_for_retracing(monkeypatch):
    warnings = []
    monkeypatch.setattr(tf.get_logger(), "warning", lambda *arguments: warnings.append(arguments))
    for k in range(8):
        SoftF1(threshold=0.311 + k / 1000)([0, 1, 1], [0.3, 0.4, 0.9])
    assert not warnings


@pytest.mark.parametrize("name", ["linear, 9", "step, 9", "tabulated"])
def test_exact_with_the_separate_sums_of_a_gpu(name, monkeypatch):
    monkeypatch.setattr(_bins, "a_gpu_is_visible", lambda: True)
    heaviside, thresholds = ALL[name]
    thresholds = (*thresholds, 0.55)  # a configuration of its own: kernels are kept
    for soft in (False, True):
        check(heaviside, thresholds, *batch(BLOCKS, 3, soft, weighted=True))


def test_one_soft_label_after_many_hard_ones():
    y, p, w = batch(BLOCKS, weighted=True)
    y[-1] = 0.3  # found out only when all have been taken for hard
    check(*ALL["linear, 9"], y, p, w)
