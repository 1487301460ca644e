"""Trainings of a moment, made up or real, for tests of callbacks."""

import keras
import numpy as np


class FakeModel:
    """What a callback sees of a model; its weights are the number of the epoch."""

    metrics = ()

    def __init__(self):
        self.stop_training = False
        self.weights = [np.array(-1.0)]

    def get_weights(self):
        return [w.copy() for w in self.weights]

    def set_weights(self, weights):
        self.weights = weights


def play(callback, history, name="val_loss", start=0):
    """Feeds a history to a callback as `fit` would, and returns the model with its final weights."""
    model = FakeModel()
    callback.set_model(model)
    callback.set_params({"epochs": start + len(history)})
    callback.on_train_begin()
    for epoch, value in enumerate(history, start):
        callback.on_epoch_begin(epoch)
        model.weights = [np.array(float(epoch))]
        callback.on_epoch_end(epoch, {"loss": 0.0, name: value})
        if model.stop_training:
            break
    callback.on_train_end()
    return model


def small_model(dtype=None, metrics=()):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, "sigmoid", dtype=dtype)])
    model.compile(keras.optimizers.SGD(1.5), "binary_crossentropy", metrics=list(metrics))
    return model


def small_fit(model, *callback_list, epochs=30, **arguments):
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(24, 2)).astype("float32"), rng.integers(0, 2, (24, 1)).astype("float32")
    data = {"validation_data": (x[16:], y[16:]), "shuffle": False, "batch_size": 8, "verbose": 0}
    return model.fit(x[:16], y[:16], epochs=epochs, callbacks=list(callback_list), **{**data, **arguments})


class Interrupt(keras.callbacks.Callback):
    """Ends `fit` without `on_train_end`, as if the process were killed, but cheaper."""

    def __init__(self, epoch):
        super().__init__()
        self.epoch = epoch

    def on_epoch_end(self, epoch, logs=None):
        if epoch == self.epoch:
            raise KeyboardInterrupt
