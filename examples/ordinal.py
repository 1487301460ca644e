"""Grade wines: classes that have an order, and quadratic kappa, which penalises the distance of a wrong grade.

    python examples/ordinal.py --seeds 5

Three ways to the same goal, all decided by the largest class:

* cross-entropy;
* cross-entropy with an offset for each class, tuned on validation data;
* a blend of soft quadratic kappa with cross-entropy, with and without such offsets.

The tuned offsets are the fair rival: they give much of what a set loss gains at the plain argmax, and cost only a few
seconds after training. A seed takes about two minutes; an interrupted run starts from the beginning.
"""

from pathlib import Path

from _common import folder, make_parser, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=whole(), default=1, help="splits, each with its own training runs (default: 1)")
    parser.add_argument("--epochs", type=whole(), default=300, help="maximum number of epochs (default: 300)")
    parser.add_argument("--window", type=whole(), default=50, help="epochs in the stopping window (default: 50)")
    parser.add_argument("--output", type=folder(), default=Path("runs/ordinal"), help="folder for the figure")
    parser.add_argument("--smoke", action="store_true", help="generated grades and five epochs, to check that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.seeds, args.epochs = 1, 5
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import numpy as np

from keras_softsets import (
    BlendedLoss,
    SoftKappa,
    WindowedEarlyStopping,
    datasets,
    evaluate,
    metrics,
    plots,
    scores,
    tune_threshold,
)

GRADES = ("4 or less", "5", "6", "7", "8 or more")
KAPPA = scores.kappa(weights="quadratic")
COLUMNS = {"kappa": KAPPA, "macro F1": scores.f1, "MCC": scores.multiclass_mcc}


def cross_entropy():
    return keras.losses.SparseCategoricalCrossentropy()


def blend():
    parts = {"kappa": SoftKappa(weights="quadratic"), "cross_entropy": cross_entropy()}
    return BlendedLoss(parts, weights={"kappa": 1.0, "cross_entropy": 0.3})


def made_up_grades(samples, seed):
    """A noisy grade along one direction in feature space, for a smoke run without a download."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(samples, 11)).astype("float32")
    taste = x[:, 0] + 0.5 * x[:, 1] + random.normal(size=samples)
    return x, np.digitize(taste, [-2.5, -0.7, 0.9, 2.4]).astype("int32")


def load(seed, smoke):
    if not smoke:
        return datasets.load("wine_quality", seed=seed)
    parts = (made_up_grades(samples, (seed, k)) for k, samples in enumerate((600, 200, 200)))
    return datasets.Splits(*parts)


def train(name, loss, data, seed, args):
    """Returns the probabilities of the validation and test parts."""
    print(f"\nTraining with {name}, seed {seed}")
    keras.utils.set_random_seed(seed)
    hidden = [keras.layers.Dense(units, "relu") for units in (64, 32)]
    model = keras.Sequential([keras.Input((11,)), *hidden, keras.layers.Dense(len(GRADES), "softmax")])
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=[metrics.Kappa(weights="quadratic")])
    # Large batches: kappa is that of a batch, and the rarest grade is one wine in 27.
    stopping = WindowedEarlyStopping("val_kappa", mode="max", window=args.window)
    model.fit(*data.train, 512, args.epochs, verbose=2, validation_data=data.validation, callbacks=[stopping])
    return [model.predict(x, verbose=0) for x, _ in (data.validation, data.test)]


def row(grades, p, decision):
    return [evaluate(grades, p, score, threshold=decision) for score in COLUMNS.values()]


def main(args):
    rows = {}
    for seed in range(args.seeds):
        data = load(seed, args.smoke)
        for name, loss in {"cross-entropy": cross_entropy(), "kappa + cross-entropy": blend()}.items():
            on_validation, p = train(name, loss, data, seed, args)
            tuned = tune_threshold(data.validation[1], on_validation, KAPPA, decision="argmax").threshold
            rows.setdefault(name, []).append(row(data.test[1], p, "argmax"))
            rows.setdefault(f"{name}, offsets tuned", []).append(row(data.test[1], p, tuned))

    print(f"\n{'On test data':40}" + "".join(f"{name:>16}" for name in COLUMNS))
    for name, values in rows.items():
        spread = [f" ± {value:.3f}" if args.seeds > 1 else "" for value in np.std(values, 0)]
        print(f"{name:40}" + "".join(f"{f'{mean:.3f}{more}':>16}" for mean, more in zip(np.mean(values, 0), spread)))
    args.output.mkdir(parents=True, exist_ok=True)
    plots.confusion_heatmap(data.test[1], p, names=GRADES, threshold=tuned).savefig(args.output / "grades.png")
    print(f"Figure (the blend, offsets tuned, last seed): {args.output / 'grades.png'}")


if __name__ == "__main__":
    main(ARGUMENTS)
