"""A score of your own in ten lines: a missed fraud costs as much as looking into 50 alerts.

    python examples/custom_score.py

The function `savings` below becomes a loss, a metric and the goal of threshold tuning. It is compared with what one
would do without it: cross-entropy, and the threshold with the lowest cost on validation data. For a cost that is linear
in the four cells, as here, that is a strong competitor, because the best threshold of a calibrated model is known:
1 / 50. An interrupted run starts again; it takes a few minutes.
"""

import argparse
from pathlib import Path

import keras
import numpy as np

import keras_softsets
from keras_softsets import datasets, metrics, models, plots

MISS = 50.0  # what a missed fraud costs, in alerts


@keras_softsets.score  # registered, so that models which use it can be saved and loaded
def savings(cells, miss=MISS):
    """Cost avoided per transaction, in alerts: 0 for doing nothing, negative for crying wolf."""
    return (miss * cells.tp - cells.predicted_positives) / keras.ops.maximum(cells.total, 1.0)


def train(loss, data, seed, args):
    keras.utils.set_random_seed(seed)
    model = models.mlp(data.train[0].shape[1])
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
    return [model.predict(part[0], batch_size=8192, verbose=0)[:, 0] for part in (data.validation, data.test)]


def cost_of(y, p, threshold):
    """Returns the cost per 1000 transactions in alerts, the alerts and the missed frauds."""
    cells = keras_softsets.confusion_matrix(y, p, threshold=threshold, heaviside="step")
    alerts, missed = float(cells.predicted_positives[0, 0]), float(cells.fn[0, 0])
    return 1000 * (alerts + MISS * missed) / len(y), alerts, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="creditcard_fraud", help="a tabular data set (default: creditcard_fraud)")
    parser.add_argument("--seeds", type=int, default=3, help="trainings with each loss (default: 3)")
    parser.add_argument("--epochs", type=int, default=30, help="at most so many (default: 30)")
    parser.add_argument("--window", type=int, default=10, help="of epochs, for early stopping (default: 10)")
    parser.add_argument("--output", type=Path, default=Path("runs/custom_score"), help="where the picture goes")
    parser.add_argument("--smoke", action="store_true", help="generated data and three epochs, to see that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.data, args.seeds, args.epochs = "synthetic_05", 1, 3

    passed = keras_softsets.check_score(savings)  # says what is wrong with a score before a training does
    print(f"savings passes {len(passed)} checks, from shapes and weights to half precision and saving")

    losses = {"BCE": keras.losses.BinaryCrossentropy(), "savings": keras_softsets.SoftSetLoss("savings")}
    costs, pictured = {}, {}
    for seed in range(args.seeds):  # a split, too: with few frauds, which ones are in the test part matters most
        data = datasets.load(args.data, seed=seed)
        y = data.test[1]
        costs.setdefault("do nothing", []).append((1000 * MISS * y.mean(), 0, y.sum()))
        for name, loss in losses.items():
            print(f"\nTraining with {name}, seed {seed}")
            on_validation, on_test = train(loss, data, seed, args)
            tuned = keras_softsets.tune_threshold(data.validation[1], on_validation, "savings").threshold
            costs.setdefault(f"{name}, at 0.5", []).append(cost_of(y, on_test, 0.5))
            costs.setdefault(f"{name}, tuned", []).append(cost_of(y, on_test, min(max(tuned, 1e-6), 1 - 1e-6)))
            pictured[name] = on_test

    print(f"\n{'On test data':20}{'cost per 1000':>20}{'alerts':>10}{'missed':>10}   mean of {args.seeds} seed(s)")
    for name, rows in costs.items():
        mean, spread = np.mean(rows, 0), np.std(rows, 0)
        print(f"{name:20}{mean[0]:13.1f} ± {spread[0]:4.1f}{mean[1]:10.0f}{mean[2]:10.1f}")

    args.output.mkdir(parents=True, exist_ok=True)
    figure = plots.score_against_threshold(y, pictured, "savings")
    best = max(line.get_ydata().max() for line in figure.axes[0].lines)
    figure.axes[0].set_ylim(-best / 4, 1.1 * best)  # this score is not between 0 and 1
    figure.savefig(args.output / "savings_against_threshold.png")
    print(f"Picture: {args.output / 'savings_against_threshold.png'}")


if __name__ == "__main__":
    main()
