"""Several yes/no questions about each sample, from common to rare: macro, micro and per-class F1.

    python examples/multi_label.py

Predictions of shape (n, labels) are `labels` problems side by side. With "macro", each label counts the same, so the
rare ones are learned; "micro" adds up the cells of all labels, so the common ones dominate. The data are generated. A
run takes about a minute; an interrupted run starts from the beginning.
"""

from pathlib import Path

from _common import folder, make_parser, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument("--samples", type=whole(100), default=8192, help="samples to train on (default: 8192)")
    parser.add_argument("--epochs", type=whole(), default=200, help="maximum number of epochs (default: 200)")
    parser.add_argument("--window", type=whole(), default=50, help="epochs in the stopping window (default: 50)")
    parser.add_argument("--output", type=folder(), default=Path("runs/multi_label"), help="folder for the figure")
    parser.add_argument(
        "--export", type=folder(), help="folder for a SavedModel of the BCE model, with a threshold for each label"
    )
    parser.add_argument("--smoke", action="store_true", help="few samples and three epochs, to check that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.samples, args.epochs = 2048, 3
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import numpy as np

from keras_softsets import SoftF1, WindowedEarlyStopping, evaluate, export_classifier, metrics, models, tune_threshold

RATES = (0.40, 0.20, 0.10, 0.05, 0.02)  # of the five labels
LABELS = [f"{rate:.0%}" for rate in RATES]


def make_data(samples, seed=0):
    """Each label depends on its own direction in feature space, with noise, and is positive at its rate."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(samples, 10)).astype("float32")
    directions = np.random.default_rng(0).normal(size=(10, len(RATES))) / np.sqrt(10)
    signal = x @ directions + 0.4 * random.normal(size=(samples, len(RATES)))
    cuts = [np.quantile(signal[:, label], 1 - rate) for label, rate in enumerate(RATES)]
    return x, (signal > cuts).astype("float32")


def train(name, loss, parts, args):
    print(f"\nTraining with {name}")
    keras.utils.set_random_seed(0)
    (x, y), validation, _ = parts
    # A bias for each label that starts at its log odds would also help; here all losses start from the same network.
    model = models.mlp(x.shape[1], classes=len(RATES), dropout=0.2)
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=[metrics.F1(average="macro", name="macro_f1")])
    # A rare label needs large batches: with 2 % positives, 1024 samples hold twenty of them, 32 samples usually none.
    stopping = WindowedEarlyStopping("val_macro_f1", mode="max", window=args.window)
    model.fit(x, y, 1024, args.epochs, verbose=2, validation_data=validation, callbacks=[stopping])
    return model


def table(y, p, threshold):
    """Returns F1 of each label, their mean, and F1 of all labels' cells together."""
    per_label, mean, together = (evaluate(y, p, threshold=threshold, average=name) for name in (None, "macro", "micro"))
    return [*per_label, mean, together]


def draw(rows, file):
    from matplotlib.figure import Figure

    from keras_softsets.plots import COLOURS

    axis = (figure := Figure(figsize=(7, 3.6), layout="constrained", dpi=120)).subplots()
    width = 0.8 / len(rows)
    for number, (name, values) in enumerate(rows.items()):
        places = np.arange(len(RATES)) + (number - (len(rows) - 1) / 2) * width
        axis.bar(places, values[: len(RATES)], width, label=name, color=COLOURS[number])
    axis.set(xticks=range(len(RATES)), xticklabels=LABELS, xlabel="share of positives", ylabel="F1 on test data")
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(file)


def main(args):
    parts = [make_data(samples, seed) for seed, samples in enumerate((args.samples, args.samples // 2, args.samples))]
    (x_validation, y_validation), (x, y) = parts[1:]
    losses = {"BCE": "binary_crossentropy", "SoftF1 micro": SoftF1(average="micro"), "SoftF1 macro": SoftF1()}
    trained = {name: train(name, loss, parts, args) for name, loss in losses.items()}
    rows = {f"{name}, at 0.5": table(y, model.predict(x, verbose=0), 0.5) for name, model in trained.items()}
    bce = trained["BCE"]
    tuned = tune_threshold(y_validation, bce.predict(x_validation, verbose=0), "f1").threshold  # one for each label
    rows["BCE, tuned by label"] = table(y, bce.predict(x, verbose=0), tuned)

    print(f"\n{'F1 on test data, by label':26}" + "".join(f"{name:>8}" for name in [*LABELS, "macro", "micro"]))
    for name, values in rows.items():
        print(f"{name:26}" + "".join(f"{value:8.3f}" for value in values))
    args.output.mkdir(parents=True, exist_ok=True)
    draw(rows, args.output / "f1_by_label.png")
    print(f"Figure: {args.output / 'f1_by_label.png'}")
    if args.export:
        print(f"Exported to {export_classifier(bce, args.export, threshold=tuned)}")


if __name__ == "__main__":
    main(ARGUMENTS)
