"""Is it enough to train the last layer anew? Ten classes with a long tail.

The protocol, fixed before the first result:

* **Data.** CIFAR-10; of the k-th class the first 5,000 / 100^(k / 9) training images are kept, so frequencies fall from
  5,000 to 50 (ratio 100, 12,406 images). The test images are all 10,000, with equal shares.
* **Network.** The CNN of four convolutions of `studies/images/frog.py` with ten logits, Adam 1e-3, batches of 128, 20
  epochs, three trials; a trial's seed decides initial weights, dropout and order for every loss. No epoch is chosen.
* **From the start.** Cross-entropy; cross-entropy with the logarithms of the shares added to the logits, which is both
  the logit-adjusted loss and the balanced softmax; cross-entropy guided by the macro F1; `loss_for` of the macro F1.
* **Head only.** The network trained on cross-entropy is frozen, and the 128 features of all training images are one
  batch. The last layer is trained on, from where it is, in 500 steps of Adam 1e-2: adjusted, guided by macro F1, guided
  by the mean recall, soft macro F1, and cross-entropy as a control.
* **Post hoc.** The logarithms of the shares are taken off the logits of cross-entropy.
* **Columns.** Macro F1 and accuracy of the test images at the argmax (shares are equal, so this is also the mean
  recall); seconds of training.
* **The question.** Is a head that is guided above the adjusted loss, or above post-hoc adjustment, by two standard
  errors in either score? If it is, the docs should say how to train one; if not, that there is no need to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_softsets as kss
from keras_softsets.datasets.sets import cifar10
from studies.harness.store import Line
from studies.harness.study import Job, Study
from studies.images import frog

EPOCHS, STEPS, CLASSES, RATIO, MOST = 20, 500, 10, 100, 5000
Loss = Callable[[Any], keras.losses.Loss | Callable]
COUNTS = np.array([int(MOST * RATIO ** (-k / (CLASSES - 1))) for k in range(CLASSES)])
LOG_SHARES = np.log(COUNTS / COUNTS.sum()).astype("float32")


def _cross_entropy() -> keras.losses.Loss:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _adjusted() -> Callable[[Any, Any], Any]:
    plain = _cross_entropy()
    return lambda y_true, y_pred: plain(y_true, y_pred + LOG_SHARES)


def _guided(score: str) -> Callable[[], keras.losses.Loss]:
    return lambda: kss.GuidedCrossentropy(score, threshold="argmax", from_logits=True)


FROM_THE_START: dict[str, Callable[[], Any]] = {
    "ce": _cross_entropy,
    "adjusted": _adjusted,
    "guided": _guided("f1"),
    "loss_for": lambda: kss.loss_for("f1", threshold="argmax", from_logits=True),
}
HEADS: dict[str, Callable[[], Any]] = {
    "head_ce": _cross_entropy,
    "head_adjusted": _adjusted,
    "head_guided": _guided("f1"),
    "head_guided_recall": _guided("recall"),
    "head_soft_f1": lambda: kss.SoftF1(threshold="argmax", from_logits=True),
}


def network() -> keras.Model:
    """Returns the CNN with ten logits."""
    binary = frog.small_cnn()
    logits = keras.layers.Dense(CLASSES, name="logits")
    return keras.Model(binary.input, logits(binary.layers[-2].output), name="small_cnn_of_ten")


def load(raw_dir: str | None) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Returns images in [0, 1] and class ids: those for training, with a long tail, and those of the test."""
    parts = cifar10.read_directory(Path(raw_dir or os.environ["KERAS_SOFTSETS_RAW_DIR"]))
    train, test = parts["train"], parts["test"]
    kept = np.concatenate([np.flatnonzero(train.classes == k)[:count] for k, count in enumerate(COUNTS)])
    train = train._replace(images=train.images[kept], classes=train.classes[kept])
    train, test = ((part.images.astype("float32") / 255, part.classes.astype("int32")) for part in (train, test))
    return train, test


def _train(job: Job) -> Iterator[Line]:
    train, test = load(job.raw_dir)
    for trial in job.trials:
        started = time.process_time()
        model = _fitted(job.key["method"], trial, train, job.say)
        seconds = time.process_time() - started
        logits = model.predict(test[0], batch_size=500, verbose=0)
        yield _row(job.key["method"], trial, test[1], logits, seconds)
        if job.key["method"] == "ce":
            yield _row("ce_post_hoc", trial, test[1], logits - LOG_SHARES, seconds)
            yield from _heads(model, trial, train, test)


def _row(method: str, trial: int, ids: np.ndarray, logits: np.ndarray, seconds: float) -> Line:
    macro_f1 = kss.evaluate(ids, logits, "f1", threshold="argmax", from_logits=True)
    accuracy = float((logits.argmax(1) == ids).mean())
    return {"trial": trial, "decision": method, "macro_f1": macro_f1, "accuracy": accuracy, "seconds": seconds}


def _fitted(method: str, trial: int, data: tuple[np.ndarray, np.ndarray], say: Callable[[str], None]) -> keras.Model:
    keras.utils.set_random_seed(trial)
    model = network()
    model.compile(keras.optimizers.Adam(1e-3), FROM_THE_START[method]())
    for epoch in range(EPOCHS):
        loss = model.fit(frog.batches(data, trial, epoch), shuffle=False, verbose=0).history["loss"][0]
        say(f"epoch {epoch + 1}, loss {loss:.4f}")
    return model


def _heads(model: keras.Model, trial: int, train: Any, test: Any) -> Iterator[Line]:
    features = keras.Model(model.input, model.layers[-3].output)  # before dropout
    (x, ids), (x_test, ids_test) = ((features.predict(x, batch_size=500, verbose=0), ids) for x, ids in (train, test))
    for method, loss in HEADS.items():
        keras.utils.set_random_seed(trial)
        head = keras.Sequential([keras.Input(x.shape[1:]), keras.layers.Dense(CLASSES)])
        head.set_weights(model.layers[-1].get_weights())
        head.compile(keras.optimizers.Adam(1e-2), loss())
        started = time.process_time()
        head.fit(x, ids, batch_size=len(ids), epochs=STEPS, verbose=0)
        logits = head.predict(x_test, batch_size=2000, verbose=0)
        yield _row(method, trial, ids_test, logits, time.process_time() - started)


STUDY = Study(
    "guided_head",
    "ten classes with a long tail: guided from the start, or the last layer alone",
    ("method", "trial", "decision"),
    [{"method": name} for name in FROM_THE_START],
    _train,
    trials=3,
    complete=lambda key, rows: len(rows) == (2 + len(HEADS) if key["method"] == "ce" else 1),
    minutes=10.0,
)
