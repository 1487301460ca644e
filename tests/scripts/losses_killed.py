"""Trains with a loss that has variables, in a child process that is killed and in one that is not; prints both as JSON.

Usage: python losses_killed.py LOSS FOLDER EPOCH EPOCH ...; a child that ends one of these epochs dies from SIGKILL. The
loss is "blend", with a schedule, or "guided".
"""

import json
import os
import pathlib
import signal
import sys

import keras
import numpy as np

from keras_softsets import BlendedLoss, BlendSchedule, GuidedCrossentropy, SoftF1

START, END = {"f1": 0.0, "bce": 1.0}, {"f1": 1.0, "bce": 0.25}


class Kill(keras.callbacks.Callback):
    """Kills the process in the middle of an epoch."""

    def __init__(self, epoch):
        super().__init__()
        self.at_epoch, self.epoch = epoch, -1

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.epoch == self.at_epoch:
            os.kill(os.getpid(), signal.SIGKILL)


def blend():
    """The loss, its callbacks, and what its variables hold."""
    loss = BlendedLoss({"f1": SoftF1(), "bce": keras.losses.BinaryCrossentropy()})
    schedule = BlendSchedule(loss, START, END, epochs=4, shape="cosine", warmup=1)
    return loss, [schedule], lambda: loss.weights


def guided():
    """The same for guided cross-entropy."""
    loss = GuidedCrossentropy(window=100)
    return loss, [], lambda: loss._running.value.tolist()


LOSSES = {"blend": blend, "guided": guided}


def train(kind, folder, kill):
    keras.utils.set_random_seed(3)
    random = np.random.default_rng(0)
    x = random.normal(size=(48, 4)).astype("float32")
    y = (x[:, :1] + 0.5 * random.normal(size=(48, 1)) > 0.5).astype("float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1, "sigmoid")])
    loss, callbacks, state = LOSSES[kind]()
    model.compile(keras.optimizers.Adam(0.1), loss)
    backup = keras.callbacks.BackupAndRestore(folder / "model", double_checkpoint=True)
    killers = [] if kill is None else [Kill(kill)]
    model.fit(x, y, 16, 8, 0, [*callbacks, backup, *killers], shuffle=False)
    return {"loss": state(), "weights": [w.ravel().tolist() for w in model.get_weights()]}


def in_child(kind, folder, kill=None):
    """Trains in a fork and returns its wait status."""
    folder.mkdir(parents=True, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        folder.with_suffix(".json").write_text(json.dumps(train(kind, folder, kill)))
        os._exit(0)
    return os.waitpid(pid, 0)[1]


if __name__ == "__main__":
    kind, parent, *epochs = sys.argv[1:]
    whole, killed = (pathlib.Path(parent) / name for name in ("whole", "killed"))
    for epoch in map(int, epochs):
        status = in_child(kind, killed, epoch)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"epoch {epoch} did not kill the process: wait status {status}")
    if in_child(kind, whole) or in_child(kind, killed):
        sys.exit("a training failed")
    print(json.dumps([json.loads(folder.with_suffix(".json").read_text()) for folder in (whole, killed)]))
