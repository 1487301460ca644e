"""One loss, any number of devices: trains on all visible GPUs, or on logical CPU devices if there is none.

    python examples/distributed.py                        # all GPUs, or two logical CPU devices
    python examples/distributed.py --devices 4 --check    # and the difference from a single device
    python examples/distributed.py --data mammography     # real data

The loss is that of the global batch: the cells are summed over devices before the score. With --check the model is
trained once more on one device, on the same batches from the same start, and losses and weights are compared. The model
has no dropout, because dropout draws different random numbers on each device.

Several devices add in a different order, and the differences in rounding grow with the number of steps: on adult the
losses agree to six digits for two epochs and to 0.004 over ten. One device shows the same when its initial weights are
changed by 1e-7.
"""

import os

from _common import MOST_DEVICES, TABLES, add_seed, make_parser, make_strategy, positive, rounded_batch, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--devices",
        type=whole(1, MOST_DEVICES),
        help="number of GPUs, or of logical CPU devices if there is no GPU (default: all, or 2)",
    )
    parser.add_argument("--check", action="store_true", help="also train on one device, and compare")
    parser.add_argument("--data", choices=TABLES, help="data set (default: a generated table)")
    parser.add_argument("--samples", type=whole(10), default=20000, help="rows of the generated table (default: 20000)")
    parser.add_argument(
        "--batch-size", type=whole(), default=1024, help="global batch size, over all devices (default: 1024)"
    )
    parser.add_argument("--epochs", type=whole(), default=10, help="number of epochs (default: 10)")
    parser.add_argument("--learning-rate", type=positive(), default=0.01, help="learning rate of Adam (default: 0.01)")
    add_seed(parser, "the initial weights and the order of the data")
    parser.add_argument("--smoke", action="store_true", help="a little data and two epochs, to check that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.data, args.samples, args.batch_size, args.epochs = None, 1000, 256, 2
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import keras_softsets
from keras_softsets import datasets, metrics, models


def table(args):
    """Features and labels, generated with about one positive in ten unless --data is given; or use your own."""
    if args.data:
        return datasets.load(args.data, seed=args.seed).train
    rng = np.random.default_rng(0)
    x = rng.normal(size=(args.samples, 8)).astype("float32")
    hidden = x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * rng.normal(size=args.samples)
    return x, (hidden > np.quantile(hidden, 0.9)).astype("float32")


def train(strategy, data, args):
    """Returns the loss of each epoch and the weights; nothing here but `scope` depends on the devices."""
    keras.utils.set_random_seed(args.seed)  # the same initial weights, and the same order of the data
    with strategy.scope():
        model = models.mlp(data[0].shape[1], dropout=0.0)
        model.compile(keras.optimizers.Adam(args.learning_rate), keras_softsets.SoftF1(), metrics=[metrics.F1()])
    shown = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: print(
            f"epoch {epoch + 1}/{args.epochs}: loss {logs['loss']:.6f}, F1 {logs['f1']:.4f}", flush=True
        )
    )
    # The batch size is that of the global batch; each device gets its share of it.
    history = model.fit(*data, batch_size=args.batch_size, epochs=args.epochs, verbose=0, callbacks=[shown])
    return np.array(history.history["loss"]), model.get_weights()


def main(args):
    strategy, data = make_strategy(args.devices, without_gpu=2), table(args)
    args.batch_size = rounded_batch(args.batch_size, strategy)
    print(f"{strategy.num_replicas_in_sync} replicas on {', '.join(strategy.extended.worker_devices)}")
    losses, weights = train(strategy, data, args)
    if args.check:
        print("The same on one device:")
        with tf.device(strategy.extended.worker_devices[0]):
            losses_of_one, weights_of_one = train(tf.distribute.get_strategy(), data, args)
        loss = np.abs(losses - losses_of_one).max()
        weight = max(np.abs(a - b).max() for a, b in zip(weights, weights_of_one))
        print(f"Largest difference from one device: {loss:.1e} in the loss, {weight:.1e} in the weights")


if __name__ == "__main__":
    main(ARGUMENTS)
