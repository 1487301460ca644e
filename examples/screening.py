"""Screening: find 90 % of the cancers with as few false alarms as possible.

    python examples/screening.py --data mammography

The same linear model is trained with four losses. Each model's threshold is then tuned on validation data: the one with
the best precision among those with a recall of at least 0.9. The table shows the precision of this threshold on test
data, and the recall that it reaches there: a rate that is met on the data that chose the threshold is missed on other
data about half of the time, and the recall says how far precisions can be compared. A run takes a few minutes; an
interrupted run starts from the beginning.
"""

from pathlib import Path

from _common import TABLES, between, folder, make_parser, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument("--data", choices=TABLES, default="mammography", help="data set (default: mammography)")
    parser.add_argument(
        "--recall", type=between(0, 1), default=0.9, help="share of the positives to be found (default: 0.9)"
    )
    parser.add_argument("--seeds", type=whole(), default=5, help="splits of the data (default: 5)")
    parser.add_argument("--epochs", type=whole(), default=1000, help="steps on all of the data (default: 1000)")
    parser.add_argument("--output", type=folder(), default=Path("runs/screening"), help="folder for the figure")
    parser.add_argument("--smoke", action="store_true", help="generated data and three epochs, to check that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.data, args.seeds, args.epochs = "synthetic_05", 1, 3
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import numpy as np

from keras_softsets import AtRecall, SoftF1, SoftPrecisionAtRecall, datasets, evaluate, metrics, plots, tune_threshold

COLUMNS = ("precision", "recall", "precision where recall is exactly met")


def losses(y, recall):
    """Returns the losses, each with the weight of a positive sample."""
    return {
        "BCE": (keras.losses.BinaryCrossentropy(), 1.0),
        "balanced BCE": (keras.losses.BinaryCrossentropy(), float(np.sum(1 - y) / np.sum(y))),
        "SoftF1": (SoftF1(), 1.0),
        "SoftPrecisionAtRecall": (SoftPrecisionAtRecall(recall), 1.0),
    }


def train(loss, positive_weight, data, seed, args):
    """Returns the probabilities of the validation and test parts."""
    keras.utils.set_random_seed(seed)
    x, y = data.train
    model = keras.Sequential([keras.Input((x.shape[1],)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.05), loss)
    weight = np.where(y > 0, positive_weight, 1.0)
    # All of the data in one batch: at 2 %, a batch of 1,024 would have twenty positives.
    model.fit(x, y, sample_weight=weight, batch_size=len(x), epochs=args.epochs, shuffle=False, verbose=0)
    return [model.predict(part[0], batch_size=4096, verbose=0)[:, 0] for part in (data.validation, data.test)]


def draw(y, predictions, points, recall):
    """Precision against recall, with a dot at each tuned threshold and a line at the recall that was asked for."""
    figure = plots.curves(y, predictions)
    figure.axes[0].remove()
    axis = figure.axes[0]
    axis.axvline(recall, color="black", linewidth=0.8, linestyle=":")
    for number, (precision, reached) in enumerate(points.values()):
        axis.plot(reached, precision, "o", color=plots.COLOURS[number], markersize=8, markeredgecolor="white", zorder=3)
    axis.set_title(f"dots: thresholds tuned to recall {recall:g} on validation data", fontsize="medium")
    return figure


def main(args):
    rows, predictions, points = {}, {}, {}
    for seed in range(args.seeds):
        data = datasets.load(args.data, seed=seed)  # the same split for each loss, another one for each seed
        y = data.test[1]
        for name, (loss, weight) in losses(data.train[1], args.recall).items():
            on_validation, p = train(loss, weight, data, seed, args)
            rule = {"recall": args.recall}
            threshold = tune_threshold(data.validation[1], on_validation, "precision", at_least=rule).threshold
            points[name] = [evaluate(y, p, score, threshold=threshold) for score in ("precision", "recall")]
            best = float(metrics.PrecisionAtRecall(args.recall)(y, p))
            assert abs(best - evaluate(y, p, "precision", threshold=AtRecall(args.recall))) < 1e-3
            rows.setdefault(name, []).append([*points[name], best])
            predictions[name] = p

    print(f"\n{'On test data':24}" + "".join(f"{name:>40}" for name in COLUMNS))
    for name, values in rows.items():
        spread = [f" ± {value:.3f}" if args.seeds > 1 else "" for value in np.std(values, 0)]
        print(f"{name:24}" + "".join(f"{f'{mean:.3f}{more}':>40}" for mean, more in zip(np.mean(values, 0), spread)))
    missed = np.mean([[value[1] < args.recall for value in values] for values in rows.values()])
    print(
        f"The recall of {args.recall:g}, met on validation data, was missed on test data in {missed:.0%} of the cases."
    )

    args.output.mkdir(parents=True, exist_ok=True)
    draw(y, predictions, points, args.recall).savefig(args.output / "operating_points.png")
    print(f"Figure (last split): {args.output / 'operating_points.png'}")


if __name__ == "__main__":
    main(ARGUMENTS)
