"""Choose between precision and recall at training time: F1, F2 and F3 as losses (the paper's Section 5.3).

    python examples/precision_recall_tradeoff.py --data mammography

Recall counts beta times as much as precision, so a larger beta should move the whole model, not only its threshold,
towards recall. The second half of the table shows the cheap way: one model trained with cross-entropy, its threshold
tuned to each F-beta on validation data. A run takes a few minutes; an interrupted run starts from the beginning.
"""

from pathlib import Path

from _common import TABLES, folder, make_parser, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--data", choices=TABLES, default="mammography", help="data set (default: mammography, the paper's)"
    )
    parser.add_argument("--seeds", type=whole(), default=1, help="training runs with each loss (default: 1; paper: 10)")
    parser.add_argument("--epochs", type=whole(), default=500, help="maximum number of epochs (default: 500)")
    parser.add_argument("--window", type=whole(), default=100, help="epochs in the stopping window (default: 100)")
    parser.add_argument(
        "--output", type=folder(), default=Path("runs/precision_recall_tradeoff"), help="folder for the figure"
    )
    parser.add_argument("--smoke", action="store_true", help="generated data and three epochs, to check that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.data, args.seeds, args.epochs = "synthetic_05", 1, 3
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import numpy as np

from keras_softsets import SoftFBeta, WindowedEarlyStopping, datasets, metrics, models, plots, scores, tune_threshold

BETAS = (1, 2, 3)
THRESHOLDS = [k / 10 for k in range(1, 10)]  # the paper reports the mean over these
COLUMNS = {f"F{beta}": scores.f_beta(beta=beta) for beta in BETAS} | {
    "precision": scores.precision,
    "recall": scores.recall,
}


def train(name, loss, data, seed, args):
    """Returns the probabilities of the validation and test parts."""
    print(f"\nTraining with {name}, seed {seed}")
    keras.utils.set_random_seed(seed)
    model = models.mlp(data.train[0].shape[1])
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=[metrics.Precision(), metrics.Recall()])
    model.fit(
        *data.train,
        batch_size=1024,
        epochs=args.epochs,
        validation_data=data.validation,
        validation_batch_size=len(data.validation[0]),  # in one batch, val_loss is the loss of the validation set
        callbacks=[WindowedEarlyStopping(window=args.window)],
        verbose=2,
    )
    return [model.predict(part[0], batch_size=4096, verbose=0)[:, 0] for part in (data.validation, data.test)]


def row(y, p, threshold):
    return [float(metrics.SoftSetMetric(score, threshold=threshold)(y, p)) for score in COLUMNS.values()]


def main(args):
    rows, curves = {}, {}
    for seed in range(args.seeds):
        data = datasets.load(args.data, seed=seed)  # the same split for each loss, another one for each seed
        y = data.test[1]
        for beta in BETAS:
            _, p = train(f"SoftFBeta(beta={beta})", SoftFBeta(beta=beta), data, seed, args)
            rows.setdefault(f"F{beta} loss, mean over 0.1 ... 0.9", []).append(row(y, p, THRESHOLDS))
            curves[f"F{beta} loss"] = p
        on_validation, p = train("BCE", keras.losses.BinaryCrossentropy(), data, seed, args)
        curves["BCE"] = p
        for beta in BETAS:
            tuned = tune_threshold(data.validation[1], on_validation, "f_beta", beta=beta).threshold
            rows.setdefault(f"BCE, tuned to F{beta}", []).append(row(y, p, tuned))

    print(f"\n{'On test data':34}" + "".join(f"{name:>15}" for name in COLUMNS))
    for name, values in rows.items():
        spread = [f" ± {value:.3f}" if args.seeds > 1 else "" for value in np.std(values, 0)]
        print(f"{name:34}" + "".join(f"{f'{mean:.3f}{more}':>15}" for mean, more in zip(np.mean(values, 0), spread)))

    figure = plots.curves(y, curves)
    axis = figure.axes[1]
    for number, p in enumerate(curves.values()):
        _, _, _, precision, recall = row(y, p, 0.5)
        axis.plot(recall, precision, "o", color=plots.COLOURS[number], markersize=8, markeredgecolor="white", zorder=3)
    axis.set_title("dots: threshold 0.5", fontsize="medium")
    args.output.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.output / "curves.png")
    print(f"Figure (last seed): {args.output / 'curves.png'}")


if __name__ == "__main__":
    main(ARGUMENTS)
