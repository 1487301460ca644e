"""Saving: what is saved loads again, also from earlier versions, and a clear error says where it cannot work."""

import inspect
import json
import pathlib

import keras
import numpy as np
import processes
import pytest
from cases import LOSSES, METRICS, PARAMETERS
from sklearn import metrics as sk

import keras_softsets  # noqa: F401  (registers what is loaded)
from keras_softsets import (
    LinearHeaviside,
    SigmoidHeaviside,
    SoftAUROC,
    SoftF1,
    SoftFBeta,
    SoftKappa,
    SoftMCC,
    SoftSetLoss,
    TabulatedHeaviside,
    metrics,
)
from keras_softsets.metrics import SoftSetMetric

OPTIONS = [
    dict(threshold=[0.2, 0.6], heaviside=LinearHeaviside(0.2), average="micro"),
    dict(threshold=0.3, heaviside=SigmoidHeaviside(7), average="weighted", from_logits=True, name="mine"),
    dict(heaviside=TabulatedHeaviside(SigmoidHeaviside(3), 3), average=None, dtype="float64"),
]


def batch(seed=0, classes=2):
    random = np.random.default_rng(seed)
    return random.integers(0, 2, (40, classes)), random.random((40, classes)), random.random(40)


@pytest.mark.parametrize("adapter", [*LOSSES, *METRICS], ids=lambda c: f"{c.__module__.split('.')[-1]}.{c.__name__}")
def test_every_argument_round_trips(adapter):
    for options in OPTIONS:
        ours = adapter(**options, **PARAMETERS.get(adapter.score_name, {}))
        config = ours.get_config()
        assert "score" not in config
        copies = [
            type(ours).from_config(config),
            keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(ours)),
        ]
        for copy in copies:
            assert type(copy) is adapter
            assert copy.get_config() == config
            assert copy.name == ours.name
            assert copy.dtype == ours.dtype
            np.testing.assert_array_equal(copy(*batch()), _reset(ours)(*batch()))


@pytest.mark.parametrize("adapter", [SoftF1, SoftKappa, metrics.F1, metrics.Kappa])
def test_options_that_these_numbers_do_not_show_round_trip(adapter):
    options = dict(average=[3.0, 1.0], zero_division="ignore", per_sample=True, ignore_class=255)
    copy = adapter.from_config(adapter(**options).get_config())
    assert {name: copy.evaluation.arguments()[name] for name in options} == options
    assert {name: copy.get_config()[name] for name in options} == options


def _reset(adapter):
    if isinstance(adapter, keras.metrics.Metric):
        adapter.reset_state()
    return adapter


def test_the_general_classes_round_trip():
    for adapter in (
        SoftSetLoss("tversky", alpha=0.2, reduction="sum", average=None),
        SoftSetMetric("cohen_kappa", threshold=[0.2, 0.4]),
        metrics.Confusion(threshold=0.3, average="macro"),
    ):
        copy = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(adapter))
        assert copy.get_config() == adapter.get_config()
        assert type(copy) is type(adapter)


def compiled_model(losses):
    keras.utils.set_random_seed(0)
    inputs = keras.Input((3,))
    outputs = {name: keras.layers.Dense(2, "sigmoid", name=name)(inputs) for name in losses}
    ours = [metrics.FBeta(beta=2, threshold=[0.3, 0.5]), metrics.Confusion(average=None), metrics.AUROC()]
    last = list(losses)[-1]
    model = keras.Model(inputs, outputs)
    model.compile("adam", losses, metrics={last: ours}, weighted_metrics={last: [metrics.F1(name="weighted_f1")]})
    return model


FEW = (SoftFBeta, SoftMCC, SoftAUROC)  # with an argument, of all cells, of all thresholds


@pytest.mark.parametrize("kinds", [FEW, pytest.param(LOSSES, marks=pytest.mark.slow)], ids=["few", "all"])
def test_a_compiled_model_evaluates_the_same_and_trains_on_after_loading(kinds, tmp_path):
    """Each loss is saved by `test_every_argument_round_trips`, and a model of all is loaded below, from version 0.1."""
    random = np.random.default_rng(0)
    losses = {
        loss.__name__: loss(threshold=[0.25, 0.5], heaviside="sigmoid", **PARAMETERS.get(loss.score_name, {}))
        for loss in kinds
    }
    x, w = random.normal(size=(64, 3)), random.random(64)  # two full batches: Keras traces twice for a partial one
    y = {name: random.integers(0, 2, (64, 2)) for name in losses}
    w = dict.fromkeys(losses, w)
    model = compiled_model(losses)
    model.fit(x, y, sample_weight=w, epochs=1, verbose=0)
    before = model.evaluate(x, y, sample_weight=w, verbose=0, return_dict=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    after = loaded.evaluate(x, y, sample_weight=w, verbose=0, return_dict=True)
    assert set(before) >= {f"{name}_loss" for name in losses}
    keras.tree.map_structure(np.testing.assert_array_equal, before, after)
    for m in (model, loaded):
        m.fit(x, y, sample_weight=w, epochs=2, shuffle=False, verbose=0)
    for a, b in zip(model.get_weights(), loaded.get_weights()):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.processes
def test_a_fresh_process_loads_without_custom_objects(tmp_path):
    model = compiled_model({"out": SoftSetLoss("f_beta", beta=2)})
    model.save(tmp_path / "model.keras")
    x, y = np.ones((4, 3)), {"out": np.array([[0, 1]] * 4)}
    expected = model.evaluate(x, y, verbose=0)[0]
    code = (
        "import keras, keras_softsets, numpy as np\n"
        f"model = keras.saving.load_model({str(tmp_path / 'model.keras')!r})\n"
        "print(model.evaluate(np.ones((4, 3)), {'out': np.array([[0, 1]] * 4)}, verbose=0)[0])"
    )
    out = processes.run_code(code)
    assert out.returncode == 0, out.stderr
    assert float(out.stdout.strip().splitlines()[-1]) == pytest.approx(expected, rel=1e-6)


def test_an_unregistered_function_says_what_to_do(tmp_path):
    model = compiled_model({"out": SoftSetLoss(lambda cells: cells.tp / (cells.tp + cells.fn + 1))})
    model.fit(np.ones((4, 3)), {"out": np.ones((4, 2))}, verbose=0)
    with pytest.raises(ValueError, match=r"decorate the function with @keras_softsets\.score"):
        model.save(tmp_path / "model.keras")


def test_an_unknown_score_in_a_file_is_named():
    config = keras.saving.serialize_keras_object(SoftSetLoss("f1"))
    config["config"]["score"] = "lost"
    with pytest.raises(ValueError, match=r"imported.*score='lost'"):
        keras.saving.deserialize_keras_object(config)


FOLDER = pathlib.Path(__file__).parent / "saved_0_1"
OBJECTS = json.loads((FOLDER / "objects.json").read_text())


@pytest.mark.parametrize("entry", OBJECTS, ids=lambda entry: entry["object"]["class_name"])
def test_losses_and_metrics_of_0_1(entry):
    random = np.random.default_rng(0)
    adapter = keras.saving.deserialize_keras_object(entry["object"])
    value = adapter(random.integers(0, 2, (40, 2)), random.random((40, 2)), random.random(40))
    expected = entry["value"]
    for found, stored in zip(
        *([x.values() for x in (value, expected)] if isinstance(value, dict) else [[value], [expected]])
    ):
        assert float(found) == pytest.approx(stored, rel=1e-6, abs=3e-7)


@pytest.mark.skipif(
    "quantization_config" not in inspect.signature(keras.layers.Dense).parameters,
    reason="the model was saved by Keras 3.15.1, with an argument of its layers that older versions do not know",
)
def test_a_model_of_0_1_evaluates_the_same_and_trains_on():
    model = keras.saving.load_model(FOLDER / "model.keras")
    expected = json.loads((FOLDER / "model.json").read_text())
    x = np.random.default_rng(1).normal(size=(60, 3)).astype("float32")
    y = {name: np.random.default_rng(2).integers(0, 2, (60, 2)) for name in model.output_names}
    found = model.evaluate(x, y, batch_size=60, verbose=0, return_dict=True)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-5, abs=1e-6), name
    losses = model.fit(x, y, batch_size=60, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_a_kappa_that_was_saved_when_unweighted_was_the_default_keeps_its_weights(weights):
    def saved(module, kind, registered, **config):
        names = {"module": f"keras_softsets.{module}", "class_name": kind, "registered_name": registered}
        return {**names, "config": config}

    metric = keras.saving.deserialize_keras_object(
        saved(
            "metrics",
            "Kappa",
            "keras_softsets>metrics>Kappa",
            weights=weights,
            threshold=saved("decisions", "Argmax", "keras_softsets>Argmax", temperature=1.0, offsets=None),
            heaviside=saved("heaviside", "StepHeaviside", "keras_softsets>StepHeaviside"),
            **{"average": "macro", "from_logits": False, "zero_division": 0.0, "per_sample": False},
            **{"ignore_class": None, "name": "kappa", "dtype": "float32"},
        )
    )
    ids, p = [0, 1, 2, 2, 0], [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.5, 0.4], [0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]
    assert float(metric(ids, p)) == pytest.approx(sk.cohen_kappa_score(ids, [0, 1, 1, 0, 0], weights=weights), rel=1e-6)
