"""The rows of tables: what was trained, how its outputs are read, and which of the paper's rows belongs to it."""

from __future__ import annotations

from typing import NamedTuple

ADVERSARIAL_TABLE = "adversarial"


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        label: What it is called.
        loss: What was trained on.
        reading: How outputs are read.
        paper: The row of the paper that is shown beside it, if any.
        paper_table: The table of the paper that has that row. Defaults to `None`, the table of the same name.
        start: Whose initial weights the network has.
        trained_by: The `--table` that trains it. Defaults to `None`, the table that has the row.
        balance: How it treats the classes' sizes. Defaults to `None`, as its table does.
    """

    label: str
    loss: str
    reading: str = "probabilities"
    paper: str | None = None
    paper_table: str | None = None
    start: str = "keras"
    trained_by: str | None = None
    balance: str | None = None


def paired(label: str, loss: str, reading: str = "probabilities") -> Row:
    """Returns a row that the paper has under the name of its loss."""
    return Row(label, loss, reading, loss)


def soft(*losses: str) -> tuple[Row, ...]:
    """Returns the rows of set losses."""
    return tuple(paired(SOFT[loss], loss) for loss in losses)


def unpaired(*rows: Row) -> tuple[Row, ...]:
    """Returns rows for a table that the paper does not have."""
    return tuple(row._replace(paper=None) for row in rows)


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
# In tables of networks that take seconds, but trained only on request: it takes hours, and an extra package.
ADVERSARIAL = tuple(
    row._replace(trained_by=ADVERSARIAL_TABLE)
    for row in (
        paired("adversarial F1 (AP-Perf), authors' code (logits)", "adversarial_f1", "logits"),
        Row("adversarial F1 (AP-Perf), probabilities", "adversarial_f1"),
    )
)
BCE = (Row("BCE, authors' code (logits)", "bce", "logits", "bce"), Row("BCE (probabilities)", "bce"))
BALANCED_BCE = Row("balanced BCE (probabilities)", "bce", balance="weighted", trained_by="weighted")
WMW = (Row("WMW, authors' code", "wmw_authors", "logits", "wmw"), Row("WMW, corrected", "wmw"))
PAIRS = (*soft("f1_linear", "f1_sigmoid", "accuracy_linear", "accuracy_sigmoid"), *BCE)
DICE = paired("Dice on logits", "dice_logits", "logits")
BASELINES = (
    DICE,
    Row("Dice on logits, authors' code", "dice_logits_authors", "logits", "dice_logits"),
    Row("Dice on probabilities", "dice"),
    paired("SVM for the error rate", "svm_error", "decision"),
    paired("SVM for F1", "svm_f1", "decision"),
    paired("SVM for the ROC area", "svm_roc", "decision"),
)
IMAGE_ROWS = (*soft("f1_linear", "accuracy_linear"), *BCE, DICE, paired("Dice on probabilities", "dice"))
# Ten networks of each of these start with weights other than Keras's.
STARTS = tuple(
    row._replace(label=f"{row.label}, {owner}'s initial weights", start=owner.lower(), paper_table=table)
    for row, table in zip(soft("accuracy_linear", "accuracy_sigmoid"), ("1", "sigmoid"), strict=True)
    for owner in ("Keras", "PyTorch")
)
PHANTOMS = (
    *soft("f1_linear", "f1_sigmoid"),
    Row("soft F1, linear, authors' code", "f1_linear_authors"),
    Row("soft F1, sigmoid, authors' code", "f1_sigmoid_authors"),
)


def direct(heaviside: str) -> tuple[Row, ...]:
    """Returns the rows of table 1, with the linear or the sigmoid approximation."""
    f1, accuracy, auroc = soft(*(f"{name}_{heaviside}" for name in ("f1", "accuracy", "auroc")))
    return (f1, *ADVERSARIAL, accuracy, auroc, *WMW, *BCE, BALANCED_BCE)
