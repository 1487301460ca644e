"""Train the paper's MLP on any of the tabular data sets, on the metric of your choice.

    python examples/train_mlp.py --data mammography --loss SoftFBeta --beta 2
    python examples/train_mlp.py --data adult --loss mcc --heaviside sigmoid --devices 2
    python examples/train_mlp.py --data creditcard_fraud --loss bce --class-weight balanced --epochs 30 --export

The table at the end has the scores at 0.5 and at a tuned threshold; `--loss bce` prints the same for cross-entropy.
Training takes about a minute and starts from the beginning if it is interrupted; train_tiny_darknet.py shows the two
lines that make it resumable.
"""

import importlib.util
import sys
from pathlib import Path

from _common import (
    LOSSES,
    MOST_DEVICES,
    SCORES,
    TABLES,
    add_seed,
    between,
    folder,
    make_parser,
    make_strategy,
    positive,
    rounded_batch,
    whole,
)

THRESHOLDS = [k / 10 for k in range(1, 10)]  # the paper reports the mean over these


def class_weight(text):
    return text if text == "balanced" else positive("must be 'balanced' or a number greater than 0")(text)


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument("--data", choices=TABLES, default="synthetic_05", help="data set (default: synthetic_05)")
    losses = ["bce", *LOSSES, *SCORES]
    parser.add_argument("--loss", choices=losses, default="SoftF1", metavar="LOSS", help=f"one of {', '.join(losses)}")
    parser.add_argument("--beta", type=positive(), help="parameter of SoftFBeta and SoftTversky")
    inside = between(0, 1)
    parser.add_argument(
        "--threshold", type=inside, nargs="+", help="threshold of the loss; with several, the mean score is optimised"
    )
    parser.add_argument(
        "--heaviside", choices=["linear", "sigmoid"], help="approximation in the loss (default: linear)"
    )
    parser.add_argument(
        "--class-weight", type=class_weight, default=1.0, help='weight of a positive sample: a number, or "balanced"'
    )
    parser.add_argument("--oversample", action="store_true", help="repeat positives until they are half of the data")
    parser.add_argument("--epochs", type=whole(), default=1000, help="maximum number of epochs (default: 1000)")
    parser.add_argument("--window", type=whole(), default=100, help="epochs in the stopping window (default: 100)")
    parser.add_argument(
        "--batch-size", type=whole(), default=1024, help="global batch size, over all devices (default: 1024)"
    )
    devices = whole(1, MOST_DEVICES)
    parser.add_argument(
        "--devices", type=devices, help="number of GPUs (default: all), or of logical CPU devices if there is no GPU"
    )
    add_seed(parser, "split, weights and dropout")
    parser.add_argument(
        "--output", type=folder(), help="folder for log and figures (default: runs/train_mlp/DATA_LOSS)"
    )
    parser.add_argument("--tensorboard", action="store_true", help="write TensorBoard logs to OUTPUT/tensorboard")
    parser.add_argument(
        "--export", type=folder(), nargs="?", const="", help="folder for a SavedModel (default: saved_models/DATA_LOSS)"
    )
    parser.add_argument("--smoke", action="store_true", help="generated data and three epochs, to check that it runs")
    args = parser.parse_args()
    if args.tensorboard and importlib.util.find_spec("tensorboard") is None:  # TensorFlow 2.21 comes without it
        parser.error("--tensorboard needs the package: pip install tensorboard")
    if args.beta and args.loss not in ("SoftFBeta", "SoftTversky", "f_beta", "tversky"):
        parser.error(f"--beta is for SoftFBeta, SoftTversky, f_beta and tversky. Received: --loss {args.loss}")
    if args.loss == "bce" and (args.threshold or args.heaviside):
        parser.error("--threshold and --heaviside are for the other losses. Received: --loss bce")
    if args.smoke:
        args.data, args.epochs = "synthetic_05", 3
    args.output = args.output or Path("runs/train_mlp", f"{args.data}_{args.loss}")
    if args.export == Path(""):
        args.export = Path("saved_models", f"{args.data}_{args.loss}")
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import numpy as np

import keras_softsets
from keras_softsets import datasets, metrics, models, plots


def objective(args):
    """Returns the loss, and its soft score as a metric: exact over an epoch, where val_loss is a mean of batches."""
    if args.loss == "bce":
        return keras.losses.BinaryCrossentropy(), metrics.F1(heaviside="linear", name="soft_score")
    given = {"beta": args.beta, "threshold": args.threshold, "heaviside": args.heaviside or "linear"}
    options = {name: value for name, value in given.items() if value is not None}
    if args.loss in LOSSES:
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


def main(args):
    strategy = make_strategy(args.devices)  # before anything else runs: devices cannot be changed later
    keras.utils.set_random_seed(args.seed)
    data = datasets.load(args.data, seed=args.seed)
    x, y = oversampled(*data.train, args.seed) if args.oversample else data.train
    weight = (len(y) - y.sum()) / y.sum() if args.class_weight == "balanced" else args.class_weight
    print(f"{args.data}: {len(y)} rows, {y.mean():.2%} positive; {strategy.num_replicas_in_sync} replica(s)")

    with strategy.scope():
        model = models.mlp(x.shape[1])
        try:
            loss, soft_score = objective(args)
        except ValueError as error:  # the package says which options do not go together
            sys.exit(f"--loss {args.loss}: {error}")
        watched = [soft_score, metrics.F1(), metrics.Precision(), metrics.Recall()]
        model.compile(keras.optimizers.Adam(1e-3), loss, metrics=watched)
    args.output.mkdir(parents=True, exist_ok=True)
    # The mean over batches is exact for cross-entropy, but for a set loss only its metric is exact.
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
        batch_size=rounded_batch(args.batch_size, strategy),
        epochs=args.epochs,
        class_weight={0: 1.0, 1: weight},  # enters the sums TP, FP, FN, TN, as copies of the rows would
        validation_data=data.validation,
        validation_batch_size=rounded_batch(1024, strategy),
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
    print(f"Log and figures: {args.output}")
    if args.export:
        folder = keras_softsets.export_classifier(model, args.export, threshold=tuned.threshold)
        print(f"Exported with the tuned threshold to {folder}")


if __name__ == "__main__":
    main(ARGUMENTS)
