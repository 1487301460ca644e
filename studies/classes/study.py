"""The study of several classes, for the command line."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

from keras_softsets import Argmax, WindowedEarlyStopping, datasets, evaluate, tune_threshold
from studies.classes import ordinal, plan
from studies.harness.store import Line
from studies.harness.study import Job, Key, Study

WINDOW = 50
TIMES = np.linspace(-0.5, 1.5, 41)  # of log shares


def run(study: plan.Study, data: datasets.Splits, method: str, seed: int, epochs: int | None = None) -> list[Line]:
    start = time.perf_counter()
    model, best_of = train(study, data, method, seed, epochs or study.training.epochs)
    seconds = time.perf_counter() - start
    rows: list[Line] = []
    for name in study.scores:
        score = plan.SCORES[name]
        model.set_weights(best_of(name))
        on_validation, on_test = (model.predict(x, batch_size=4096, verbose=0) for x, _ in (data.validation, data.test))
        if method in plan.ORDINAL:
            on_validation, on_test = (np.asarray(keras.ops.softmax(logits)) for logits in (on_validation, on_test))
        for decision in study.decisions(method):
            seen = (data.test[1], on_test) if decision == plan.BOUND else (data.validation[1], on_validation)
            value = evaluate(data.test[1], on_test, score, threshold=_decision(decision, *seen, score))
            row = {"trial": seed, "score": name, "decision": decision, "data": study.data, "value": value}
            rows.append({**row, "seconds": seconds})
    return rows


def _decision(kind: str, ids: np.ndarray, p: np.ndarray, score: Any) -> Any:
    """Returns the decision that some data choose."""
    if kind == "argmax":
        return kind
    if kind == plan.ONE_NUMBER:
        return one_number(ids, p, score)
    offsets = "auto" if kind == plan.AUTO else "free"
    return tune_threshold(ids, p, score, decision="argmax", offsets=offsets).threshold


def one_number(ids: np.ndarray, p: np.ndarray, score: Any) -> Argmax:
    """Returns logit adjustment: offsets that are the best multiple of the logarithms of the classes' shares."""
    share = np.bincount(ids, minlength=p.shape[1]) / len(ids)
    log_share = np.log(np.maximum(share, 1e-6))
    tried = [Argmax(offsets=tuple(-times * log_share)) for times in TIMES]
    return max(tried, key=lambda decision: float(evaluate(ids, p, score, threshold=decision)))


def train(study: plan.Study, data: datasets.Splits, method: str, seed: int, epochs: int) -> tuple[keras.Model, Any]:
    """Returns the model, and a function from the name of a score to the weights that are kept for it."""
    keras.utils.set_random_seed(seed)
    x, ids = data.train
    classes = int(max(part[1].max() for part in data)) + 1
    hidden = [keras.layers.Dense(units, "relu") for units in study.training.units]
    model = keras.Sequential([keras.Input((x.shape[1],)), *hidden, *ordinal.network_end(method, classes)])
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


_load = functools.lru_cache(maxsize=1)(plan.load)  # the methods of a split follow one another


def _train(job: Job) -> Iterator[Line]:
    """Trains the missing trials, and yields the rows that are not known: a decision may be added to a study."""
    study, known = plan.STUDIES[job.key["study"]], {_what(row) for row in job.done}
    for seed in job.trials:
        rows = run(study, _load(study.data, seed, job.raw_dir), job.key["method"], seed)
        yield from (row for row in rows if _what(row) not in known)


def _complete(key: Key, rows: Sequence[Line]) -> bool:
    study = plan.STUDIES[key["study"]]
    wanted = itertools.product(study.scores, study.decisions(key["method"]))
    return {(row["score"], row["decision"]) for row in rows} >= set(wanted)


def _what(row: Line) -> tuple[int, str, str]:
    return row["trial"], row["score"], row["decision"]


STUDY = Study(
    "classes",
    "several classes: set losses at the argmax against cross-entropy with tuned offsets",
    ("study", "method", "trial", "score", "decision"),
    [{"study": name, "method": method} for name, study in plan.STUDIES.items() for method in study.methods],
    _train,
    trials=plan.SEEDS,
    complete=_complete,
)
