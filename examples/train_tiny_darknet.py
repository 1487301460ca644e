"""Train Tiny Darknet on CIFAR-10: "is it a means of transport?" (40 % yes) or "is it a frog?" (10 %).

    python examples/train_tiny_darknet.py --task frog --loss f1 --mixed-precision
    python examples/train_tiny_darknet.py --task frog --threshold 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 --delta 0.2

The second command uses the loss of the paper's code, a mean over thresholds with more slope near 0 and 1; it reaches
the same F1 on frogs in half the epochs. `--loss bce` trains with cross-entropy, to compare with.

Made for GPUs: it uses all it finds. Kill it at any time and run the same command again, and training resumes with the
interrupted epoch. On a CPU an epoch takes minutes; --steps makes epochs shorter, and TF_ENABLE_ONEDNN_OPTS=1 in the
environment may help (0.22 instead of 0.50 seconds a batch on one core of an AMD EPYC).
"""

from pathlib import Path

from _common import SCORES, add_seed, between, folder, make_parser, make_strategy, positive, rounded_batch, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument("--task", choices=["transportation", "frog"], default="transportation")
    losses = ["bce", *SCORES]
    parser.add_argument("--loss", choices=losses, default="f1", metavar="LOSS", help=f"one of {', '.join(losses)}")
    inside = between(0, 1)
    parser.add_argument(
        "--threshold",
        type=inside,
        nargs="+",
        help="threshold of the loss; with several, the mean score is optimised (default: 0.5)",
    )
    delta = between(0, 0.5, closed=True)
    parser.add_argument("--delta", type=delta, help="delta of the linear approximation in the loss (default: 0.1)")
    parser.add_argument("--epochs", type=whole(), default=500, help="maximum number of epochs (default: 500)")
    parser.add_argument(
        "--window", type=whole(), default=20, help="epochs in the stopping window (default: 20; paper: 100)"
    )
    parser.add_argument("--steps", type=whole(), help="batches in an epoch, and in its validation (default: all)")
    parser.add_argument(
        "--batch-size", type=whole(), default=128, help="global batch size, over all GPUs (default: 128)"
    )
    parser.add_argument("--learning-rate", type=positive(), default=1e-4, help="learning rate of Adam (default: 1e-4)")
    parser.add_argument("--mixed-precision", action="store_true", help="compute in half precision, losses in float32")
    add_seed(parser, "split, weights and order")
    parser.add_argument(
        "--output", type=folder(), help="folder for log, backup and model (default: runs/train_tiny_darknet/TASK_LOSS)"
    )
    parser.add_argument("--export", type=folder(), help="folder for a SavedModel, such as saved_models/frog")
    parser.add_argument("--smoke", action="store_true", help="noise as images and two epochs, to check that it runs")
    args = parser.parse_args()
    if args.loss == "bce" and (args.threshold or args.delta is not None):
        parser.error("--threshold and --delta are for the other losses. Received: --loss bce")
    if args.smoke:
        args.epochs, args.batch_size = 2, 16
    args.output = args.output or Path("runs/train_tiny_darknet", "smoke" if args.smoke else f"{args.task}_{args.loss}")
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import numpy as np
import tensorflow as tf

import keras_softsets
from keras_softsets import datasets, metrics, models


def load(args):
    if args.smoke:
        random = np.random.default_rng(args.seed)
        x, y = random.normal(size=(32, 32, 32, 3)).astype("float32"), (np.arange(32) % 3 == 0).astype("float32")
        return datasets.Splits(*[tf.data.Dataset.from_tensor_slices((x, y)).batch(args.batch_size)] * 3)
    return datasets.load(f"cifar10_{args.task}", seed=args.seed, as_numpy=False, batch_size=args.batch_size)


def main(args):
    keras.utils.set_random_seed(args.seed)
    if args.mixed_precision:
        # bfloat16 has float32's range and runs on CPUs; float16 is what most GPUs are fast at.
        keras.config.set_dtype_policy("mixed_float16" if tf.config.list_physical_devices("GPU") else "mixed_bfloat16")
    strategy = make_strategy()
    args.batch_size = rounded_batch(args.batch_size, strategy)
    train, validation, test = load(args)

    with strategy.scope():  # the cells are summed over replicas, so the loss is that of the global batch
        model = models.tiny_darknet()
        score = "f1" if args.loss == "bce" else args.loss
        delta = 0.1 if args.delta is None else args.delta
        soft = {"threshold": args.threshold, "heaviside": keras_softsets.LinearHeaviside(delta)}
        bce = keras.losses.BinaryCrossentropy()
        loss = bce if args.loss == "bce" else keras_softsets.SoftSetLoss(score, **soft)
        # val_loss is a mean over batches; a metric with the loss's Heaviside is exact for the set, so monitor that.
        watched = [metrics.SoftSetMetric(score, name="soft_score", **soft), metrics.F1(), metrics.Accuracy()]
        model.compile(keras.optimizers.Adam(args.learning_rate), loss, metrics=watched)

    backup = args.output / "backup"
    if backup.exists():
        print(f"Resuming from {backup}; delete it to start over.")
    args.output.mkdir(parents=True, exist_ok=True)
    callbacks = [
        # In this order, and with two checkpoints, being killed costs at most the interrupted epoch.
        keras_softsets.WindowedEarlyStopping(
            "val_soft_score", mode="max", window=args.window, backup_dir=backup, verbose=1
        ),
        keras.callbacks.CSVLogger(args.output / "epochs.csv", append=backup.exists()),
        keras.callbacks.BackupAndRestore(backup, double_checkpoint=True),
    ]
    model.fit(
        train.repeat() if args.steps else train,
        epochs=args.epochs,
        steps_per_epoch=args.steps,
        shuffle=False,  # the pipeline shuffles
        validation_data=validation.take(args.steps) if args.steps else validation,
        callbacks=callbacks,
    )
    results = model.evaluate(test, return_dict=True)  # all of it, however short the epochs were
    print("Test data: " + ", ".join(f"{name} {value:.4f}" for name, value in results.items()))
    model.save(args.output / "model.keras")
    print(f"Log and model: {args.output}")
    if args.export:
        print(f"Exported to {keras_softsets.export_classifier(model, args.export)}")


if __name__ == "__main__":
    main(ARGUMENTS)
