"""Saves a model with every loss and metric, and their values, with whatever version is installed.

`model.keras` beside this file has every named loss and metric of version 0.1, `objects.json` each of them with several
options, and both JSON files the values that they had on the data below. Tests load them with the code of today: names,
arguments and numbers of saved models do not change. `python make.py FOLDER` writes the same files with the version
installed; do not overwrite these.
"""

import json
import pathlib
import sys

import keras
import numpy as np

import keras_softsets as softsets
from keras_softsets import LinearHeaviside, SigmoidHeaviside, TabulatedHeaviside, losses, metrics

OPTIONS = [
    {},
    {"threshold": [0.2, 0.6], "heaviside": LinearHeaviside(0.2), "average": "micro"},
    {"threshold": 0.3, "heaviside": SigmoidHeaviside(7), "average": "weighted", "from_logits": True, "name": "mine"},
    {"heaviside": TabulatedHeaviside(SigmoidHeaviside(3), 3), "average": "macro", "dtype": "float64"},
]
EXTRA = {"f_beta": {"beta": 2}, "tversky": {"alpha": 0.2, "beta": 0.9}}


def batch():
    random = np.random.default_rng(0)
    return random.integers(0, 2, (40, 2)), random.random((40, 2)), random.random(40)


def adapters():
    for adapter in (*losses.NamedLoss.__subclasses__(), *metrics.NamedMetric.__subclasses__()):
        for options in OPTIONS:
            yield adapter(**options, **EXTRA.get(adapter.score_name, {}))
    yield softsets.SoftSetLoss("cohen_kappa", threshold=0.4)
    yield softsets.SoftSetLoss("tversky", alpha=0.2, reduction="sum", average=None)
    yield metrics.SoftSetMetric("youden_j", threshold=[0.2, 0.4])
    yield metrics.Confusion(threshold=0.3, name="low")


def main(folder):
    keras.utils.set_random_seed(0)
    y, p, w = batch()
    entries = []
    for adapter in adapters():
        value = adapter(y, p, w)
        value = {k: float(v) for k, v in value.items()} if isinstance(value, dict) else float(value)
        if isinstance(adapter, keras.metrics.Metric):
            adapter.reset_state()
        entries.append({"object": keras.saving.serialize_keras_object(adapter), "value": value})
    (folder / "objects.json").write_text(json.dumps(entries, indent=1) + "\n")

    x = np.random.default_rng(1).normal(size=(60, 3)).astype("float32")
    inputs = keras.Input((3,), name="features")
    named = losses.NamedLoss.__subclasses__()
    outputs = {loss.__name__: keras.layers.Dense(2, "sigmoid", name=loss.__name__)(inputs) for loss in named}
    model = keras.Model(inputs, outputs)
    ours = {loss.__name__: loss(threshold=[0.25, 0.5], **EXTRA.get(loss.score_name, {})) for loss in named}
    every = [metric(**EXTRA.get(metric.score_name, {})) for metric in metrics.NamedMetric.__subclasses__()]
    model.compile("adam", ours, metrics={named[0].__name__: [*every, metrics.Confusion()]})
    labels = {name: np.random.default_rng(2).integers(0, 2, (60, 2)) for name in outputs}
    model.fit(x, labels, batch_size=60, epochs=1, verbose=0)
    model.save(folder / "model.keras")
    values = model.evaluate(x, labels, batch_size=60, verbose=0, return_dict=True)
    (folder / "model.json").write_text(json.dumps({k: float(v) for k, v in values.items()}, indent=1) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
