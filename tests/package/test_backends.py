"""What must be the same on every backend of Keras: numbers, gradients, and the traps of compiled and eager steps."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
import reference
from cases import (
    CLASS_LOSSES,
    CLASS_METRICS,
    LOSSES,
    METRICS,
    NINE,
    PARAMETERS,
    batch,
    compiled_value_and_gradient,
    value_and_gradient,
    with_gradient,
)
from keras import ops

import keras_softsets
from keras_softsets import (
    Argmax,
    AtRecall,
    BlendedLoss,
    BlendSchedule,
    GuidedCrossentropy,
    Heaviside,
    SoftF1,
    SoftPrecisionAtRecall,
    SoftSetLoss,
    _backend,
    evaluate,
    metrics,
    scores,
)

BACKEND = keras.config.backend()
JAX = BACKEND == "jax"
OTHER = BACKEND != "tensorflow"
DECISIONS = {"one": 0.3, "nine": NINE, "many": tuple(k / 40 for k in range(1, 40))}
OF_CELLS = [loss for loss in LOSSES if loss.score_name in reference.SCORES and "At" not in loss.__name__]


# Numbers


GIVEN = {  # weights, class ids, logits: any two meet
    "labels": (False, False, False),
    "ids as logits": (False, True, True),
    "weighted logits": (True, False, True),
    "weighted ids": (True, True, False),
}


def _pairs():
    """Each loss with each kind of data; decisions and approximations such that any two values meet."""
    for place, loss in enumerate(OF_CELLS):
        for kind, given in enumerate(GIVEN):
            decision, heaviside = [*DECISIONS][(place + kind) % 3], ["linear", "sigmoid"][(place + kind // 2) % 2]
            yield pytest.param(loss, decision, heaviside, given, id=f"{loss.__name__}-{decision}-{heaviside}-{given}")


@pytest.mark.parametrize(
    ("loss", "decision", "heaviside", "given"),
    # TensorFlow's kernels have test_definition.py and test_kernels.py besides.
    [*_pairs()][:: 1 if OTHER else 3],
)
def test_losses_and_gradients_equal_the_float64_oracle(loss, decision, heaviside, given):
    weighted, ids, logits = GIVEN[given]
    parameters = PARAMETERS.get(loss.score_name, {})
    made = loss(threshold=DECISIONS[decision], heaviside=heaviside, from_logits=logits, **parameters)
    y, p, w = batch(weighted=weighted)
    if ids:
        y = np.argmax(p + np.random.default_rng(0).random(p.shape), 1)
    _check_against_the_oracle(made, y, p, w, decision, heaviside, logits, **parameters)


@pytest.mark.parametrize("soft", [False, True], ids=["binary", "soft"])
@pytest.mark.parametrize("decision", DECISIONS)
def test_large_batches_equal_the_float64_oracle(decision, soft):
    """Several blocks of samples with PyTorch, and bins with JAX."""
    y, p, w = batch(20_000, classes=2)
    y = (0.25 + 0.5 * y).astype("float32") if soft else y
    _check_against_the_oracle(SoftF1(threshold=DECISIONS[decision]), y, p, w, decision, "linear")


def _check_against_the_oracle(loss, y, p, w, decision, heaviside, logits=False, **parameters):
    """Every element of the gradient is right in five digits of the largest."""
    given = np.log(p.astype("float64") / (1 - p)).astype("float32") if logits else p
    p = 1 / (1 + np.exp(-given.astype("float64"))) if logits else p.astype("float64")
    labels, weights = y if y.ndim > 1 else np.eye(p.shape[1])[y], None if w is None else w[:, None]
    thresholds, step = np.ravel(DECISIONS[decision]), reference.HEAVISIDES[heaviside]
    found = reference.cells(labels, p, weights, thresholds=thresholds, heaviside=step)
    value = 1 - reference.score(loss.score_name, found, **parameters)
    slope = _slope_by_cells(lambda cells: 1 - reference.score(loss.score_name, cells, **parameters), found)
    negative, positive = slope[1] - slope[3], slope[0] - slope[2]  # (thresholds, classes)
    expected = np.zeros_like(p)
    for k, threshold in enumerate(thresholds):
        rise = (step(p + 1e-8, threshold) - step(p - 1e-8, threshold)) / 2e-8
        expected += rise * ((1 - labels) * negative[k] + labels * positive[k])
    expected = expected * (1 if weights is None else weights) * (p * (1 - p) if logits else 1)
    for computed, gradient in (
        compute(loss, y, given, w) for compute in (value_and_gradient, compiled_value_and_gradient)
    ):
        assert float(computed) == pytest.approx(value, abs=1e-6)
        np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def _slope_by_cells(function, cells):
    """The gradient by central differences, in units in which scores are smooth."""
    slope, step = np.zeros_like(cells), 1e-5 * cells.sum(0).max()
    for index in np.ndindex(cells.shape):
        up, down = cells.copy(), cells.copy()
        up[index] += step
        down[index] -= step
        slope[index] = (function(up) - function(down)) / (2 * step)
    return slope


@pytest.mark.parametrize("thresholds", DECISIONS)
@pytest.mark.parametrize("from_logits", [False, True])
def test_soft_labels_class_ids_and_logits(thresholds, from_logits):
    y, p, w = batch()
    y = (0.25 + 0.5 * y).astype("float32")
    loss = SoftF1(threshold=DECISIONS[thresholds], from_logits=from_logits)
    prediction = np.log(p.astype("float64") / (1 - p)).astype("float32") if from_logits else p
    given = 1 / (1 + np.exp(-prediction.astype("float64"))) if from_logits else p
    every = DECISIONS[thresholds] if isinstance(DECISIONS[thresholds], tuple) else (DECISIONS[thresholds],)
    expected = reference.loss("f1", y, given, w[:, None], thresholds=every)
    for found in (value_and_gradient, compiled_value_and_gradient):
        assert float(found(loss, y, prediction, w)[0]) == pytest.approx(expected, abs=1e-6)
    ids = np.arange(len(p)) % 3
    assert float(loss(ids, prediction)) == pytest.approx(float(loss(np.eye(3)[ids], prediction)), abs=1e-7)


@pytest.mark.parametrize(
    ("thresholds", "heaviside"),
    [*((decision, "sigmoid") for decision in DECISIONS), ("one", "linear"), ("nine", "linear")],
)
def test_second_derivatives(thresholds, heaviside):
    """The gradient of a gradient penalty, against differences of gradients."""
    y, p, w = batch(50)
    loss = SoftF1(threshold=DECISIONS[thresholds], heaviside=heaviside)
    along = np.random.default_rng(0).normal(size=p.shape).astype("float32")
    if heaviside == "linear":  # differences must not step over an edge
        at = np.ravel(DECISIONS[thresholds])
        edges = np.concatenate([at - np.minimum(at, 1 - at) / 2, at + np.minimum(at, 1 - at) / 2])
        along[np.abs(p[..., None] - edges).min(-1) < 5e-3] = 0
    x = ops.convert_to_tensor(p)
    found = _second(lambda x: loss(y, x, w), x, along)
    up, down = (with_gradient(lambda x: loss(y, x, w), x + s * 1e-3 * along)[1] for s in (1, -1))
    expected = (ops.convert_to_numpy(up) - ops.convert_to_numpy(down)) / 2e-3
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def _second(function, x, along):
    """The derivative of the gradient along a direction."""
    if BACKEND == "jax":
        import jax

        return jax.grad(lambda x: (jax.grad(function)(x) * along).sum())(x)
    if BACKEND == "torch":
        import torch

        x = x.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad(function(x), x, create_graph=True)
        return torch.autograd.grad((gradient * torch.as_tensor(along)).sum(), x)[0].numpy()
    tape = _backend.derivative
    return ops.convert_to_numpy(tape(lambda x: ops.sum(with_gradient(function, x)[1] * along), x))


# Totals


def test_totals_are_exact_past_2_to_the_24():
    metric = metrics.Confusion(threshold=0.5)
    metric.update_state([[1.0], [0.0]], [[0.9], [0.9]], [[2.0**24], [2.0**25]])
    for _ in range(5):
        metric.update_state([[1.0], [0.0]], [[0.9], [0.9]], [[1.0], [3.0]])
    cells = ops.convert_to_numpy(_backend.value_of(metric._totals)).astype("float64")
    both = np.asarray(metric.variables[0]).astype("float64") if JAX else None
    tp, fp = (both.sum(0) if JAX else cells)[:2, 0, 0]
    assert (tp, fp) == (2.0**24 + 5, 2.0**25 + 15)


def test_a_pair_of_float32_numbers_adds_up_like_float64():
    from keras_softsets._backend._single import Pair, sum_in_steps

    numbers = np.random.default_rng(0).uniform(0, 1000, 2000).astype("float32")
    pair = Pair(keras.metrics.Mean(), (), "total")
    for number in numbers:
        pair.assign_add(ops.convert_to_tensor(number))
    high, low = ops.convert_to_numpy(ops.convert_to_tensor(pair.both)).astype("float64")
    assert high + low == pytest.approx(numbers.astype("float64").sum(), rel=1e-13)
    many = np.random.default_rng(0).uniform(0, 1, 300_001).astype("float32")
    summed = float(sum_in_steps(ops.convert_to_tensor(many)))
    assert summed == pytest.approx(many.astype("float64").sum(), rel=3e-7)


@pytest.mark.parametrize("metric", [metrics.F1, metrics.AUROC, metrics.MCC, metrics.CalibrationError])
def test_metrics_over_uneven_batches_of_a_fit_are_those_of_all_samples(metric):
    y, p, _ = batch(103, classes=1)
    model = _identity(1)
    model.compile(metrics=[metric(name="found")], loss="mse")
    found = model.evaluate(p, y, batch_size=40, verbose=0, return_dict=True)["found"]
    whole = metric()
    whole.update_state(y, p)
    assert found == pytest.approx(float(whole.result()), abs=1e-6)
    assert whole.result() > 0


def test_samples_at_an_operating_point_move_from_the_list_to_the_bins():
    random = np.random.default_rng(0)
    y, p = random.integers(0, 2, 40_000), random.random(40_000).astype("float32")
    model = _identity(1)
    model.compile(metrics=[metrics.SoftSetMetric("precision", threshold=AtRecall(0.8), name="found")], loss="mse")
    found = model.evaluate(p[:, None], y, batch_size=7000, verbose=0, return_dict=True)["found"]
    assert found == pytest.approx(evaluate(y, p, "precision", threshold=AtRecall(0.8)), abs=1e-3)


def _identity(features):
    return keras.Sequential([keras.Input((features,)), keras.layers.Activation("linear")])


# Masks


def test_a_mask_of_a_layer_removes_steps():
    tokens = np.array([[1, 2, 0], [3, 0, 0], [2, 2, 1]])
    y = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]])
    inputs = keras.Input((3,), dtype="int32")
    output = keras.layers.Dense(1, "sigmoid")(keras.layers.Embedding(4, 5, mask_zero=True)(inputs))
    model = keras.Model(inputs, output)
    f1 = metrics.F1(heaviside="linear", name="f1")
    model.compile("sgd", SoftF1(), metrics=[f1])
    found = model.evaluate(tokens, y[..., None], verbose=0, return_dict=True)
    p = np.asarray(ops.convert_to_numpy(model(tokens)))[..., 0]
    kept = tokens > 0
    assert found["loss"] == pytest.approx(float(SoftF1()(y[kept], p[kept])), abs=1e-6)
    assert found["f1"] == pytest.approx(1 - found["loss"], abs=1e-6)
    assert found["loss"] != pytest.approx(float(SoftF1()(y.ravel(), p.ravel())), abs=1e-3)


# Variables that a step must read whenever it runs


def _losses_of_epochs(loss, callback, epochs=3):
    """The loss of each epoch of a model that does not learn."""
    y, p, _ = batch(64, classes=1)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(keras.optimizers.SGD(0.0), loss)
    history = model.fit(p, y, epochs=epochs, batch_size=64, verbose=0, shuffle=False, callbacks=[callback])
    return y, p, history.history["loss"]


def test_a_schedule_moves_the_weights_of_a_compiled_step():
    blend = BlendedLoss({"f1": SoftF1(), "mse": keras.losses.MeanSquaredError()})
    schedule = BlendSchedule(blend, start={"f1": 1, "mse": 0}, end={"f1": 0, "mse": 10}, epochs=2)
    y, p, found = _losses_of_epochs(blend, schedule)
    f1, mse = (float(part(y, p)) for part in blend.parts.values())
    np.testing.assert_allclose(found, [f1, 0.5 * f1 + 5 * mse, 10 * mse], rtol=1e-5)


class Steep(Heaviside):
    def __init__(self):
        self.k = keras.Variable(1.0, trainable=False)

    def call(self, p, threshold):
        return ops.sigmoid(ops.cast(self.k, p.dtype) * (p - threshold))


class SetEachEpoch(keras.callbacks.Callback):
    def __init__(self, variable, values):
        super().__init__()
        self.variable, self.values = variable, values

    def on_epoch_begin(self, epoch, logs=None):
        self.variable.assign(self.values[epoch])


def test_variables_of_an_approximation_and_of_a_score_are_read_by_every_step():
    steep = Steep()
    y, p, found = _losses_of_epochs(SoftF1(heaviside=steep), SetEachEpoch(steep.k, [1.0, 10.0, 100.0]))
    for value, k in zip(found, [1.0, 10.0, 100.0], strict=True):
        assert value == pytest.approx(
            float(SoftF1(heaviside=lambda q, t, k=k: ops.sigmoid(k * (q - t)))(y, p)), abs=1e-5
        )
    factor = keras.Variable(1.0, trainable=False)
    score = scores.Score(lambda cells: ops.cast(factor, cells.tp.dtype) * scores.f1(cells), registered=False)
    y, p, found = _losses_of_epochs(SoftSetLoss(score), SetEachEpoch(factor, [1.0, 0.5, 0.0]))
    f1 = 1 - float(SoftF1()(y, p))
    np.testing.assert_allclose(found, [1 - f1, 1 - 0.5 * f1, 1], rtol=1e-5)


def test_the_running_matrix_follows_a_fit_and_evaluating_leaves_it_unchanged():
    y, p, _ = batch(96, classes=1)
    loss = GuidedCrossentropy("f1", window=64)
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "sigmoid", kernel_initializer="ones")])
    model.compile(keras.optimizers.SGD(0.0), loss)
    model.fit(p, y, epochs=1, batch_size=32, verbose=0, shuffle=False)
    predicted = model.predict(p, verbose=0)
    matrix = np.zeros(4)
    for k in range(3):
        part = slice(32 * k, 32 * k + 32)
        cells = reference.cells(y[part], predicted[part].astype("float64"))[:, 0, 0]
        matrix = matrix * np.exp(-32 / 64) + cells
    np.testing.assert_allclose(loss._running.value[:, 0], matrix, rtol=1e-5)
    model.evaluate(p, y, verbose=0)
    np.testing.assert_allclose(loss._running.value[:, 0], matrix, rtol=1e-5)


# Errors


@pytest.mark.parametrize(("y", "p"), [([[0.0], [2.0]], [[0.2], [0.7]]), ([[0.0], [1.0]], [[0.2], [3.0]])])
def test_invalid_values_raise_where_values_are_known_and_are_nan_where_they_are_not(y, p):
    with pytest.raises(ValueError, match="Received: values from"):
        SoftF1()(np.float32(y), np.float32(p))
    with pytest.raises(ValueError, match="Received: values from"):
        evaluate(y, p, "f1")
    if JAX:
        value, gradient = compiled_value_and_gradient(SoftF1(), y, p)
        assert np.isnan(value)
        assert not np.isnan(gradient).any()


def test_the_first_batch_of_a_fit_with_labels_out_of_range():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(3, "softmax")])
    model.compile("sgd", SoftF1(threshold="argmax"))
    ids = np.array([0, 1, 7])
    if JAX:
        assert np.isnan(model.fit(np.ones((3, 1)), ids, verbose=0).history["loss"]).all()
    else:
        with pytest.raises(Exception, match=r"y_true"):
            model.fit(np.ones((3, 1)), ids, verbose=0)
    with pytest.raises(ValueError, match="Received: 7"):
        SoftF1(threshold="argmax")(ids, np.full((3, 3), 1 / 3, "float32"))


# Devices


SCRIPT = pathlib.Path(__file__).parents[1] / "scripts" / "devices.py"
ON_DEVICES = ("f1", "nine", "at recall", "guided", "kappa")
elsewhere = pytest.mark.skipif(BACKEND == "tensorflow", reason="test_replicas asks it of TensorFlow")


def _difference(one, other, part):
    return np.abs(np.subtract(one[part], other[part])).max()


@elsewhere
@pytest.mark.parametrize(
    "cases",
    [ON_DEVICES[:1], pytest.param(ON_DEVICES[1:], marks=pytest.mark.slow)] if JAX else [ON_DEVICES],
    ids=" ".join,
)
def test_several_devices_train_as_one_and_the_mean_of_their_losses_would_differ(cases):
    variables = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[2])}
    command = [sys.executable, SCRIPT, BACKEND, *cases]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    together, apart = map(json.loads, out.stdout.splitlines())
    one, *several = together
    assert len(several) == 2
    for case in cases:
        assert one[case]["losses"][0] - one[case]["losses"][-2] > 1e-3  # what goes nowhere would agree with anything
        for found in several:
            for part in ("losses", "metrics", "weights"):
                assert _difference(one[case], found[case], part) < 1e-6, (case, part)
        if JAX:
            assert [found[case]["devices"] for found in together] == [1, 4, 4]
            assert [found[case]["split"] for found in several] == [False, True]
    one, *several = apart
    for found in several:
        assert _difference(one[cases[0]], found[cases[0]], "losses") > 0.1
        assert _difference(one[cases[0]], found[cases[0]], "weights") > 0.01


@elsewhere
@pytest.mark.slow
def test_the_example_trains_on_three_devices_as_on_one():
    variables = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[2])}
    script = SCRIPT.parents[2] / "examples" / "other_backends.py"
    command = [sys.executable, script, "--backend", BACKEND, "--devices=3", "--check", "--smoke"]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout
    assert len(re.findall(r"epoch \d/2: loss 0\.\d+, F1 0\.\d*[1-9]", out)) == 4
    assert float(out.split()[-1]) < 1e-6


@pytest.mark.skipif(not JAX, reason="only JAX compiles for devices that are not there")
def test_only_programs_for_cpus_count_in_bins():
    """Bins, cheap on CPUs, are made one after the other on TPUs."""
    import jax

    array = jax.ShapeDtypeStruct((20_000, 1), "float32")
    traced = jax.jit(jax.grad(lambda p, y: SoftF1(threshold=NINE)(y, p))).trace(array, array)
    found = {platform: traced.lower(lowering_platforms=(platform,)).as_text() for platform in ("cpu", "tpu")}
    assert {platform: "scatter" in text for platform, text in found.items()} == {"cpu": True, "tpu": False}


@pytest.mark.slow
@pytest.mark.skipif(not JAX, reason="only JAX compiles for chips that are not there")
def test_on_tpus_a_loss_adds_one_sum_of_a_few_numbers():
    """What the compiler makes of a training step on 4 chips, also of a batch that is not a power of two."""
    pytest.importorskip("libtpu")
    code = """
import json
from benchmarks import compiled
names = ["SoftF1, 1 threshold", "SoftF1, 9 thresholds", "GuidedCrossentropy, window=None", "SoftKappa, 5 classes"]
for name in (compiled.BASE, *names):
    print(json.dumps([compiled.facts(name, "v5e:2x2x1", size) for size in (65536, 60000)]))
"""
    variables = {**os.environ, "PYTHONPATH": str(SCRIPT.parents[2]), "JAX_DISABLE_MOST_OPTIMIZATIONS": "false"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables)
    base, *found = map(json.loads, out.stdout.splitlines())
    for both, numbers in zip(found, (4, 2 * 9 + 2, 6, 25), strict=True):
        for ours, theirs in zip(both, base, strict=True):
            assert len(theirs["collectives"]) == 1
            assert [kind for kind, _ in ours["collectives"]] == ["all-reduce", "all-reduce"]
            assert min(size for _, size in ours["collectives"]) == numbers
            if numbers < 25:  # otherwise the model differs, too
                assert ours["bytes"] < 1.05 * theirs["bytes"]
                assert ours["seconds"] < 1.05 * theirs["seconds"]


# Other backends


def test_evaluate_keeps_all_digits(rng):
    y, p = rng.integers(0, 2, 41), rng.random(41)
    threshold = np.sort(p[y == 1])[::-1][int(np.ceil(0.9 * y.sum())) - 1 :]
    best = max(y[p >= t].mean() for t in threshold)
    assert evaluate(y, p, "precision", threshold=AtRecall(0.9)) == pytest.approx(best, rel=1e-12)
    ids, q = rng.integers(0, 3, 41), rng.dirichlet(np.ones(3), 41).astype("float32")
    assert evaluate(ids, q, "multiclass_accuracy") == pytest.approx((q.argmax(1) == ids).mean(), rel=1e-12)
    f1 = [2 * np.sum((q.argmax(1) == k) & (ids == k)) / np.sum((q.argmax(1) == k) + 1.0 * (ids == k)) for k in range(3)]
    assert evaluate(ids, q, "f1", threshold="argmax") == pytest.approx(np.mean(f1), rel=1e-12)


def test_an_empty_batch_has_a_loss_at_any_number_of_thresholds():
    nothing = np.zeros((0, 2), "float32")
    for thresholds in DECISIONS.values():
        value, gradient = value_and_gradient(SoftF1(threshold=thresholds), nothing, nothing)
        assert value == 1.0
        assert gradient.shape == (0, 2)


@pytest.mark.parametrize("decision", [0.3, keras_softsets.PerClass([0.2, 0.5, 0.3]), Argmax(offsets=[0.0, 0.3, -0.2])])
def test_a_decision_is_a_layer(rng, decision):
    p = rng.dirichlet(np.ones(3), 500).astype("float32")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Activation("linear")])
    for shift in (0.0, 0.7):
        answer = keras_softsets.as_classifier(model, threshold=decision, shift=shift).predict(p, verbose=0)
        if isinstance(decision, Argmax):
            np.testing.assert_array_equal(
                answer["label"], (np.log(p) + np.array([0.0, 0.3, -0.2], "float32")).argmax(1)
            )
        else:
            at = np.float32(0.3) if decision == 0.3 else np.array([0.2, 0.5, 0.3], "float32")
            np.testing.assert_array_equal(answer["label"], p >= at)
            odds = p / (1 - p) * np.exp(-shift)
            np.testing.assert_allclose(answer["probability"], odds / (1 + odds), rtol=1e-5)


def test_tensorflow_is_not_imported_on_another_backend():
    code = "import sys, keras, keras_softsets; print(keras.config.backend(), 'tensorflow' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == [BACKEND, str(BACKEND == "tensorflow")]


@pytest.mark.skipif(BACKEND == "tensorflow", reason="there, TensorFlow is what exports")
def test_what_needs_tensorflow_says_what_to_install(tmp_path):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "sigmoid")])
    with pytest.raises(ImportError, match=r"keras-softsets\[tensorflow\]"):
        keras_softsets.export_classifier(model, tmp_path)
    with pytest.raises(ImportError, match=r"keras-softsets\[datasets\]"):
        keras_softsets.datasets.load("wine_quality", data_dir=tmp_path, raw_dir=tmp_path)


@elsewhere
def test_the_command_line_compares_numbers_and_says_what_text_needs(tmp_path, capsys, rng):
    from keras_softsets.__main__ import main

    x = rng.normal(size=120).round(3)
    rows = [f"{a},{'yes' if a + b > 0.5 else 'no'},Rome" for a, b in zip(x, rng.normal(size=120))]
    table = tmp_path / "customers.csv"
    table.write_text("\n".join(["x,churned,city", *(f"{row}{k % 3}" for k, row in enumerate(rows))]))
    given = ["compare", str(table), "--label", "churned", "--output", str(tmp_path / "o"), "--seeds=1", "--epochs=1"]
    assert main(given) == 2
    assert "--drop city" in (said := capsys.readouterr().err)
    assert "keras-softsets[tensorflow]" in said
    assert main([*given, "--drop", "city"]) == 0
    assert "classifier.keras" in capsys.readouterr().out
    answer = keras.saving.load_model(tmp_path / "o/classifier.keras").predict({"x": x[:, None]}, verbose=0)
    assert set(np.unique(answer["label"])) <= {0, 1}
    assert answer["probability"].std() > 0


# Files of other backends


FOR_ONNX = {"tensorflow": "tf2onnx", "jax": "jax2onnx", "torch": "onnxscript"}


def model_with_everything():
    """Two outputs for each loss of cells, three for each of classes, and all metrics; see `of_other_backends`."""
    keras.utils.set_random_seed(0)
    guided = GuidedCrossentropy("f1", window=64)
    binary = {kind.__name__: kind(**PARAMETERS.get(kind.score_name, {})) for kind in LOSSES}
    binary |= {"operating": SoftPrecisionAtRecall(0.8), "guided": guided}
    binary |= {"blend": BlendedLoss({"f1": SoftF1(threshold=NINE), "bce": keras.losses.BinaryCrossentropy()})}
    classes = {kind.__name__: kind() for kind in CLASS_LOSSES}
    classes |= {"argmax": SoftF1(threshold=Argmax(offsets=[0.0, 0.3, -0.2])), "guided3": GuidedCrossentropy("kappa")}
    inputs = keras.Input((3,), name="x")
    outputs = {name: keras.layers.Dense(2, "sigmoid", name=name)(inputs) for name in binary}
    outputs |= {name: keras.layers.Dense(3, "softmax", name=name)(inputs) for name in classes}
    found = {kind.__name__: kind(**PARAMETERS.get(kind.score_name, {})) for kind in METRICS}
    extra = [metrics.PrecisionAtRecall(0.8), metrics.CalibrationError(), metrics.Confusion(average=None)]
    both = {"SoftF1": [*found.values(), *extra], "argmax": [kind() for kind in CLASS_METRICS]}
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.SGD(0.1), {**binary, **classes}, metrics=both, run_eagerly=True)
    return model


def of_other_backends(folder):
    """Saves a model of this backend unless the folder holds one, also as ONNX, and evaluates all that it holds."""
    random, folder = np.random.default_rng(0), pathlib.Path(folder)
    x = random.normal(size=(48, 3)).astype("float32")
    labels, ids = (x[:, :2] + random.normal(size=(48, 2)) > 0.3).astype("float32"), np.argmax(x, 1)
    own = folder / f"{BACKEND}.keras"
    if not own.exists():
        model = model_with_everything()
        y = {name: labels if model.get_layer(name).units == 2 else ids for name in model.output_names}
        model.fit(x, y, batch_size=48, epochs=2, verbose=0)
        model.save(own)
        answer = keras_softsets.as_classifier(keras.Model(model.inputs, model.get_layer("SoftF1").output), 0.45)
        expected = answer.predict(x, verbose=0)
        np.savez(folder / f"{BACKEND}.npz", x=x, **{name: np.asarray(values) for name, values in expected.items()})
        if importlib.util.find_spec(FOR_ONNX[BACKEND]):
            answer(x[:1])  # otherwise, Keras (3.15.1) on JAX says that the model has never been called
            answer.export(folder / f"{BACKEND}.onnx", format="onnx", verbose=False)
    for file in sorted(folder.glob("*.keras")):
        # Files of Keras (3.15.1) on PyTorch name its own class of the optimizer, which is missing elsewhere.
        model = keras.saving.load_model(file, custom_objects={"SGD": keras.optimizers.SGD})
        y = {name: labels if model.get_layer(name).units == 2 else ids for name in model.output_names}
        found = model.evaluate(x, y, batch_size=48, verbose=0, return_dict=True)
        numbers = {name: np.asarray(ops.convert_to_numpy(value)).tolist() for name, value in found.items()}
        (folder / f"{file.stem} on {BACKEND}.json").write_text(json.dumps(numbers))


ROOT = pathlib.Path(__file__).parents[2]
PYTHONS = {name: ROOT / f".venv{tail}/bin/python" for name, tail in zip(_backend.BACKENDS, ("", "-jax", "-torch"))}


@pytest.mark.slow
@pytest.mark.skipif(not all(python.exists() for python in PYTHONS.values()), reason="needs all three environments")
def test_models_of_any_backend_evaluate_the_same_on_all_and_as_onnx(tmp_path):
    code = f"import test_backends; test_backends.of_other_backends({str(tmp_path)!r})"
    for backend, python in [*PYTHONS.items()] * 2:
        paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests/package")))
        variables = {**os.environ, "PYTHONPATH": paths, "KERAS_BACKEND": backend}
        subprocess.run([python, "-c", code], env=variables, check=True)
    for saved in PYTHONS:
        one, *others = (json.loads((tmp_path / f"{saved} on {on}.json").read_text()) for on in PYTHONS)
        assert len(one) > 40
        for other in others:
            assert other.keys() == one.keys()
            for name, value in one.items():
                np.testing.assert_allclose(other[name], value, rtol=1e-5, atol=1e-5, err_msg=name)
    onnxruntime = pytest.importorskip("onnxruntime")
    for file in tmp_path.glob("*.onnx"):
        expected = np.load(file.with_suffix(".npz"))
        session = onnxruntime.InferenceSession(file)
        label, probability = session.run(None, {"x": expected["x"]})  # only TensorFlow keeps their names
        np.testing.assert_allclose(probability, expected["probability"], atol=1e-6)
        np.testing.assert_array_equal(label, expected["label"])
