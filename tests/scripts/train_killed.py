"""Trains a small model undisturbed, and once more in child processes that are killed, with one more for the rest.

Usage: python train_killed.py FOLDER EPOCH:POINT EPOCH:POINT ...; prints the results of both trainings as JSON.
A child that reaches its point dies from SIGKILL, nothing softer; the next one starts from the files that it left.
The parent has imported Keras but never run it, so that a child starts in a moment.
"""

import json
import os
import pathlib
import signal
import sys

import keras
import numpy as np

from keras_softsets import callbacks


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_half_written(descriptor):
    """Replaces `os.fsync`: cuts the file in half, as if the process had been killed in the middle of writing it."""
    os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
    die()


class Kill(keras.callbacks.Callback):
    """Kills the process at one point of one epoch."""

    def __init__(self, epoch, method):
        super().__init__()
        self.at_epoch, self.method, self.epoch = epoch, method, -1

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch
        self.strike("epoch_begin")

    def on_train_batch_end(self, batch, logs=None):
        self.strike("batch")

    def on_epoch_end(self, epoch, logs=None):
        self.strike("epoch_end")

    def on_train_end(self, logs=None):
        self.strike("train_end")

    def strike(self, method):
        if self.method == method and self.at_epoch in (self.epoch, -1):
            die()


class KillWhileWriting(keras.callbacks.Callback):
    """Kills the process while it writes the first file of one epoch."""

    def __init__(self, epoch):
        super().__init__()
        self.at_epoch = epoch

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == self.at_epoch:
            os.fsync = die_half_written


def killers(plan):
    """Returns the callbacks before, between and after those under test."""
    epoch, point = plan.split(":")
    if point == "writing":
        return [KillWhileWriting(int(epoch))], [], []
    place, method = point.split("/")
    kill = Kill(int(epoch), method)
    return [[kill] if place == here else [] for here in ("before", "between", "after")]


def train(folder, plan):
    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 4)).astype("float32")
    y = (x[:, :1] + 0.5 * rng.normal(size=(64, 1)) > 0).astype("float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1, "sigmoid")])
    model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy")
    stopping = callbacks.WindowedEarlyStopping(window=4, backup_dir=folder / "stopping")
    watching = callbacks.WindowedEarlyStopping(
        "loss", window=30, restore_best_weights=False, backup_dir=folder / "stopping"
    )
    before, between, after = killers(plan) if plan else ([], [], [])
    backup = keras.callbacks.BackupAndRestore(folder / "model")
    order = [*before, watching, stopping, *between, backup, *after]
    model.fit(x[:32], y[:32], 16, 40, 0, order, validation_data=(x[32:], y[32:]), shuffle=False)
    result = {name: getattr(stopping, name) for name in ("stopped_epoch", "best_epoch", "best")}
    result["watched"] = [watching.best_epoch, watching.best]
    result["weights"] = [w.ravel().tolist() for w in model.get_weights()]
    result["left_behind"] = sorted(path.name for path in folder.rglob("*"))
    return result


def in_child(folder, plan=None):
    """Trains in a fork and returns its wait status."""
    folder.mkdir(parents=True, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        result = train(folder, plan)
        folder.with_suffix(".json").write_text(json.dumps(result))
        os._exit(0)
    return os.waitpid(pid, 0)[1]


if __name__ == "__main__":
    whole, killed = (pathlib.Path(sys.argv[1]) / name for name in ("whole", "killed"))
    for plan in sys.argv[2:]:
        status = in_child(killed, plan)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit(f"{plan} did not kill the process: wait status {status}")
    if in_child(whole) or in_child(killed):
        sys.exit("a training failed")
    print(json.dumps([json.loads(folder.with_suffix(".json").read_text()) for folder in (whole, killed)]))
