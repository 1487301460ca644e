"""How the tables look: their titles, columns and rows, and which of the paper's rows stands beside which of ours."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.paper.configurations import ADULT_TWICE, BATCH_SIZES, IMAGES, SYNTHETIC, TABULAR

DATASETS = {
    "cocktail_party": "CocktailParty",
    "adult": "Adult",
    "adult_published": "Adult, as the authors' code reads it",
    "mammography": "Mammography",
    "creditcard_fraud": "Kaggle",
    "synthetic_05": "Synthetic 5 %",
    "synthetic_33": "Synthetic 33 %",
    "cifar10_transportation": "CIFAR-10-Transportation",
    "cifar10_frog": "CIFAR-10-Frog",
}
COLUMNS = {
    "mean_f1": "F1",
    "mean_accuracy": "accuracy",
    "mean_balanced_accuracy": "balanced accuracy",
    "mean_f2": "F2",
    "mean_f3": "F3",
    "mean_precision": "precision",
    "mean_recall": "recall",
    "f1_at_half": "F1 at 0.5",
    "f1_tuned": "F1 at tuned threshold",
    "auroc": "true AUROC",
    "auprc": "AUPRC",
    "best_epoch": "best epoch",
    "epochs": "epochs trained",
}


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        label: What it is called.
        loss: What was trained on.
        reading: How outputs are read.
        paper: The row of the paper that stands beside it, if any.
        paper_table: The table of the paper that has that row. Defaults to `None`, the table of the same name.
        start: Whose initial weights the network has.
    """

    label: str
    loss: str
    reading: str = "probabilities"
    paper: str | None = None
    paper_table: str | None = None
    start: str = "keras"


class Table(NamedTuple):
    """A table, repeated for each data set."""

    name: str
    title: str
    datasets: tuple[str, ...]
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    balance: str = "none"
    batch_size: int = 1024


def _row(label: str, loss: str, reading: str = "probabilities") -> Row:
    return Row(label, loss, reading, loss)


ADVERSARIAL = (
    _row("adversarial F1 (AP-Perf), as published (logits)", "adversarial_f1", "logits"),
    Row("adversarial F1 (AP-Perf), probabilities", "adversarial_f1"),
)
BCE = (Row("BCE, as published (logits)", "bce", "logits", "bce"), Row("BCE (probabilities)", "bce"))
WMW = (Row("WMW, as published", "wmw_published", "logits", "wmw"), Row("WMW, corrected", "wmw"))
SOFT = {
    "f1_linear": "soft F1, linear",
    "f1_sigmoid": "soft F1, sigmoid",
    "accuracy_linear": "soft accuracy, linear",
    "accuracy_sigmoid": "soft accuracy, sigmoid",
    "auroc_linear": "soft AUROC, linear",
    "auroc_sigmoid": "soft AUROC, sigmoid",
    "f2_linear": "soft F2, linear",
    "f3_linear": "soft F3, linear",
}


def _soft(*losses: str) -> tuple[Row, ...]:
    return tuple(_row(SOFT[loss], loss) for loss in losses)


_DIRECT = ("mean_f1", "mean_accuracy", "mean_balanced_accuracy")
_MORE = ("mean_f1", "f1_at_half", "f1_tuned", "auroc", "auprc", "best_epoch")
_PAIRS = (*_soft("f1_linear", "f1_sigmoid", "accuracy_linear", "accuracy_sigmoid"), *BCE)


def _direct(heaviside: str) -> tuple[Row, ...]:
    f1, accuracy, auroc = _soft(*(f"{name}_{heaviside}" for name in ("f1", "accuracy", "auroc")))
    return (f1, *ADVERSARIAL, accuracy, auroc, *WMW, *BCE)


LAYOUT = (
    Table("1", "Table 1: losses on tabular data (linear approximation)", ADULT_TWICE, _direct("linear"), _DIRECT),
    Table("sigmoid", "Supplement: the same with the sigmoid approximation", ADULT_TWICE, _direct("sigmoid"), _DIRECT),
    Table(
        "more",
        "What the paper does not report: decisions at one threshold, and rankings",
        TABULAR,
        tuple(
            row._replace(paper=None)
            for row in (
                *_soft("f1_linear", "accuracy_linear", "auroc_linear", "f1_sigmoid", "auroc_sigmoid"),
                ADVERSARIAL[1],
                WMW[1],
                BCE[1],
            )
        ),
        _MORE,
    ),
    Table(
        "fbeta",
        "Table 3 and supplement: precision against recall by F-beta",
        ("mammography", "adult", "creditcard_fraud", "cocktail_party"),
        _soft("f1_linear", "f2_linear", "f3_linear"),
        ("mean_f1", "mean_f2", "mean_f3", "mean_precision", "mean_recall"),
    ),
    *(
        Table(
            f"batch {size}",
            f"Supplement: batch size {size}",
            SYNTHETIC,
            _PAIRS,
            ("mean_f1", "mean_accuracy"),
            batch_size=size,
        )
        for size in BATCH_SIZES
    ),
    Table(
        "published",
        "Why the sigmoid collapsed: soft F1 by the paper's equations and by the authors' code (torch-btg 0.0.1)",
        ("mammography", "synthetic_05"),
        (
            *_soft("f1_linear", "f1_sigmoid"),
            Row("soft F1, linear, authors' code", "f1_linear_published"),
            Row("soft F1, sigmoid, authors' code", "f1_sigmoid_published"),
        ),
        ("mean_f1", "mean_accuracy", "mean_precision", "mean_recall", "auroc"),
    ),
    Table(
        "auroc",
        "Soft AUROC on the synthetic data (not in the paper)",
        SYNTHETIC,
        tuple(row._replace(paper=None) for row in (*_soft("auroc_linear", "auroc_sigmoid"), BCE[1])),
        ("mean_balanced_accuracy", "auroc", "auprc"),
    ),
    Table(
        "start",
        "Why soft accuracy gives up more often than in the paper: the initial weights",
        ("creditcard_fraud",),
        tuple(
            row._replace(label=f"{row.label}, {owner}'s initial weights", start=owner.lower(), paper_table=table)
            for row, table in zip(_soft("accuracy_linear", "accuracy_sigmoid"), ("1", "sigmoid"), strict=True)
            for owner in ("Keras", "PyTorch")
        ),
        ("mean_f1", "mean_accuracy", "mean_balanced_accuracy", "f1_tuned"),
    ),
    Table(
        "baselines",
        "Supplement: other baselines",
        TABULAR,
        (
            _row("Dice on logits", "dice_logits", "logits"),
            Row("Dice on logits, authors' code", "dice_logits_published", "logits", "dice_logits"),
            Row("Dice on probabilities", "dice"),
            _row("SVM for the error rate", "svm_error", "decision"),
            _row("SVM for F1", "svm_f1", "decision"),
            _row("SVM for the ROC area", "svm_roc", "decision"),
        ),
        ("mean_accuracy", "mean_f1", "mean_balanced_accuracy", "f1_tuned", "auroc"),
    ),
    Table(
        "weighted",
        "Supplement: weighted losses",
        ADULT_TWICE,
        _PAIRS,
        ("mean_f1", "mean_accuracy", "f1_tuned"),
        "weighted",
    ),
    Table(
        "oversampled",
        "Supplement: oversampling",
        TABULAR,
        _PAIRS,
        ("mean_f1", "mean_accuracy", "f1_tuned"),
        "oversampled",
    ),
    Table(
        "cifar10",
        "Table 2 and supplement: CIFAR-10 with Tiny Darknet",
        IMAGES,
        (
            *_soft("f1_linear", "accuracy_linear"),
            *BCE,
            _row("Dice on logits", "dice_logits", "logits"),
            _row("Dice on probabilities", "dice"),
        ),
        ("mean_f1", "mean_accuracy", "f1_at_half", "f1_tuned", "auroc", "epochs"),
    ),
)

# Why a row may have fewer than ten trials; anything else is only waiting for its turn.
REASONS = {
    "adversarial_f1": "The adversarial F1 has as many trials as n says, of five minutes of one core each: AP-Perf "
    "needs 0.1 s for a batch of 20. `python -m benchmarks.paper --table adversarial` runs all ten.",
    "cifar10": "Rows have as many trials as n says, of 15 minutes of processor time each: ten of them took two cores "
    "of a shared machine 99 minutes. They were trained while the network still started with Keras's initial weights; "
    "the next table has it as it is now. On a GPU `python -m benchmarks.paper --table cifar10` runs the full protocol.",
}
