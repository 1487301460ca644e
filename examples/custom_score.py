"""Your own score: a missed fraud costs as much as looking into 50 alerts.

    python examples/custom_score.py

The function `savings` below becomes a loss, a metric and the goal of threshold tuning. It is compared with the usual
way: cross-entropy, and the threshold with the lowest cost on validation data. For a cost that is linear in the four
cells, as here, that is hard to beat, because the best threshold of a calibrated model is known: 1 / 50. A run takes a
few minutes; an interrupted run starts from the beginning.

On creditcard_fraud (three seeds) it is also better: a cost of 15.5 +- 1.8 alerts per 1000 transactions,
against 18.9 +- 4.6 with the loss at 0.5 and 34.0 with cross-entropy at 0.5. The loss pays off where no threshold can be
tuned, and for scores such as F1 that are not linear.

Both continue from the same few epochs of cross-entropy. From scratch, this loss learns never to raise an alert: with
one fraud in 600 transactions any alert is a bad deal at first, and once all probabilities are near 0, the gradient is
too.
"""

from pathlib import Path

from _common import TABLES, folder, make_parser, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--data", choices=TABLES, default="creditcard_fraud", help="data set (default: creditcard_fraud)"
    )
    parser.add_argument("--seeds", type=whole(), default=3, help="training runs with each loss (default: 3)")
    parser.add_argument(
        "--epochs",
        type=whole(),
        default=10,
        help="maximum number of epochs with cross-entropy, and then with each loss (default: 10)",
    )
    parser.add_argument("--window", type=whole(), default=5, help="epochs in the stopping window (default: 5)")
    parser.add_argument("--output", type=folder(), default=Path("runs/custom_score"), help="folder for the figure")
    parser.add_argument("--smoke", action="store_true", help="generated data and two epochs, to check that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.data, args.seeds, args.epochs = "synthetic_05", 1, 2
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import numpy as np

import keras_softsets
from keras_softsets import datasets, metrics, models, plots

MISS = 50.0  # what a missed fraud costs, in alerts


@keras_softsets.score  # registered, so that models that use it can be saved and loaded
def savings(cells, miss=MISS):
    """Cost avoided per transaction, in alerts: 0 for doing nothing, negative for crying wolf."""
    return (miss * cells.tp - cells.predicted_positives) / keras.ops.maximum(cells.total, 1.0)


def train(model, loss, data, args):
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=[metrics.SoftSetMetric("savings")])
    model.fit(
        *data.train,
        batch_size=1024,
        epochs=args.epochs,
        validation_data=data.validation,
        validation_batch_size=8192,
        callbacks=[keras_softsets.WindowedEarlyStopping("val_savings", mode="max", window=args.window)],
        verbose=2,
    )


def cost_of(y, p, threshold):
    """Returns the cost per 1000 transactions in alerts, the alerts and the missed frauds."""
    cells = keras_softsets.confusion_matrix(y, p, threshold=threshold, heaviside="step")
    alerts, missed = float(cells.predicted_positives[0, 0]), float(cells.fn[0, 0])
    return 1000 * (alerts + MISS * missed) / len(y), alerts, missed


def main(args):
    passed = keras_softsets.check_score(savings)  # finds what is wrong with a score before training does
    print(f"savings passes {len(passed)} checks, from shapes and weights to half precision and saving")

    losses = {"BCE": keras.losses.BinaryCrossentropy(), "savings": keras_softsets.SoftSetLoss("savings")}
    costs, drawn = {}, {}
    for seed in range(args.seeds):  # another split, too: with few frauds, it matters most which are tested
        data = datasets.load(args.data, seed=seed)
        y, parts = data.test[1], (data.validation[0], data.test[0])
        costs.setdefault("do nothing", []).append((1000 * MISS * y.mean(), 0, y.sum()))
        print(f"\nStarting with BCE, seed {seed}")
        keras.utils.set_random_seed(seed)
        model = models.mlp(data.train[0].shape[1])
        train(model, losses["BCE"], data, args)
        start = model.get_weights()
        for name, loss in losses.items():
            print(f"\nContinuing with {name}, seed {seed}")
            model.set_weights(start)
            train(model, loss, data, args)
            on_validation, on_test = (model.predict(x, batch_size=8192, verbose=0)[:, 0] for x in parts)
            tuned = keras_softsets.tune_threshold(data.validation[1], on_validation, "savings").threshold
            costs.setdefault(f"{name}, at 0.5", []).append(cost_of(y, on_test, 0.5))
            costs.setdefault(f"{name}, tuned", []).append(cost_of(y, on_test, tuned))
            drawn[name] = on_test

    print(f"\n{'On test data':20}{'cost per 1000':>20}{'alerts':>10}{'missed':>10}   mean of {args.seeds} seed(s)")
    for name, rows in costs.items():
        mean, spread = np.mean(rows, 0), np.std(rows, 0)
        print(f"{name:20}{mean[0]:13.1f} ± {spread[0]:4.1f}{mean[1]:10.0f}{mean[2]:10.1f}")

    args.output.mkdir(parents=True, exist_ok=True)
    figure = plots.score_against_threshold(y, drawn, "savings")
    best = max(line.get_ydata().max() for line in figure.axes[0].lines)
    figure.axes[0].set_ylim(-best / 4, 1.1 * best)  # this score can lie outside 0 to 1
    figure.savefig(args.output / "savings_against_threshold.png")
    print(f"Figure: {args.output / 'savings_against_threshold.png'}")


if __name__ == "__main__":
    main(ARGUMENTS)
