"""Two questions about white wines, five seeds for each loss: compare, draw, export, ask.

    make demo            # or: python examples/demo.py --help

(a) Which wines are good? A fifth of them are, and F1 is reported. (b) Which of five grades does a wine have? Grades
have an order, so quadratic kappa is reported. `compare` trains the losses that are recommended for these scores, and
what is usually tried: cross-entropy, balanced class weights, the focal loss and logit adjustment. Each gets the same
seeds, the same budget and a tuned decision. The data come with the package; copies of a wine are left out.
"""

import argparse
import hashlib
import json
from pathlib import Path

from _common import folder

# Fixed before the first look at test data, and the same for all losses.
SEEDS, UNITS, LEARNING_RATE, BATCHES, EPOCHS = 5, (128, 64), 0.003, 4, 30


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
from keras import ops
from matplotlib.figure import Figure

from keras_softsets import (
    GuidedCrossentropy,
    compare,
    confusion_matrix,
    datasets,
    export_classifier,
    loss_for,
    plots,
    scores,
)

tf.get_logger().setLevel("ERROR")  # many models are compiled, which TensorFlow would warn about
GRADES = ("4 or less", "5", "6", "7", "8 or more")
THRESHOLDS = [k / 50 for k in range(1, 50)]


class LogitAdjustment(keras.losses.Loss):
    """Cross-entropy of probabilities that are multiplied by the shares of the classes (Menon et al., 2021)."""

    def __init__(self, shares):
        super().__init__(name="logit_adjustment")
        self.shares = [float(share) for share in shares]

    def call(self, y_true, y_pred):
        p = ops.clip(y_pred, 1e-7, 1 - 1e-7)
        y = ops.cast(y_true, p.dtype)
        if p.shape[-1] == 1:
            p, y = ops.concatenate([1 - p, p], -1), ops.concatenate([1 - y, y], -1)
        return keras.losses.categorical_crossentropy(y, p * ops.cast(self.shares, p.dtype))  # which makes the sum 1

    def get_config(self):
        return {"shares": self.shares}


def good_wines(parts):
    """Labels, last layer, score and losses of the first question."""
    parts = [(x, (grade >= 3).astype("float32")[:, None]) for x, grade in parts]
    rate = float(parts[0][1].mean())
    losses = {
        "cross-entropy": keras.losses.BinaryCrossentropy(),
        "balanced cross-entropy": keras.losses.BinaryFocalCrossentropy(True, alpha=1 - rate, gamma=0.0),
        "focal loss": keras.losses.BinaryFocalCrossentropy(),
        "logit adjustment": LogitAdjustment((1 - rate, rate)),
        "guided cross-entropy": GuidedCrossentropy("f1"),
        "loss_for": loss_for("f1"),
    }
    return parts, {"units": 1, "activation": "sigmoid"}, scores.f1, losses


def grades(parts):
    """Labels, last layer, score and losses of the second question."""
    parts = [(x, keras.utils.to_categorical(grade, 5)) for x, grade in parts]
    shares, kappa = parts[0][1].mean(0), scores.kappa(weights="quadratic")
    losses = {
        "cross-entropy": keras.losses.CategoricalCrossentropy(),
        "balanced cross-entropy": keras.losses.CategoricalFocalCrossentropy((0.2 / shares).tolist(), gamma=0.0),
        "focal loss": keras.losses.CategoricalFocalCrossentropy(),
        "logit adjustment": LogitAdjustment(shares),
        "guided cross-entropy": GuidedCrossentropy(kappa),
        "loss_for": loss_for(kappa),
    }
    return parts, {"units": 5, "activation": "softmax"}, kappa, losses


def compared(question, parts, name):
    parts, head, score, losses = question(parts)

    def make_model():
        inputs = x = keras.Input((11,), name="features")
        for units in UNITS:
            x = keras.layers.Dense(units, "relu")(x)
        model = keras.Model(inputs, keras.layers.Dense(**head)(x))
        model.compile(keras.optimizers.Adam(LEARNING_RATE))
        return model

    train, validation, test = parts
    budget = (1, 2) if ARGUMENTS.smoke else (SEEDS, EPOCHS)
    settings = dict(zip(("seeds", "epochs"), budget), batch_size=-(-len(train[0]) // BATCHES))
    report = compare(make_model, losses, train=train, validation=validation, test=test, score=score, **settings)
    report.save(ARGUMENTS.output / f"{name}.html")
    return report


def numbers(report):
    """What the table and the figure need, by loss and seed."""
    found = {"score": report.task.score.name, "verdict": report.verdict, "losses": {}}
    for line in report.lines:
        gap = line.difference
        found["losses"][line.name] = {
            "default": line.default,
            "tuned": line.tuned,
            "ranking": line.ranking,
            "difference": None if gap is None else [gap.value, gap.low, gap.high],
        }
    return found


def curves(report):
    """F1 on test data against the threshold, for each loss and seed."""
    found = {}
    for line in report.lines:
        answers = [(run.test.label, run.test.prediction) for run in line.runs]
        cells = [confusion_matrix(*each, threshold=THRESHOLDS, heaviside="step") for each in answers]
        found[line.name] = [np.ravel(scores.f1(each)).round(4).tolist() for each in cells]
    return found


def table(results):
    """A Markdown table of means and standard deviations over seeds, aligned so that it reads well as it is."""
    columns = {
        "good wines: F1 at 0.5": ("good", "default"),
        "F1, tuned": ("good", "tuned"),
        "AUPRC": ("good", "ranking"),
        "grades: kappa": ("grade", "default"),
        "kappa, tuned": ("grade", "tuned"),
    }
    lines = [["trained on", *columns], ["---"] * (len(columns) + 1)]
    for name in results["good"]["losses"]:
        cells = [results[question]["losses"][name][column] for question, column in columns.values()]
        lines.append([name, *(f"{np.mean(values):.3f} ± {np.std(values):.3f}" for values in cells)])
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns) + 1)]
    return "\n".join("| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths)) + " |" for line in lines)


def draw(results):
    """Left, F1 against the threshold, mean and spread of the seeds; right, kappa before and after tuning."""
    figure = Figure(figsize=(10, 4.2), layout="constrained", dpi=160)
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    names = ("cross-entropy", "focal loss", "balanced cross-entropy", "loss_for")
    for name, colour in zip(names, ("0.35", plots.COLOURS[1], plots.COLOURS[2], plots.COLOURS[0])):
        seeds = np.array(results["curves"][name])
        mean, spread = seeds.mean(0), seeds.std(0)
        left.plot(THRESHOLDS, mean, color=colour, label=name, lw=2.6 if name == "loss_for" else 1.6)
        left.fill_between(THRESHOLDS, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
    left.axvline(0.5, color="0.6", lw=0.8, ls=":", zorder=0)
    left.set(xlabel="threshold", ylabel="F1 on test data", xlim=(0, 1), ylim=(0, 0.65))
    left.set_title("Good wines: F1 at every threshold")
    left.legend(frameon=False, loc="lower left")
    rows = results["grade"]["losses"]
    for place, (name, row) in enumerate(rows.items()):
        colour = plots.COLOURS[0] if name == "loss_for" else "0.45"
        trained, tuned = np.mean(row["default"]), np.mean(row["tuned"])
        right.plot([trained, tuned], [place, place], color=colour, lw=1.6, zorder=1)
        right.plot(trained, place, "o", color=colour, mfc="white", mew=1.8, ms=9, label="largest class" * (place == 0))
        right.plot(tuned, place, "o", color=colour, ms=9, label="tuned offsets" * (place == 0))
        right.errorbar(tuned, place, xerr=np.std(row["tuned"]), color=colour, capsize=3, lw=1)
    right.set_yticks(range(len(rows)), rows)
    right.set_ylim(len(rows) - 0.5, -0.5)
    right.set(xlabel="quadratic kappa on test data")
    right.set_title("Grades: kappa, before and after tuning")
    right.legend(frameon=False, loc="lower left")
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def ask(folders, data):
    """Asks the exported models about all test wines; this needs neither Keras nor this package."""
    x, truth = data
    answers = {
        name: tf.saved_model.load(str(folder)).signatures["serving_default"](features=tf.constant(x))["label"].numpy()
        for name, folder in folders.items()
    }
    chosen, good, grade = answers["good"].ravel() == 1, truth >= 3, answers["grade"].ravel()
    print(f"\nThe exported models, asked about {len(x)} wines that they have not seen:")
    print(f"  {chosen.sum()} are predicted to be good: {np.mean(good[chosen]):.0%} of them are,", end=" ")
    print(f"and {np.mean(chosen[good]):.0%} of the good ones are found.")
    print(f"  The grade is right for {np.mean(grade == truth):.0%}, and at most one off for", end=" ")
    print(f"{np.mean(abs(grade - truth) <= 1):.0%}. For instance:")
    for k in [np.flatnonzero(truth == each)[0] for each in range(5)]:
        print(f"    quality {GRADES[truth[k]]:9}  {'good' if chosen[k] else 'not good':8}  quality {GRADES[grade[k]]}")


def write(results):
    """Writes the numbers and their figure, which holds the numbers' digest."""
    text = json.dumps(results) + "\n"
    (ARGUMENTS.output / "results.json").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    figure = ARGUMENTS.output / "demo.png"
    draw(results).savefig(figure, metadata={"Source": f"results.json, sha256 {digest}"})
    print(f"\nFigure: {figure}; each comparison: {ARGUMENTS.output}/good.html and grade.html")


def main():
    data = datasets.load("wine_quality", distinct=True)
    versions = {"tensorflow": tf.__version__, "keras": keras.__version__}
    results, folders = {"run": versions}, {}
    for name, question in {"good": good_wines, "grade": grades}.items():
        report = compared(question, data, name)
        results[name] = numbers(report)
        if name == "good":
            results["curves"] = curves(report)
        folders[name] = export_classifier(report.best, ARGUMENTS.export / name, threshold=report.best_decision)
    print(f"\n{table(results)}\n")
    for name, title in {"good": "Good wines.", "grade": "Grades."}.items():
        print(f"{title} {results[name]['verdict']} Exported: {folders[name]}")
    ask(folders, data.test)
    write(results)


if __name__ == "__main__":
    main()
