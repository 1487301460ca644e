"""One training: a split, a method, and all scores at the plain argmax and with tuned offsets."""

import time

import keras
import numpy as np

from benchmarks.classes import plan
from benchmarks.classes.records import Record
from keras_softsets import WindowedEarlyStopping, datasets, evaluate, tune_threshold

EPOCHS, WINDOW, BATCH = 400, 50, 512


def run(study: plan.Study, data: datasets.Splits, method: str, seed: int, epochs: int = EPOCHS) -> list[Record]:
    start = time.perf_counter()
    model = train(data, method, seed, epochs)
    seconds = time.perf_counter() - start
    on_validation, on_test = (model.predict(x, batch_size=4096, verbose=0) for x, _ in (data.validation, data.test))
    records = []
    for name in study.scores:
        score = plan.SCORES[name]
        tuned = tune_threshold(data.validation[1], on_validation, score, decision="argmax").threshold
        for decision, threshold in (("argmax", "argmax"), ("offsets", tuned)):
            value = evaluate(data.test[1], on_test, score, threshold=threshold)
            records.append(Record(study.data, seed, method, name, decision, value, seconds))
    return records


def train(data: datasets.Splits, method: str, seed: int, epochs: int) -> keras.Model:
    keras.utils.set_random_seed(seed)
    x, ids = data.train
    classes = int(max(part[1].max() for part in data)) + 1
    hidden = [keras.layers.Dense(units, "relu") for units in (64, 32)]
    model = keras.Sequential([keras.Input((x.shape[1],)), *hidden, keras.layers.Dense(classes, "softmax")])
    model.compile(keras.optimizers.Adam(1e-3), plan.loss(method))
    model.fit(
        x,
        ids,
        BATCH,
        epochs,
        validation_data=data.validation,
        validation_batch_size=len(data.validation[0]),  # in one batch, val_loss is the loss of the validation part
        callbacks=[WindowedEarlyStopping(window=WINDOW)],
        verbose=0,
    )
    assert all(np.isfinite(weight).all() for weight in model.get_weights()), f"{method}, seed {seed}: not finite"
    return model
