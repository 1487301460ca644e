"""One training: a split, a method, and all scores at the plain argmax and with tuned offsets."""

import time
from typing import Any

import keras
import numpy as np

from benchmarks.classes import plan
from benchmarks.classes.records import Record
from keras_softsets import WindowedEarlyStopping, datasets, evaluate, tune_threshold

WINDOW = 50


def run(study: plan.Study, data: datasets.Splits, method: str, seed: int, epochs: int | None = None) -> list[Record]:
    start = time.perf_counter()
    model, best_of = train(study, data, method, seed, epochs or study.training.epochs)
    seconds = time.perf_counter() - start
    records = []
    for name in study.scores:
        score = plan.SCORES[name]
        model.set_weights(best_of(name))
        on_validation, on_test = (model.predict(x, batch_size=4096, verbose=0) for x, _ in (data.validation, data.test))
        tuned = tune_threshold(data.validation[1], on_validation, score, decision="argmax").threshold
        values = [evaluate(data.test[1], on_test, score, threshold=threshold) for threshold in ("argmax", tuned)]
        if plan.BOUND in plan.decisions(method):
            values.append(tune_threshold(data.test[1], on_test, score, decision="argmax").score)
        for decision, value in zip(plan.decisions(method), values, strict=True):
            records.append(Record(study.data, seed, method, name, decision, value, seconds))
    return records


def train(study: plan.Study, data: datasets.Splits, method: str, seed: int, epochs: int) -> tuple[keras.Model, Any]:
    """Returns the model, and a function from the name of a score to the weights that are kept for it."""
    keras.utils.set_random_seed(seed)
    x, ids = data.train
    classes = int(max(part[1].max() for part in data)) + 1
    hidden = [keras.layers.Dense(units, "relu") for units in study.training.units]
    model = keras.Sequential([keras.Input((x.shape[1],)), *hidden, keras.layers.Dense(classes, "softmax")])
    model.compile(keras.optimizers.Adam(study.training.rate), plan.loss(method))
    by_score = BestEpochs(data.validation, study.scores)
    kept = {"best loss": [WindowedEarlyStopping(window=WINDOW)], "best score": [by_score], "last": []}
    model.fit(
        x,
        ids,
        study.training.batch,
        epochs,
        validation_data=data.validation,
        validation_batch_size=len(data.validation[0]),  # in one batch, val_loss is the loss of the validation part
        callbacks=kept[study.training.kept],
        verbose=0,
    )
    assert all(np.isfinite(weight).all() for weight in model.get_weights()), f"{method}, seed {seed}: not finite"
    last = model.get_weights()
    return model, lambda score: by_score.weights.get(score, last)


class BestEpochs(keras.callbacks.Callback):
    """Keeps, for each score, the weights of the epoch in which it is best on validation data, at the argmax."""

    def __init__(self, validation: tuple[np.ndarray, np.ndarray], scores: tuple[str, ...]) -> None:
        super().__init__()
        self.validation, self.scores = validation, scores
        self.best: dict[str, float] = {}
        self.weights: dict[str, list[np.ndarray]] = {}

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        x, ids = self.validation
        p = self.model(x, training=False)
        for name in self.scores:
            value = evaluate(ids, p, plan.SCORES[name], threshold="argmax")
            if value > self.best.get(name, -np.inf):
                self.best[name], self.weights[name] = value, self.model.get_weights()
