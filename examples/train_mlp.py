"""Train the paper's MLP on any of the tabular data sets, on the metric of your choice.

    python examples/train_mlp.py --data mammography --loss SoftFBeta --beta 2
    python examples/train_mlp.py --data adult --loss mcc --heaviside sigmoid --devices 2
    python examples/train_mlp.py --data creditcard_fraud --loss bce --class-weight balanced --epochs 30 --export

A training takes about a minute and starts from the beginning if it is interrupted; train_tiny_darknet.py shows the two
lines that make one resumable.
"""

import argparse
import importlib.util
import math
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import keras_softsets
from keras_softsets import datasets, metrics, models, plots, scores

TABLES = [each.name for each in datasets.describe() if each.classes == 2 and not each.name.startswith("cifar10")]
NAMED = [name for name in dir(keras_softsets) if name.startswith("Soft") and name != "SoftSetLoss"]
THRESHOLDS = [k / 10 for k in range(1, 10)]  # the paper reports the mean over these


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=TABLES, default="synthetic_05", help="default: synthetic_05")
    losses = ["bce", *NAMED, *scores.names()]
    parser.add_argument("--loss", choices=losses, default="SoftF1", metavar="LOSS", help=f"one of {', '.join(losses)}")
    parser.add_argument("--beta", type=float, help="parameter of SoftFBeta and SoftTversky")
    parser.add_argument("--threshold", type=float, nargs="+", help="of the loss; for several, the mean is optimised")
    parser.add_argument("--heaviside", choices=["linear", "sigmoid"], default="linear", help="default: linear")
    parser.add_argument("--class-weight", help='weight of a positive sample: a number, or "balanced"')
    parser.add_argument("--oversample", action="store_true", help="repeat positives until they are half of the data")
    parser.add_argument("--epochs", type=int, default=1000, help="at most so many (default: 1000)")
    parser.add_argument("--window", type=int, default=100, help="of epochs, for early stopping (default: 100)")
    parser.add_argument("--batch-size", type=int, default=1024, help="over all devices together (default: 1024)")
    parser.add_argument("--devices", type=int, help="GPUs (default: all), or without a GPU so many logical CPUs")
    parser.add_argument("--seed", type=int, default=0, help="of split, weights and dropout (default: 0)")
    parser.add_argument("--output", type=Path, help="log and pictures (default: runs/train_mlp/DATA_LOSS)")
    parser.add_argument("--tensorboard", action="store_true", help="TensorBoard logs into OUTPUT/tensorboard")
    parser.add_argument("--export", type=Path, nargs="?", const="", help="SavedModel (default: saved_models/DATA_LOSS)")
    parser.add_argument("--smoke", action="store_true", help="generated data and three epochs, to see that it runs")
    args = parser.parse_args()
    if args.tensorboard and importlib.util.find_spec("tensorboard") is None:  # TensorFlow 2.21 comes without it
        parser.error("--tensorboard needs the package: pip install tensorboard")
    if args.smoke:
        args.data, args.epochs = "synthetic_05", 3
    args.output = args.output or Path("runs/train_mlp", f"{args.data}_{args.loss}")
    if args.export == Path(""):
        args.export = Path("saved_models", f"{args.data}_{args.loss}")
    return args


def strategy_on(devices):
    """Returns a strategy over GPUs, or over logical CPU devices, which behave the same but are no faster."""
    gpus = tf.config.list_logical_devices("GPU") if tf.config.list_physical_devices("GPU") else []
    if gpus:
        return tf.distribute.MirroredStrategy([gpu.name for gpu in gpus[:devices]])
    if not devices:
        return tf.distribute.get_strategy()  # the default: one device, no replicas
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * devices)
    return tf.distribute.MirroredStrategy([f"CPU:{k}" for k in range(devices)])


def objective(args):
    """Returns the loss, and its soft score as a metric: exact over an epoch, where val_loss is a mean of batches."""
    if args.loss == "bce":
        return keras.losses.BinaryCrossentropy(), metrics.F1(heaviside="linear", name="soft_score")
    given = {"beta": args.beta, "threshold": args.threshold}
    options = {"heaviside": args.heaviside} | {name: value for name, value in given.items() if value is not None}
    if args.loss in NAMED:
        metric = getattr(metrics, args.loss.removeprefix("Soft"))
        return getattr(keras_softsets, args.loss)(**options), metric(**options, name="soft_score")
    return keras_softsets.SoftSetLoss(args.loss, **options), metrics.SoftSetMetric(
        args.loss, **options, name="soft_score"
    )


def oversampled(x, y, seed):
    positives, negatives = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    repeated = np.random.default_rng(seed).choice(positives, len(negatives))
    rows = np.concatenate([negatives, repeated])  # fit shuffles
    return x[rows], y[rows]


def main():
    args = arguments()
    strategy = strategy_on(args.devices)  # before anything else runs: devices cannot be changed later
    keras.utils.set_random_seed(args.seed)
    data = datasets.load(args.data, seed=args.seed)
    x, y = oversampled(*data.train, args.seed) if args.oversample else data.train
    weight = (len(y) - y.sum()) / y.sum() if args.class_weight == "balanced" else float(args.class_weight or 1)
    print(f"{args.data}: {len(y)} rows, {y.mean():.2%} positive; {strategy.num_replicas_in_sync} replica(s)")

    with strategy.scope():
        model = models.mlp(x.shape[1])
        loss, soft_score = objective(args)
        watched = [soft_score, metrics.F1(), metrics.Precision(), metrics.Recall()]
        model.compile(keras.optimizers.Adam(1e-3), loss, metrics=watched)
    args.output.mkdir(parents=True, exist_ok=True)
    # The mean over batches is exact for cross-entropy, but for the score of a set only its metric is.
    monitor = {"monitor": "val_loss"} if args.loss == "bce" else {"monitor": "val_soft_score", "mode": "max"}
    callbacks = [
        keras_softsets.WindowedEarlyStopping(**monitor, window=args.window, verbose=1),
        keras.callbacks.CSVLogger(args.output / "epochs.csv"),
    ]
    if args.tensorboard:
        callbacks.append(keras.callbacks.TensorBoard(args.output / "tensorboard"))
    history = model.fit(
        x,
        y,
        # Keras 3.15 wants the first batch to be the same on each replica, also in validation.
        batch_size=math.ceil(args.batch_size / strategy.num_replicas_in_sync) * strategy.num_replicas_in_sync,
        epochs=args.epochs,
        class_weight={0: 1.0, 1: weight},  # enters the sums TP, FP, FN, TN, as copies of the rows would
        validation_data=data.validation,
        validation_batch_size=256 * strategy.num_replicas_in_sync,
        callbacks=callbacks,
        verbose=2,
    )

    p, p_validation = (
        model.predict(part[0], batch_size=4096, verbose=0)[:, 0] for part in (data.test, data.validation)
    )
    tuned = keras_softsets.tune_threshold(data.validation[1], p_validation, "f1")
    rows = {"at 0.5": 0.5, f"tuned to {tuned.threshold:.3f}": tuned.threshold, "mean over 0.1 ... 0.9": THRESHOLDS}
    columns = (metrics.F1, metrics.Precision, metrics.Recall, metrics.Accuracy, metrics.MCC)
    print(f"\n{'On test data':24}" + "".join(f"{metric.__name__:>11}" for metric in columns))
    for label, threshold in rows.items():
        values = [float(metric(threshold=threshold)(data.test[1], p)) for metric in columns]
        print(f"{label:24}" + "".join(f"{value:11.3f}" for value in values))
    print(f"AUROC {float(metrics.AUROC()(data.test[1], p)):.3f}")

    plots.training(history, ["loss", "soft_score", "f1"]).savefig(args.output / "training.png")
    plots.score_against_threshold(data.test[1], p, "f1").savefig(args.output / "f1_against_threshold.png")
    print(f"Log and pictures: {args.output}")
    if args.export:
        folder = keras_softsets.export_classifier(model, args.export, threshold=tuned.threshold)
        print(f"Exported with the tuned threshold to {folder}")


if __name__ == "__main__":
    main()
