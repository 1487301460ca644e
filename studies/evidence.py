"""What the docs show of the studies: tables and numbers by the names of their marked places."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks import markdown
from benchmarks.speed import docs_page
from benchmarks.speed import results as speed
from studies.classes import report as classes
from studies.guided import report as guided
from studies.operating import SPLITS, small_batches
from studies.operating import images as operating_images
from studies.operating import report as operating
from studies.paper.plan import LABELS, TABULAR, Configuration
from studies.paper.report import claims as paper_claims
from studies.paper.report.numbers import in_paper, measured
from studies.recipes import plan
from studies.recipes.report import networks, numbers, tables


def _recipes(size: int) -> Callable[[Path], str]:
    def table(folder: Path) -> str:
        results = numbers.read(plan.TABULAR, (size,), folder)
        return tables.means(results, {name: method.label for name, method in plan.TABULAR.items()}, size)

    return table


def _claim(folder: Path) -> str:
    """The study's one claim: on how many data sets it holds, for each batch size, and on images."""
    rows = []
    for size in (1024, 128, 16):
        found = numbers.verdicts(numbers.read(plan.TABULAR, (size,), folder), size)
        failed = ", ".join(numbers.DATA[verdict.data] for verdict in found if not verdict.holds)
        rows.append([f"tables, batches of {size:,}", f"{sum(v.holds for v in found)} of {len(found)}", failed])
    for network, label in networks.LABELS.items():
        verdict = networks.verdict(folder, network)
        rows.append([f"CIFAR-10-Frog, {label}", f"{int(bool(verdict and verdict.holds))} of 1", ""])
    return markdown.table(["", "data sets on which it holds", "where it does not"], rows)


# The rows of the paper's results in short: loss, column.
_PAPER = {
    "`SoftF1`, mean over thresholds": ("f1_linear", "mean_f1"),
    "the paper's soft F1, mean over thresholds": (None, "mean_f1"),
    "cross-entropy, mean over thresholds": ("bce", "mean_f1"),
    "`SoftF1` at 0.5": ("f1_linear", "f1_at_half"),
    "cross-entropy at 0.5": ("bce", "f1_at_half"),
    "cross-entropy at its tuned threshold": ("bce", "f1_tuned"),
}


def _paper(folder: Path) -> str:
    rows = [
        [label, *(_paper_cell(loss, column, name, folder) for name in TABULAR)]
        for label, (loss, column) in _PAPER.items()
    ]
    return markdown.table(["F1 on test data", *(LABELS[name] for name in TABULAR)], rows)


def _paper_cell(loss: str | None, column: str, data: str, folder: Path) -> str:
    if loss is None:
        return f"{in_paper('1', data, 'f1_linear', column).mean:.2f}"
    return f"{measured(Configuration(data, loss), 'probabilities', column, folder).mean:.3f}"


def _paper_claims(folder: Path) -> str:
    """How often each of the paper's claims holds, does not hold or is undecided."""
    found: dict[str, list[str]] = {}
    for name, _, _, verdict in paper_claims.claims(folder):
        found.setdefault(name, []).append(verdict)
    kinds = ("holds", "**does not hold**", "undecided")
    rows = [
        [name, *(str(sum(verdict.startswith(kind) for verdict in verdicts)) for kind in kinds)]
        for name, verdicts in found.items()
    ]
    return markdown.table(["claim", "holds", "does not hold", "undecided"], rows)


_SHORT = ("bce", "bce_weighted", "focal", "dice", "f1", "f1_bce_1", "f1_bce_3", "f1_nine_bce_0.3")


def _recipes_in_short(folder: Path) -> str:
    results = numbers.read(plan.TABULAR, (1024,), folder)
    columns = {
        "f1_at_half": "F1 at 0.5",
        "f1_tuned": "tuned",
        "auroc": "AUROC",
        "calibration_error": "calibration error",
    }
    data = numbers.shared_data(results, 1024)
    rows = [
        [plan.TABULAR[name].label, *(f"{numbers.mean(results, name, 1024, each, data):.3f}" for each in columns)]
        for name in _SHORT
    ]
    return markdown.table(["means over eight data sets", *columns.values()], rows)


def _classes_in_short(folder: Path) -> str:
    rows = []
    for name, score in CLASSES:
        baseline = CLASSES[name, score]
        found = [
            classes.mean(name, score, *row, range(10), folder) for row in (("ce", baseline), (f"{score}+ce", "argmax"))
        ]
        decided = f"{classes.SCORES[score]}, {classes.LABELS[name]}"
        rows.append(
            [decided, f"{found[0]} ({baseline})", found[1], classes.gain(name, score, baseline, folder, sign="+")]
        )
    return markdown.table(["", "cross-entropy", "blend, plain argmax", "difference"], rows)


# The stronger decision of cross-entropy on validation data is what a blend is compared with.
CLASSES = {
    **{("wine_quality", score): "offsets" for score in ("kappa", "f1", "mcc")},
    **{("wine_quality_as_in_demo", score): "offsets" for score in ("kappa", "f1", "mcc")},
    **{("letter", score): "argmax" for score in ("f1", "mcc")},
}


def figures(folder: Path, images: Path) -> None:
    """Draws paired differences from cross-entropy, at operating points and with several classes."""
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "evidence"
    at_points = {
        f"{operating.DATA[data]}, {model}": operating.paired_difference(
            *(
                operating.by_trial(folder, data, model, "full", name)
                for name in ("precision_at_recall", "cross_entropy")
            )
        )
        for model in ("linear", "mlp")
        for data in operating.DATA
    }
    of_classes = {
        f"{classes.SCORES[score]}, {classes.LABELS[name]}": classes.gain(name, score, baseline, folder)
        for (name, score), baseline in CLASSES.items()
    }
    for name, gains, label in (
        ("operating", at_points, "PR area over recall 0.95 to 1, minus cross-entropy (points)"),
        ("classes", of_classes, "blend at the plain argmax, minus cross-entropy with its better decision"),
    ):
        figure, axis = plt.subplots(figsize=(8, 0.6 + 0.32 * len(gains)), constrained_layout=True)
        pairs = [[float(number) for number in text.split(" ± ")] for text in gains.values()]
        values, errors = zip(*pairs, strict=True)
        axis.errorbar(values, range(len(gains)), xerr=[2 * error for error in errors], fmt="o", color="#1b6ca8")
        axis.axvline(0, color="#888", linewidth=0.8)
        axis.set(yticks=range(len(gains)), yticklabels=list(gains), xlabel=f"{label}, ± two standard errors")
        axis.invert_yaxis()
        axis.tick_params(labelsize=8)
        axis.xaxis.label.set_size(8)
        images.mkdir(parents=True, exist_ok=True)
        figure.savefig(images / f"evidence_{name}.svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)


def _authors_error(folder: Path) -> str:
    return f"{measured(Configuration('adult_authors', 'f1_linear'), 'probabilities', 'mean_f1', folder).mean:.2f}"


def _cost(name: str) -> Callable[[Path], str]:
    return lambda folder: docs_page.loss_facts(speed.read("loss_speed"))[name]


MARKED: dict[str, Callable[[Path], str]] = {
    "operating linear": lambda folder: operating.table("linear", folder, SPLITS),
    "operating mlp": lambda folder: operating.table("mlp", folder, SPLITS),
    "operating images": operating_images.table,
    "small batches": small_batches.table,
    "classes wine_quality": lambda folder: classes.of_study("wine_quality", folder),
    "classes wine_quality_as_in_demo": lambda folder: classes.of_study("wine_quality_as_in_demo", folder),
    "classes letter": lambda folder: classes.of_study("letter", folder),
    "recipes 1024": _recipes(1024),
    "recipes images": networks.in_short,
    "recipes claim": _claim,
    "guided claims": guided.claims,
    "guided gains": guided.gains,
    "guided by F1": guided.by_f1,
    "guided few gain": guided.few_gain,
    "guided sum over guided": guided.sum_over_guided,
    "guided trained": guided.missing,
    "guided classes": guided.of_classes,
    "stuck masks": lambda folder: networks.of_unet(folder) or "",
    "paper in short": _paper,
    "paper claims": _paper_claims,
    "recipes in short": _recipes_in_short,
    "classes in short": _classes_in_short,
    "soft F1 on the ages of the authors": _authors_error,
    "cost linear": _cost("linear_ratios"),
    "cost weighted": _cost("weighted_linear_ratios"),
}
for _study in ("wine_quality", "wine_quality_by_score", "wine_quality_as_in_demo"):
    MARKED[f"kappa gain {_study}"] = lambda folder, name=_study: classes.gain(name, "kappa", "offsets", folder)
for _study in ("wine_quality", "wine_quality_as_in_demo"):
    MARKED[f"kappa bound {_study}"] = lambda folder, name=_study: classes.gain(name, "kappa", "bound", folder, sign="+")
for _score in ("f1", "mcc"):
    MARKED[f"{_score} gain letter"] = lambda folder, score=_score: classes.gain("letter", score, "argmax", folder)
for _row in (("ce", "offsets"), ("kappa+ce", "argmax")):
    MARKED[f"kappa unseen {_row[0].replace('+', ' ')}"] = lambda folder, row=_row: classes.mean(
        "wine_quality_as_in_demo", "kappa", *row, range(5, 10), folder
    )
for _batch in ("full", 512):
    MARKED[f"operating gain letter {_batch}"] = lambda folder, batch=_batch: operating.paired_difference(
        *(
            operating.by_trial(folder, "letter", "linear", batch, name)
            for name in ("precision_at_recall", "balanced_cross_entropy")
        )
    ).lstrip("+")
