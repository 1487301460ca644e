"""Trains every named loss for 20 steps under each condition on N devices and writes losses and weights to an .npz.

    python replicas_train.py DEVICES OUT.npz [few]

With two devices it also does so on one, and on two without the sum over replicas. With "few", only one loss of each
kind is trained with nine thresholds and in half precision: the sum over replicas is the same for all.

One process for each number of devices: a second MirroredStrategy in the same process can clash with the first one's
collectives. Tracing dominates the time, so all losses are trained side by side in one step: loss k has column k of the
weights for itself, and Adam works elementwise, so no loss sees another. Conditions that differ only in their data
share the traced step.
"""

import functools
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

# XLA compiles for each device and shape, about a second a time, and changes nothing about what is summed over replicas;
# replicas_fit.py runs the compiled kernels.
traced = tf.function
tf.function = lambda *args, jit_compile=None, **options: traced(*args, **options)

from keras_softsets import _backend, losses, scores  # noqa: E402 - after tf.function is replaced

STEPS, BATCH, FEATURES, POSITIVES = 20, 48, 3, 5
LOSSES = [loss for loss in losses.NamedLoss.__subclasses__() if loss.score_name in scores.names("cells")]
FEW = [losses.SoftFBeta, losses.SoftMCC, losses.SoftAUROC]  # of three cells, of all, of all thresholds
NINE = tuple(k / 10 for k in range(1, 10))
# (thresholds, or those of the loss itself; labels; dtype policy of the model; {condition: options of `data`})
VARIANTS = (
    (
        None,
        1,
        "float32",
        {
            "plain": {},
            "sample weights": {"weights": True},
            "empty replica": {"weights": True, "last_batch": 1},
            "positives on one replica": {"positives_first": True},
        },
    ),
    (NINE, 3, "float32", {"nine thresholds, multi-label": {}}),
    (None, 1, "mixed_float16", {"mixed precision": {}}),
)


def data(labels, weights=False, last_batch=BATCH, positives_first=False):
    """Four batches; the last one may be so short that some replica gets nothing."""
    rng = np.random.default_rng(7)
    batches = []
    for size in (BATCH, BATCH, BATCH, last_batch):
        x = rng.normal(size=(size, FEATURES))
        y = x @ rng.normal(size=(FEATURES, labels)) + rng.normal(size=(size, labels)) > 0.8
        if positives_first:
            y = np.arange(size)[:, None] < POSITIVES  # each replica gets a slice, so the first one gets all of them
        w = rng.uniform(0, 3, size=(size, 1)) * (rng.random((size, 1)) < 0.9) if weights else np.ones((size, 1))
        batches.append((x, y, w))
    return tuple(np.concatenate(columns).astype("float32") for columns in zip(*batches))


@functools.cache
def named_losses(threshold, kinds):
    """One of each kind, with the parts before and after the sum over replicas traced once for all of it."""

    def shared(function):
        return tf.function(function, autograph=False, experimental_attributes={"_noinline": True})

    sums, named = {}, [loss(**({"threshold": threshold} if threshold else {})) for loss in kinds]
    for loss in named:
        evaluation = loss.evaluation
        evaluation.sum = sums.setdefault(evaluation.decision, shared(evaluation.sum))
        evaluation.values = shared(evaluation.values)
    return named


class Trainer:
    """A linear model with one column (or one for each label) for every loss, trained by all losses at once."""

    def __init__(self, strategy, threshold, labels, policy, kinds=tuple(LOSSES)):
        self.strategy, self.labels, self.losses = strategy, labels, named_losses(threshold, kinds)
        keras.config.set_dtype_policy(policy)
        with strategy.scope():
            inputs = keras.Input((FEATURES,))
            logits = keras.layers.Dense(labels * len(self.losses))(inputs)
            self.model = keras.Model(inputs, keras.layers.Activation("sigmoid", dtype="float32")(logits))
            self.optimizer = keras.optimizers.Adam(0.01)
            if policy == "mixed_float16":
                self.optimizer = keras.optimizers.LossScaleOptimizer(self.optimizer)
            self.optimizer.build(self.model.trainable_variables)
        self.variables = [*self.model.variables, *self.optimizer.variables]
        self.start = [keras.ops.convert_to_numpy(variable) for variable in self.variables]
        kernel = np.random.default_rng(1).normal(0, 0.3, size=(FEATURES, labels))
        self.start[0] = np.tile(kernel, len(self.losses))

    def replica_step(self, x, y, w):
        with tf.GradientTape() as tape:
            columns = tf.split(self.model(x, training=True), len(self.losses), 1)
            values = tf.stack([loss(y, p, w) for loss, p in zip(self.losses, columns)])
            total = self.optimizer.scale_loss(tf.reduce_sum(values))
        gradients = tape.gradient(total, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return values

    @traced(autograph=False)
    def step(self, iterator):
        # The batch is taken inside: outside, each new batch size would be a new trace.
        values = self.strategy.run(self.replica_step, args=next(iterator))
        return self.strategy.reduce("SUM", values, axis=None)

    def train(self, data):
        """Losses (steps, losses) and final weights (losses, parameters), from the same start every time."""
        for variable, value in zip(self.variables, self.start):
            variable.assign(value)
        batches = tf.data.Dataset.from_tensor_slices(data).batch(BATCH).repeat().take(STEPS)
        iterator = iter(self.strategy.experimental_distribute_dataset(batches))
        values = np.stack([self.step(iterator).numpy() for _ in range(STEPS)])
        weights = np.concatenate([self.model.get_weights()[0], self.model.get_weights()[1][None]])
        return {"losses": values, "weights": np.stack([w.ravel() for w in np.split(weights, len(self.losses), 1)])}


def sizes(strategy, data):
    """How many samples each replica gets of the last batch."""
    *_, last = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(data).batch(BATCH))
    return [len(x) for x in strategy.experimental_local_results(last[0])]


def main(devices, path, few=False):
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it costs more than the training
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * devices)
    # Eight replicas on few cores wait long for each other in collectives; so those sum on one device instead.
    reduction = tf.distribute.ReductionToOneDevice() if devices == 8 else None
    names = [f"CPU:{k}" for k in range(devices)]
    one, many = tf.distribute.get_strategy(), tf.distribute.MirroredStrategy(names, reduction)
    many.extended._retrace_functions_for_each_device = False  # the devices are all the same CPU
    found = {"names": [loss.__name__ for loss in LOSSES], "last batch": sizes(many, data(1, last_batch=1))}
    strategies = {"one": one, "many": many} if devices == 2 else {"many": many}
    for threshold, labels, policy, conditions in VARIANTS:
        for label, strategy in strategies.items():
            kinds = FEW if few and (threshold, policy) != (None, "float32") else LOSSES
            trainer = Trainer(strategy, threshold, labels, policy, tuple(kinds))
            for name, arguments in conditions.items():
                results = trainer.train(data(labels, **arguments))
                found |= {f"{name}/{key}/{label}": value for key, value in results.items()}
    if devices == 2:
        _backend.sum_over_replicas = lambda cells: cells  # what every other implementation does
        results = Trainer(many, None, 1, "float32").train(data(1, weights=True))
        found |= {f"without the sum/{key}/many": value for key, value in results.items()}
    np.savez(path, **found)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], few=sys.argv[3:] == ["few"])
