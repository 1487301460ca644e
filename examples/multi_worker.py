"""Past one machine: MultiWorkerMirroredStrategy, the loss of the global batch, and a job that survives its workers.

    python examples/multi_worker.py --local 2                       # a trial: two workers on this machine
    python examples/multi_worker.py --local 2 --data mammography    # on real data

    # on host0, and on host1 with "index": 1
    export TF_CONFIG='{"cluster": {"worker": ["host0:12345", "host1:12345"]}, "task": {"type": "worker", "index": 0}}'
    python examples/multi_worker.py --directory /shared/run

`fit` fails under this strategy in Keras 3 (3.15.1), so this is a loop on `strategy.run`; it can serve as a template.
Every epoch ends with a checkpoint in --directory, which all machines must be able to see. If a worker dies, the others
stop with an error; start the same commands again (a cluster manager does that for you), and the job resumes after the
last finished epoch. The order of the data depends on the seed and the epoch alone, so the result is the same as that of
an undisturbed run.
"""

import json
import math
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from _common import MOST_DEVICES, TABLES, add_seed, folder, make_parser, positive, whole


def parse_arguments():
    parser = make_parser(__doc__)
    some = whole(0, MOST_DEVICES)
    parser.add_argument("--local", type=some, default=0, metavar="N", help="start N workers on this machine")
    parser.add_argument(
        "--directory", type=folder(), default=Path("runs/multi_worker"), help="folder for the checkpoints and the model"
    )
    parser.add_argument(
        "--data", choices=TABLES, help="data set, the same on every worker (default: a generated table)"
    )
    parser.add_argument("--samples", type=whole(10), default=20000, help="rows of the generated table (default: 20000)")
    parser.add_argument(
        "--batch-size", type=whole(), default=1024, help="global batch size, over all workers (default: 1024)"
    )
    parser.add_argument("--epochs", type=whole(), default=10, help="number of epochs (default: 10)")
    parser.add_argument("--learning-rate", type=positive(), default=0.01, help="learning rate of Adam (default: 0.01)")
    add_seed(parser, "the initial weights and the order of the data")
    parser.add_argument("--smoke", action="store_true", help="a little data and three epochs, to check that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.data, args.samples, args.batch_size, args.epochs = None, 1001, 250, 3
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_softsets
from keras_softsets import datasets, metrics, models


def start_local(count):
    """Runs this command in `count` processes that talk over loopback; returns 0 if all of them finish."""
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    addresses = [f"localhost:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    workers = []
    for index in range(count):
        config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        environment = {**os.environ, "TF_CONFIG": json.dumps(config)}
        workers.append(subprocess.Popen([sys.executable, *sys.argv, "--local", "0"], env=environment))
    try:
        while any(worker.poll() is None for worker in workers) and not any(worker.poll() for worker in workers):
            time.sleep(0.1)
        lost = [f"worker {index} ({worker.poll()})" for index, worker in enumerate(workers) if worker.poll()]
        if lost:
            print(f"Ended early: {', '.join(lost)}. The same command resumes after the last finished epoch.")
        return 1 if lost else 0
    finally:
        for worker in workers:
            worker.kill()  # has no effect on those that have finished
            worker.wait()


def table(args):
    """Features and labels, generated unless --data is given; or use your own, the same on every worker."""
    if args.data:
        return datasets.load(args.data, seed=args.seed).train
    rng = np.random.default_rng(0)
    x = rng.normal(size=(args.samples, 8)).astype("float32")
    hidden = x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * rng.normal(size=args.samples)
    return x, (hidden > np.quantile(hidden, 0.9)).astype("float32")


def batches(strategy, data, epoch, args):
    """The epoch's global batches, of which every worker reads its share."""
    order = np.random.default_rng([args.seed, epoch]).permutation(len(data[0]))
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    dataset = tf.data.Dataset.from_tensor_slices(tuple(column[order] for column in data)).batch(args.batch_size)
    return iter(strategy.experimental_distribute_dataset(dataset.with_options(options)))


def make_step(strategy, model, optimizer, loss, metric):
    """The training step of all replicas on the iterator's next batch; returns the loss of the global batch."""

    def replica_step(x, y):
        with tf.GradientTape() as tape:
            probabilities = model(x, training=True)
            value = loss(y, probabilities)  # the loss of the global batch / replicas: sum it, and sum the gradients
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        metric.update_state(y, probabilities)
        return value

    @tf.function(autograph=False)  # there is nothing to convert, and TensorFlow would warn about its own code
    def step(iterator):
        # The batch is taken in here. Outside, a worker whose last batch has a new size would trace the step again while
        # the others do not, and they would wait for each other forever.
        return strategy.reduce("SUM", strategy.run(replica_step, args=next(iterator)), axis=None)

    return step


def is_chief(resolver):
    """Whether this worker writes the checkpoints."""
    jobs = resolver.cluster_spec().jobs
    return not jobs or resolver.task_type == "chief" or ("chief" not in jobs and resolver.task_id == 0)


def check_same_epoch(strategy, epoch):
    mean = strategy.reduce("MEAN", strategy.run(tf.function(lambda: tf.constant(float(epoch)))), axis=None)
    if float(mean) != epoch:
        raise SystemExit(f"--directory must be visible to all workers. Received: {epoch} finished epochs here only")


def train(args):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # first of all: it starts the connections
    chief, data = is_chief(strategy.cluster_resolver), table(args)
    keras.utils.set_random_seed(args.seed)
    with strategy.scope():
        model = models.mlp(data[0].shape[1], dropout=0.0)
        optimizer = keras.optimizers.Adam(args.learning_rate)
        optimizer.build(model.trainable_variables)
        metric = metrics.F1()
        finished = tf.Variable(0, dtype=tf.int64, trainable=False)
    step = make_step(strategy, model, optimizer, keras_softsets.SoftF1(), metric)

    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, finished=finished)
    manager = tf.train.CheckpointManager(checkpoint, str(args.directory), max_to_keep=2)
    checkpoint.restore(manager.latest_checkpoint)
    start, steps = int(finished.numpy()), math.ceil(len(data[0]) / args.batch_size)
    check_same_epoch(strategy, start)
    if chief:
        print(f"{strategy.num_replicas_in_sync} replicas, resuming after epoch {start} of {args.epochs}", flush=True)
    for epoch in range(start, args.epochs):
        iterator = batches(strategy, data, epoch, args)
        losses = [float(step(iterator)) for _ in range(steps)]
        score = float(metric.result())  # on every worker: the cells of all of them are added up
        metric.reset_state()
        finished.assign(epoch + 1)
        if chief:
            manager.save()  # points to the new files last: the old ones stay valid until then
            print(f"epoch {epoch + 1}/{args.epochs}: loss {sum(losses) / steps:.8f}, F1 {score:.4f}", flush=True)
    if chief:
        model.save(args.directory / "model.keras")
        print(f"Model: {args.directory / 'model.keras'}")


def main(args):
    if args.local:
        table(args)  # prepares the data once, before all workers need them
        sys.exit(start_local(args.local))
    try:
        train(args)
    except tf.errors.OpError as error:  # what remains of a job when one of its workers has died
        sys.exit(f"Stopped; start the job again to resume after the last finished epoch. {error.message}")


if __name__ == "__main__":
    main(ARGUMENTS)
