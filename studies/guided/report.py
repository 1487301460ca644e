"""What the pages show of guided losses: the claim, data set by data set, and what has not been trained yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import markdown
from studies.classes import plan as classes
from studies.classes import report as classes_report
from studies.classes.study import STUDY as CLASSES
from studies.engine.tabular import DATA
from studies.guided import images, tables
from studies.harness.store import RESULTS, Line
from studies.images import frog
from studies.recipes.plan import STUDY as RECIPES

F1_MARGIN, AUROC_MARGIN, CLASSES_MARGIN = 0.005, 0.002, 0.005
LABELS = {"bce": "BCE", "bce_weighted": "balanced BCE", "f1_bce_1": "SoftF1 + BCE"} | {
    name: method.label for name, method in tables.METHODS.items()
}
Trials = Mapping[int, Line]


class Place(NamedTuple):
    """Where methods are compared: a data set and a batch size."""

    data: str
    batch_size: int

    def __str__(self) -> str:
        return f"{(DATA | tables.FEW_DATA)[self.data]}, {self.batch_size:,}"


def trials(place: Place, method: str, folder: Path = RESULTS) -> Trials:
    """Returns the trials of a method, by number: those of the study of recipes, or of this one."""
    study = tables.STUDY if method in tables.METHODS else RECIPES
    study = tables.FEW_STUDY if place.data in tables.FEW_DATA else study
    rows = study.store(folder).grouped("data", "batch_size", "method").get((*place, method), [])
    return {row["trial"]: row for row in rows if row["trial"] < study.trials}


def complete(folder: Path, methods: Iterable[str] = tables.DECISIVE) -> list[Place]:
    """Returns the places where some methods have all trials."""
    every = [Place(data, size) for size in tables.BATCH_SIZES for data in DATA]
    return [p for p in every if all(len(trials(p, name, folder)) == tables.STUDY.trials for name in methods)]


def mean(found: Trials, column: str) -> float:
    """Returns the mean of a column over trials."""
    return float(np.mean([line[column] for line in found.values()]))


def holds(guided: Trials, bce: Trials) -> bool:
    """Whether a guided loss decides at 0.5 like a tuned BCE, and ranks like BCE."""
    decides = mean(guided, "f1_at_half") >= mean(bce, "f1_tuned") - F1_MARGIN
    return decides and mean(guided, "auroc") >= mean(bce, "auroc") - AUROC_MARGIN


def claim(folder: Path = RESULTS) -> str:
    """Returns the claim: places by the means that decide it, for both guided losses, where either has all trials."""
    rows = []
    for place in dict.fromkeys(p for name in tables.DECISIVE for p in complete(folder, [name])):
        bce, row = trials(place, "bce", folder), []
        for name in tables.DECISIVE:
            row += _judged(trials(place, name, folder) if place in complete(folder, [name]) else {}, bce)
        rows.append([str(place), f"{mean(bce, 'f1_tuned'):.3f} / {mean(bce, 'auroc'):.3f}", *row])
    heads = [head for name in tables.DECISIVE for head in (f"{LABELS[name]} at 0.5", "claim")]
    return markdown.table(["F1 / AUROC", "BCE, tuned", *heads], rows)


def claims(folder: Path = RESULTS) -> str:
    """Returns on how many data sets the claim holds, for both guided losses, by batch size."""
    rows = []
    for size in tables.BATCH_SIZES:
        cells = []
        for name in tables.DECISIVE:
            places = [place for place in complete(folder, [name]) if place.batch_size == size]
            failed = [p for p in places if not holds(trials(p, name, folder), trials(p, "bce", folder))]
            cells += [f"{len(places) - len(failed)} of {len(places)}", ", ".join(DATA[place.data] for place in failed)]
        rows.append([f"batches of {size:,}", *cells])
    heads = [head for name in tables.DECISIVE for head in (f"{LABELS[name]}: holds", "where it does not")]
    return markdown.table(["data sets", *heads], rows)


GAINS = ("bce", "bce_weighted", "f1_bce_1", "guided", "f1_guided_1")


def gains(folder: Path = RESULTS) -> str:
    """Returns F1 at 0.5 minus that of BCE at its tuned threshold, and AUROC minus BCE's: means over data sets."""
    whole = {size: [Place(data, size) for data in DATA] for size in tables.BATCH_SIZES}
    few = [Place(data, 128) for data in tables.FEW_DATA]
    columns = {
        **{f"F1, batches of {size:,}": (places, "f1_at_half", "f1_tuned") for size, places in whole.items()},
        "F1, a thousand rows": (few, "f1_at_half", "f1_tuned"),
        "AUROC, whole tables": ([place for places in whole.values() for place in places], "auroc", "auroc"),
        "AUROC, a thousand rows": (few, "auroc", "auroc"),
    }
    rows = [[LABELS[name], *(_mean_gain(name, *each, folder) for each in columns.values())] for name in GAINS]
    return markdown.table(["at 0.5, minus BCE tuned", *columns], rows)


def few_gain(folder: Path = RESULTS) -> str:
    """Returns by how much `loss_for` at 0.5 is above a tuned BCE in F1, with a thousand rows."""
    places = [Place(data, 128) for data in tables.FEW_DATA]
    return _mean_gain("f1_guided_1", places, "f1_at_half", "f1_tuned", folder).lstrip("+")


def sum_over_guided(folder: Path = RESULTS) -> str:
    """Returns by how much SoftF1 + guided is above guided alone, in F1 at 0.5 with a thousand rows."""
    pairs = [[trials(Place(data, 128), name, folder) for name in tables.DECISIVE] for data in tables.FEW_DATA]
    return _with_error([mean(both, "f1_at_half") - mean(alone, "f1_at_half") for alone, both in pairs]).lstrip("+")


def by_f1(folder: Path = RESULTS) -> str:
    """Returns F1 at 0.5 where the epoch is chosen by the loss, by the hard F1, and the difference."""
    places, rows = [Place(data, 128) for data in tables.FEW_DATA], []
    for name in ("bce", *tables.DECISIVE):
        by_loss, by_score = (
            [mean(trials(place, each, folder), "f1_at_half") for place in places] for each in (name, f"{name}_by_f1")
        )
        lost = _with_error(np.subtract(by_score, by_loss))
        rows.append([LABELS[name], f"{np.mean(by_loss):.3f}", f"{np.mean(by_score):.3f}", lost])
    return markdown.table(["F1 at 0.5", "epoch chosen by the loss", "by F1", "difference"], rows)


def _mean_gain(name: str, places: Iterable[Place], column: str, of_bce: str, folder: Path) -> str:
    pairs = [(trials(place, name, folder), trials(place, "bce", folder)) for place in places]
    return _with_error(
        [float(np.mean([ours[k][column] - bce[k][of_bce] for k in ours])) for ours, bce in pairs if ours and bce]
    )


def _with_error(values: Sequence[float] | np.ndarray) -> str:
    """Returns a mean over data sets and its standard error."""
    if not np.any(values):
        return "0"
    return f"{np.mean(values):+.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def _judged(guided: Trials, bce: Trials) -> list[str]:
    if not guided:
        return ["", ""]
    verdict = "holds" if holds(guided, bce) else "**does not hold**"
    return [f"{mean(guided, 'f1_at_half'):.3f} / {mean(guided, 'auroc'):.3f}", verdict]


def means(folder: Path = RESULTS) -> str:
    """Returns methods by columns for each place with results: means over trials."""
    rows = []
    for place in dict.fromkeys(p for name in tables.METHODS for p in complete(folder, [name])):
        for name, label in LABELS.items():
            if found := trials(place, name, folder):
                shifted = mean(found, "shifted_calibration_error") if name == "guided" else None
                columns = ("f1_at_half", "f1_tuned", "auroc", "auprc", "calibration_error")
                cells = [f"{mean(found, column):.3f}" for column in columns]
                rows.append([str(place), label, *cells, "" if shifted is None else f"{shifted:.3f}"])
    heads = ["", "", "F1 at 0.5", "tuned", "AUROC", "AUPRC", "calibration error", "after the shift"]
    return markdown.table(heads, rows)


def few(folder: Path = RESULTS) -> str:
    """Returns F1 at 0.5 / tuned, and AUROC, of every method on each data set with a thousand rows."""
    places, rows = [Place(data, 128) for data in tables.FEW_DATA], []
    for name, method in tables.FEW_METHODS.items():
        found = [trials(place, name, folder) for place in places]
        columns = ("f1_at_half", "f1_tuned", "auroc")
        rows.append([method.label, *(" / ".join(f"{mean(t, column):.3f}" for column in columns) for t in found)])
    return markdown.table(["F1 at 0.5 / tuned / AUROC", *tables.FEW_DATA.values()], rows)


def missing(folder: Path = RESULTS) -> str:
    """Says how much of the plan is trained."""
    decisive = [Place(data, size) for size in tables.BATCH_SIZES for data in DATA]
    on_tables = sum(len(trials(place, name, folder)) for place in decisive for name in tables.DECISIVE)
    every = len(decisive) * len(tables.DECISIVE) * tables.STUDY.trials
    store, studies = CLASSES.store(folder), {name: s for name, s in classes.STUDIES.items() if s.guided}
    found = store.grouped("study", "method", "trial")
    several = sum((name, method, k) in found for name, s in studies.items() for method in s.guided for k in range(10))
    planned = sum(len(study.guided) for study in studies.values()) * classes.SEEDS
    seen = [frog.finished(images.STUDY.store(folder), images.EPOCHS, method=name) for name in images.METHODS]
    return (
        f"{on_tables} of {every} trials on tables, {several} of {planned} with several classes, and "
        f"{sum(map(len, seen))} of {len(images.METHODS) * images.TRIALS} on images"
    )


def of_classes(folder: Path = RESULTS) -> str:
    """Returns `loss_for` at the plain argmax beside cross-entropy at its best decision, where all trials are there."""
    rows = []
    for name, study in classes.STUDIES.items():
        for score in ("kappa", "f1"):
            if f"{score}+guided" in study.guided and (row := _classes_row(name, score, folder)):
                rows.append([f"{classes_report.SCORES[score]}, {classes_report.LABELS[name]}", *row])
    heads = ["", "cross-entropy", "regression, cut points", "`loss_for`, plain argmax", "claim"]
    return markdown.table(heads, rows)


def _classes_row(name: str, score: str, folder: Path) -> list[str] | None:
    def value(method: str, decision: str) -> float | None:
        rows = CLASSES.store(folder).grouped("study", "score", "method", "decision")
        found = rows.get((name, score, method, decision), [])
        return float(np.mean([row["value"] for row in found])) if len(found) == classes.SEEDS else None

    decisions = ("argmax", "offsets", classes.ONE_NUMBER, classes.AUTO)
    baselines = {decision: value("ce", decision) for decision in decisions}
    cuts, ours = value("regression", "offsets") if score == "kappa" else None, value(f"{score}+guided", "argmax")
    known = {decision: found for decision, found in baselines.items() if found is not None}
    if ours is None or len(known) < len(decisions) or (score == "kappa" and cuts is None):
        return None
    best = max(known, key=lambda decision: known[decision])
    right = ours >= max(known[best], cuts or 0.0) - CLASSES_MARGIN
    shown = [f"{known[best]:.3f} ({best})", "" if cuts is None else f"{cuts:.3f}", f"{ours:.3f}"]
    return [*shown, "holds" if right else "**does not hold**"]


def page(folder: Path = RESULTS) -> str:
    """Returns the long tables."""
    return (
        "\n\n".join(
            [
                "# Guided losses",
                "Written by `python -m studies report` from `guided.csv` and `recipes.csv`; the protocol is in\n"
                "`studies/guided/__init__.py`. Test data, means over ten paired trials.",
                f"Trained so far: {missing(folder)}.",
                "## The claim",
                claim(folder),
                "## A thousand rows",
                few(folder),
                by_f1(folder),
                "## All columns",
                means(folder),
                "## Several classes",
                of_classes(folder),
            ]
        )
        + "\n"
    )
