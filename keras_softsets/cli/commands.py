"""The two commands: `compare table.csv --label churned`, and `tune predictions.csv`."""

from __future__ import annotations

import csv
import json
import pathlib
from typing import Any

import keras
import numpy as np

from keras_softsets._backend import WRITES_SAVED_MODELS
from keras_softsets._checks import check_folder
from keras_softsets.cli.features import features_of, inputs_of, preprocessing, usable_columns
from keras_softsets.cli.tables import Labels, check_rows, column_of, labels_of, numbers_of, read_table, split
from keras_softsets.comparison import compare
from keras_softsets.comparison._report import best_of
from keras_softsets.evaluation import evaluate
from keras_softsets.export import as_classifier, export_classifier
from keras_softsets.tuning import tune_threshold


def compare_table(given: Any) -> None:
    """Reads the table, compares, writes the report and the classifier."""
    table = read_table(given.table)
    values = column_of(table, given.label, "label")
    check_rows(len(values))
    labels = labels_of(given.label, values, given.positive)
    score, options = _scored(given, labels)
    groups = None if given.group is None else column_of(table, given.group, "group")
    for name in given.drop:
        column_of(table, name, "drop")
        if name == given.label:
            raise ValueError(f"`drop` must be a column besides the label. Received: drop={name}")
    kinds = usable_columns(table, [given.label, *given.drop, *([given.group] if given.group else [])])
    inputs, parts = inputs_of(table, kinds), split(labels.ids, groups)
    columns = preprocessing(inputs, kinds, parts[0])
    features = features_of(columns, inputs)
    output = check_folder("output", given.output)
    report = compare(
        lambda: network(features.shape[1], len(labels.names)),
        **_data(features, labels, parts),
        score=score,
        **options,
        seeds=given.seeds,
        epochs=given.epochs,
        batch_size=given.batch_size,
        folder=output / "runs",
    )
    path = report.save(output / "report.html")
    decision = report.task.deciding(report.best_decision)
    classifier = keras.Model(columns.inputs, report.best(columns.output), name="classifier")
    exported = _exported(classifier, output, decision)
    (output / "labels.json").write_text(json.dumps(dict(enumerate(labels.names)), indent=1, ensure_ascii=False))
    print(f"{report}\n\nLabels: {', '.join(f'{k} is {name}' for k, name in enumerate(labels.names))}.")
    print(f"{best_of(report)}\nReport: {path}\nClassifier: {exported}")


def _exported(classifier: keras.Model, output: pathlib.Path, decision: Any) -> pathlib.Path | str:
    """A SavedModel, or where there is none, a file of Keras; returns where it is."""
    if WRITES_SAVED_MODELS:
        return export_classifier(classifier, output / "classifier", decision)
    path = output / "classifier.keras"
    as_classifier(classifier, threshold=decision).save(path)
    return path


def network(features: int, classes: int) -> keras.Model:
    """Returns the network: two hidden layers with dropout."""
    inputs = x = keras.Input((features,), name="features")
    for units in (64, 32):
        x = keras.layers.Dropout(0.1)(keras.layers.Dense(units, "relu")(x))
    head = keras.layers.Dense(1, "sigmoid") if classes == 2 else keras.layers.Dense(classes, "softmax")
    return keras.Model(inputs, head(x), name="network")


def _data(features: np.ndarray, labels: Labels, parts: Any) -> dict[str, Any]:
    binary = len(labels.names) == 2
    y = labels.ids.astype("float32")[:, None] if binary else labels.ids
    return {name: (features[rows], y[rows]) for name, rows in zip(("train", "validation", "test"), parts)}


def _scored(given: Any, labels: Labels) -> tuple[str, dict[str, Any]]:
    """The score that is wanted, and its arguments."""
    classes = len(labels.names)
    if given.costs is None:
        _check_score(given.score, labels)
        return given.score, {"weights": "quadratic"} if given.score == "kappa" else {}
    if len(given.costs) != classes:
        raise ValueError(
            f"`costs` must have {classes**2} numbers for the labels {', '.join(labels.names[:10])}: a row for "
            f"each true label, in this order. Received: {len(given.costs) ** 2} numbers"
        )
    return "cost" if classes == 2 else "multiclass_cost", {"costs": given.costs}


_OF_CLASSES = {"cohen_kappa": "kappa", "mcc": "multiclass_mcc", "accuracy": "multiclass_accuracy"}


def _check_score(score: str, labels: Labels) -> None:
    """Raises for a score of two classes if there are more, whose mean over classes nobody means, and the reverse."""
    classes = len(labels.names)
    others = _OF_CLASSES if classes > 2 else {several: two for two, several in _OF_CLASSES.items()}
    if score in others:
        raise ValueError(
            f"`score` must be {others[score]} for {classes} classes. "
            f"Received: score={score}, labels {', '.join(labels.names[:10])}"
        )


_FEW = 20  # positives


def tune_predictions(given: Any) -> None:
    """Reads the predictions, finds the threshold, and says how sure its score is."""
    table = read_table(given.table)
    values = column_of(table, given.label, "label")
    if given.positive is None and len(set(values)) > 2:
        raise ValueError(
            "`label` must have two values, or `--positive` say which one the probability is of. "
            f"Received: {given.label} with {len(set(values))} values"
        )
    p = _probabilities(given.probability, column_of(table, given.probability, "probability"))
    labels = labels_of(given.label, values, given.positive, fewest=1)
    y, rules = labels.ids, dict(given.at_least)
    score, options = _scored(given, labels)
    found: Any = tune_threshold(y, p, score, at_least=rules or None, curve=True, **options)
    threshold = float(found.threshold)
    estimate = evaluate(y, p, score, threshold=threshold, interval=0.95, **options)
    print(f"Positive is {labels.names[1]!r}: {int(y.sum()):,} of {len(y):,} rows.")
    print(f"Threshold {threshold:.6g}: {score} {estimate} (95 % interval)")
    for name in rules:
        print(f"  {name} {evaluate(y, p, name, threshold=threshold, interval=0.95)}")
    print(f"At 0.5: {score} {evaluate(y, p, score, interval=0.95, **options)}")
    if options:
        print("The score is minus the mean cost of a row.")
    print("These rows chose the threshold, so its score looks a little too good: report it on other rows.")
    if (positives := int(y.sum())) < _FEW:
        print(f"Only {positives} positive{'s' * (positives > 1)}: the threshold itself may be far off.")
    if given.output:
        _write(given.output, score, found.curve)


def _probabilities(name: str, values: list[str]) -> np.ndarray:
    p = numbers_of(values)
    if p is None or not np.all((p >= 0) & (p <= 1)):
        wrong = "text" if p is None else "missing values" if np.isnan(p).any() else f"{p.min():g} to {p.max():g}"
        raise ValueError(
            f"`probability` must be a column of numbers from 0 to 1; of log odds z, take 1 / (1 + exp(-z)). "
            f"Received: {name} with {wrong}"
        )
    return p


def _write(path: str, score: str, curve: Any) -> None:
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["threshold", score])
        writer.writerows(zip(curve.thresholds.tolist(), curve.scores.tolist()))
    print(f"Score at every threshold: {path}")
