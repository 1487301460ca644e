"""Two questions about 4,898 white wines, five seeds each: train, compare, draw, export, load, classify.

    make demo            # or: python examples/demo.py --help

(a) Which wines are excellent? Only 3.7 % are, so F1 is reported. (b) Which of five grades does a wine have? Grades have
an order, so quadratic kappa is reported. The data come with the package. Each seed gives another split into training,
validation and test data and other initial weights; the five networks are trained side by side, as five outputs of one
Keras model.
"""

import argparse
import contextlib
import hashlib
import io
import json
from pathlib import Path

from _common import folder

SEEDS = 5
# Chosen on validation data alone, before the first full run, and the same for all losses.
UNITS, LEARNING_RATE, BATCHES, EPOCHS = (128, 64), 0.003, 4, 100


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--output", type=folder(), default=Path("runs/demo"), help="folder for the results and the figure"
    )
    parser.add_argument("--export", type=folder(), default=Path("saved_models/demo"), help="folder for the best models")
    parser.add_argument("--smoke", action="store_true", help="one seed and two epochs, to check that it runs")
    return parser.parse_args()


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure
from tqdm import tqdm

from keras_softsets import (
    BlendedLoss,
    SoftF1,
    SoftKappa,
    confusion_matrix,
    datasets,
    evaluate,
    export_classifier,
    plots,
    scores,
    tune_threshold,
)

tf.get_logger().setLevel("ERROR")  # it warns that six models are compiled, which is intended
KAPPA = scores.kappa(weights="quadratic")
BCE, CROSS_ENTROPY = keras.losses.BinaryCrossentropy(), keras.losses.SparseCategoricalCrossentropy()
KAPPA_BLEND = BlendedLoss({"kappa": SoftKappa(), "ce": CROSS_ENTROPY}, weights={"kappa": 1.0, "ce": 0.3})

# For each problem: the last layer, the score and how it is tuned, the losses, those that get a second row with a tuned
# decision, and the columns of the table.
PROBLEMS = {
    "excellent": {
        "title": "(a) Excellent wines, 3.7 %: all seeds at once, decided at 0.5 unless tuned",
        "head": {"units": 1, "activation": "sigmoid"},
        "score": ("F1", "f1"),
        "decision": 0.5,
        "tuning": {},
        "losses": {
            "BCE": BCE,
            "balanced BCE": BCE,
            "SoftF1": SoftF1(),
            "SoftF1 + BCE": BlendedLoss({"f1": SoftF1(), "bce": BCE}),
        },
        "tuned": {"BCE": "BCE, threshold tuned"},
        "columns": {"F1": "f1", "precision": "precision", "recall": "recall", "AUPRC": "pr_auc", "AUROC": "roc_auc"},
    },
    "grade": {
        "title": "(b) Five grades: all seeds at once, the largest class wins",
        "head": {"units": 5, "activation": "softmax"},
        "score": ("quadratic kappa", KAPPA),
        "decision": "argmax",
        "tuning": {"decision": "argmax"},
        "losses": {"cross-entropy": CROSS_ENTROPY, "SoftKappa + 0.3 cross-entropy": KAPPA_BLEND},
        "tuned": {
            "cross-entropy": "cross-entropy, offsets tuned",
            "SoftKappa + 0.3 cross-entropy": "SoftKappa + 0.3 cross-entropy, offsets tuned",
        },
        "columns": {"quadratic kappa": KAPPA, "accuracy": "multiclass_accuracy", "macro F1": "f1"},
    },
}
AREAS = ("pr_auc", "roc_auc")  # these have no threshold
GRADES = ("4 or less", "5", "6", "7", "8 or more")
THRESHOLDS = [k / 50 for k in range(1, 50)]


def load(seeds):
    """Returns the splits of all seeds for each problem."""
    with contextlib.redirect_stderr(io.StringIO()):  # TensorFlow Datasets announces a download, but there is none
        grades = [datasets.load("wine_quality", seed=seed) for seed in range(seeds)]
    excellent = [datasets.Splits(*((x, (y == 4).astype("float32")[:, None]) for x, y in data)) for data in grades]
    return {"excellent": excellent, "grade": grades}


def network(head, seed):
    keras.utils.set_random_seed(seed)
    inputs = x = keras.Input((11,), name="features")
    for units in UNITS:
        x = keras.layers.Dense(units, "relu")(x)
    return keras.Model(inputs, keras.layers.Dense(**head)(x), name=f"seed_{seed}")


def balanced(y):
    """Weights with which positives and negatives count the same in total."""
    return np.where(y[:, 0] == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean())).astype("float32")


class Progress(keras.callbacks.Callback):
    """One progress bar for each loss; none if the output is not a terminal."""

    def __init__(self, name, epochs):
        super().__init__()
        self.bar = tqdm(total=epochs, desc=f"{name:>30}", unit="epoch", disable=None)

    def on_epoch_end(self, epoch, logs=None):
        self.bar.update()

    def on_train_end(self, logs=None):
        self.bar.close()


def train(problem, name, splits, epochs):
    """Trains a network for each split. They share nothing but the call of `fit`: Adam treats each weight alone."""
    networks = [network(problem["head"], seed) for seed in range(len(splits))]
    inputs = [keras.Input((11,)) for _ in networks]
    model = keras.Model(inputs, [each(x) for each, x in zip(networks, inputs)])
    losses = [problem["losses"][name]] * len(networks)
    model.compile(keras.optimizers.Adam(LEARNING_RATE), losses, steps_per_execution=BATCHES, jit_compile=epochs > 10)
    x, y = (list(each) for each in zip(*(data.train for data in splits)))
    model.fit(
        x,
        y,
        sample_weight=[balanced(labels) for labels in y] if name.startswith("balanced") else None,
        batch_size=-(-len(x[0]) // BATCHES),  # for excellent wines, about 29 positives
        epochs=epochs,
        verbose=0,
        callbacks=[Progress(name, epochs)],
    )
    return networks


def probabilities(network, x):
    return network(x).numpy()  # in one batch: quicker than `predict`, which compiles


def tune(problem, y, p):
    return tune_threshold(y, p, problem["score"][1], **problem["tuning"]).threshold


def on_validation(problem, y, p, tuned):
    """The mean score of two halves; a tuned decision is judged on the half that was not used to tune it."""
    halves = slice(0, None, 2), slice(1, None, 2)
    values = []
    for half, other in (halves, halves[::-1]):
        decision = tune(problem, y[other], p[other]) if tuned else problem["decision"]
        values.append(float(evaluate(y[half], p[half], problem["score"][1], threshold=decision)))
    return float(np.mean(values))


def on_test(problem, y, p, decision):
    where = {score: {} if score in AREAS else {"threshold": decision} for score in problem["columns"].values()}
    return {title: float(evaluate(y, p, s, **where[s])) for title, s in problem["columns"].items()}


def judge(problem, tuned, splits, networks):
    """Returns a row of the table, seed by seed, and the decision of every network."""
    row = {"validation": [], "test": {title: [] for title in problem["columns"]}}
    decisions = []
    for data, each in zip(splits, networks):
        y, p = data.validation[1], probabilities(each, data.validation[0])
        decisions.append(tune(problem, y, p) if tuned else problem["decision"])
        row["validation"].append(on_validation(problem, y, p, tuned))
        on_test_data = on_test(problem, data.test[1], probabilities(each, data.test[0]), decisions[-1])
        for title, value in on_test_data.items():
            row["test"][title].append(value)
    return row, decisions


def compare(problem, splits, epochs):
    """Trains with every loss; returns the rows and the exportable models, both by label."""
    rows, candidates = {}, {}
    for name in problem["losses"]:
        networks = train(problem, name, splits, epochs)
        labels = {name: False, **({problem["tuned"][name]: True} if name in problem["tuned"] else {})}
        for label, tuned in labels.items():
            rows[label], decisions = judge(problem, tuned, splits, networks)
            candidates[label] = networks, decisions
    return rows, candidates


def table(rows):
    """A Markdown table of means and standard deviations over seeds, aligned so that it reads well as it is."""
    titles = list(next(iter(rows.values()))["test"])
    lines = [["on test data", *titles], ["---"] * (len(titles) + 1)]
    for label, row in rows.items():
        lines.append([label, *(f"{np.mean(values):.3f} ± {np.std(values):.3f}" for values in row["test"].values())])
    widths = [max(len(line[k]) for line in lines) for k in range(len(titles) + 1)]
    return "\n".join("| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths)) + " |" for line in lines)


def curves(problem, splits, candidates):
    """F1 on test data against the threshold: mean and spread of the seeds."""
    found = {}
    for name in problem["losses"]:
        values = []
        for data, each in zip(splits, candidates[name][0]):
            p = probabilities(each, data.test[0])
            cells = confusion_matrix(data.test[1], p, threshold=THRESHOLDS, heaviside="step")
            values.append(np.ravel(scores.f1(cells)))
        found[name] = {"mean": np.mean(values, 0).round(4).tolist(), "spread": np.std(values, 0).round(4).tolist()}
    return found


def draw(results):
    """Left, F1 against the threshold, mean and spread of the seeds; right, kappa of every seed."""
    figure = Figure(figsize=(10, 3.8), layout="constrained", dpi=120)
    left, right = figure.subplots(1, 2)
    for (name, curve), colour in zip(results["curves"].items(), plots.COLOURS):
        mean, spread = np.array(curve["mean"]), np.array(curve["spread"])
        left.plot(THRESHOLDS, mean, color=colour, label=name)
        left.fill_between(THRESHOLDS, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
    left.set(xlabel="threshold", ylabel="F1 on test data", title="Excellent wines", xlim=(0, 1), ylim=(0, None))
    left.legend(frameon=False)
    rows = results["grade"]
    for place, (row, colour) in enumerate(zip(rows.values(), plots.COLOURS)):
        values = row["test"]["quadratic kappa"]
        right.plot(values, [place] * len(values), "o", color=colour, alpha=0.5, mew=0)
        right.plot(np.mean(values), place, "|", color=colour, ms=22, mew=2.5)
    right.set(xlabel="quadratic kappa on test data", title="Grades: every seed, and the mean")
    right.set_ylim(len(rows) - 0.5, -0.5)
    right.set_yticks(range(len(rows)), [label.replace(", ", ",\n").replace(" + ", "\n+ ") for label in rows])
    return figure


def export(problem, rows, candidates, folder):
    """Exports the network of the first seed, and says why this loss was chosen."""
    means = {label: float(np.mean(row["validation"])) for label, row in rows.items()}
    label, second, *_ = sorted(means, key=means.get, reverse=True)
    networks, decisions = candidates[label]
    path = export_classifier(networks[0], folder, threshold=decisions[0])
    print(f"Exported {label!r} to {path},\n  because its {problem['score'][0]} on validation data is the highest:")
    print(
        f"  {means[label]:.3f} on average, next is {second!r} with {means[second]:.3f}. It is the first seed's network."
    )
    return path


def classify(folders, splits):
    """Asks both exported models about ten wines that they have not seen; needs neither Keras nor this package."""
    x, grades = splits["grade"][0].test
    some = np.concatenate([np.flatnonzero(grades == grade)[:2] for grade in range(5)])
    answers = {
        name: tf.saved_model.load(str(folder)).signatures["serving_default"](features=tf.constant(x[some]))
        for name, folder in folders.items()
    }
    print("\nTen test wines, classified by the exported models:")
    for k, truth in enumerate(grades[some]):
        p, label = (float(answers["excellent"][key][k, 0]) for key in ("probability", "label"))
        says = "excellent" if label else "not excellent"
        grade = GRADES[int(answers["grade"]["label"][k])]
        print(f"  quality {GRADES[truth]:9}  {says:13} (probability {p:.3f}), quality {grade}")


def write(results, folder):
    """Writes the numbers and their figure, which holds the numbers' digest."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results) + "\n"
    (folder / "results.json").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    draw(results).savefig(folder / "demo.png", metadata={"Source": f"results.json, sha256 {digest}"})
    print(f"\nFigure: {folder / 'demo.png'}; the numbers of every seed: {folder / 'results.json'}")


def main():
    seeds, epochs = (1, 2) if ARGUMENTS.smoke else (SEEDS, EPOCHS)
    splits = load(seeds)
    results = {"run": {"seeds": seeds, "epochs": epochs, "tensorflow": tf.__version__, "keras": keras.__version__}}
    folders = {}
    for name, problem in PROBLEMS.items():
        print(f"\n{problem['title']}\n", flush=True)
        results[name], candidates = compare(problem, splits[name], epochs)
        print(table(results[name]), end="\n\n")
        folders[name] = export(problem, results[name], candidates, ARGUMENTS.export / name)
        if name == "excellent":
            results["curves"] = curves(problem, splits[name], candidates)
    classify(folders, splits)
    write(results, ARGUMENTS.output)


if __name__ == "__main__":
    main()
