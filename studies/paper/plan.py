"""What is trained, and which table shows it: a table says what it needs, and what several share is trained once."""

from __future__ import annotations

from typing import NamedTuple

TRIALS = 10
BATCH_SIZE = 1024


class Configuration(NamedTuple):
    """One loss on one data set, trained over all trials.

    Attributes:
        data: A name of `keras_softsets.datasets`, or of `datasets.READ_BY_AUTHORS`.
        loss: A name of `objectives.OBJECTIVES`, or `"adversarial_f1"`, `"svm_..."`.
        balance: `"none"`, `"weighted"` or `"oversampled"`.
        batch_size: Samples in a batch.
        start: Whose initial weights the network has, `"keras"` or `"pytorch"`.
    """

    data: str
    loss: str
    balance: str = "none"
    batch_size: int = BATCH_SIZE
    start: str = "keras"


TABULAR = ("cocktail_party", "adult", "mammography", "creditcard_fraud")
SYNTHETIC = ("synthetic_05", "synthetic_33")
IMAGES = ("cifar10_transportation", "cifar10_frog")
# Data as the authors' code reads them, and the original data set; shown beside it where the difference matters most.
READ_BY_AUTHORS = {"adult_authors": "adult"}
ADULT_TWICE = ("cocktail_party", "adult", "adult_authors", "mammography", "creditcard_fraud")

LABELS = {
    "cocktail_party": "CocktailParty",
    "adult": "Adult",
    "adult_authors": "Adult, as the authors' code reads it",
    "mammography": "Mammography",
    "creditcard_fraud": "Kaggle",
    "synthetic_05": "Synthetic 5 %",
    "synthetic_33": "Synthetic 33 %",
    "cifar10_transportation": "CIFAR-10-Transportation",
    "cifar10_frog": "CIFAR-10-Frog",
}


NETWORKS = {
    "tiny_darknet": "Tiny Darknet",
    "tiny_darknet_keras": "Tiny Darknet, Keras's initial weights",
    "yolov3_tiny": "backbone of YOLOv3-tiny",
}
# The labels of losses, by loss and balance.
LOSSES = {
    ("f1_linear", "none"): "soft F1, linear",
    ("f1_linear_mean", "none"): "soft F1, linear, mean over thresholds",
    ("bce", "none"): "BCE (probabilities)",
    ("bce", "weighted"): "balanced BCE (probabilities)",
}
CONFIGURATIONS = [Configuration(dataset, loss, balance) for dataset in IMAGES for loss, balance in LOSSES]
# The labels of soft F1, by loss and network.
SOFT_F1 = {
    (loss, network): f"{label}{suffix}"
    for network, label in NETWORKS.items()
    for loss, suffix in (("f1_linear", ""), ("f1_linear_mean", ", mean over thresholds"))
}


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        label: What it is called.
        loss: What was trained on.
        reading: How outputs are read.
        paper: The row of the paper that is shown beside it, if any.
        paper_table: The table of the paper that has that row. Defaults to `None`, the table of the same name.
        start: Whose initial weights the network has.
        balance: How it treats the classes' sizes. Defaults to `None`, as its table does.
    """

    label: str
    loss: str
    reading: str = "probabilities"
    paper: str | None = None
    paper_table: str | None = None
    start: str = "keras"
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
ADVERSARIAL = (  # takes hours, and an extra package
    paired("adversarial F1 (AP-Perf), authors' code (logits)", "adversarial_f1", "logits"),
    Row("adversarial F1 (AP-Perf), probabilities", "adversarial_f1"),
)
BCE = (Row("BCE, authors' code (logits)", "bce", "logits", "bce"), Row("BCE (probabilities)", "bce"))
BALANCED_BCE = Row("balanced BCE (probabilities)", "bce", balance="weighted")
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


class Table(NamedTuple):
    """A table, repeated for each data set.

    Attributes:
        name: Among the paper's numbers, unless `paper_name` says otherwise; several tables may share it.
        title: Its heading.
        datasets: The data sets for which it is repeated.
        rows: What is compared.
        columns: Which metrics, names of `COLUMNS`.
        balance: Of its configurations, unless a row has its own.
        batch_size: Of all its configurations.
        paper_name: Its name among the paper's numbers. Defaults to `None`, the same.
    """

    name: str
    title: str
    datasets: tuple[str, ...]
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    balance: str = "none"
    batch_size: int = BATCH_SIZE
    paper_name: str | None = None

    def configuration(self, dataset: str, row: Row) -> Configuration:
        """Returns what a row is trained as."""
        return Configuration(dataset, row.loss, row.balance or self.balance, self.batch_size, row.start)

    def paper_key(self, row: Row) -> str:
        """Returns which table of the paper has the row that is shown beside `row`."""
        return row.paper_table or self.paper_name or self.name


_DIRECT = ("mean_f1", "mean_accuracy", "mean_balanced_accuracy")
_BALANCED = ("mean_f1", "mean_accuracy", "f1_tuned")

TABLES = (
    Table("1", "Table 1: losses on tabular data (linear approximation)", ADULT_TWICE, direct("linear"), _DIRECT),
    Table("sigmoid", "Supplement: the same with the sigmoid approximation", ADULT_TWICE, direct("sigmoid"), _DIRECT),
    Table(
        "more",
        "What the paper does not report: decisions at one threshold, and rankings",
        TABULAR,
        unpaired(
            *soft("f1_linear", "accuracy_linear", "auroc_linear", "f1_sigmoid", "auroc_sigmoid"),
            ADVERSARIAL[1],
            WMW[1],
            BCE[1],
            BALANCED_BCE,
        ),
        ("mean_f1", "f1_at_half", "f1_tuned", "auroc", "auprc", "best_epoch"),
    ),
    Table(
        "fbeta",
        "Table 3 and supplement: precision against recall by F-beta",
        ("mammography", "adult", "creditcard_fraud", "cocktail_party"),
        soft("f1_linear", "f2_linear", "f3_linear"),
        ("mean_f1", "mean_f2", "mean_f3", "mean_precision", "mean_recall"),
    ),
    *(
        Table(
            "batch",
            f"Supplement: batch size {size}",
            SYNTHETIC,
            PAIRS,
            ("mean_f1", "mean_accuracy"),
            batch_size=size,
            paper_name=f"batch {size}",
        )
        for size in (128, 1024, 2048, 4096)
    ),
    Table(
        "authors",
        "Why the sigmoid collapsed: soft F1 by the paper's equations and by the authors' code (torch-btg 0.0.1)",
        ("mammography", "synthetic_05"),
        PHANTOMS,
        ("mean_f1", "mean_accuracy", "mean_precision", "mean_recall", "auroc"),
    ),
    Table(
        "auroc",
        "Soft AUROC on the synthetic data (not in the paper)",
        SYNTHETIC,
        unpaired(*soft("auroc_linear", "auroc_sigmoid"), BCE[1]),
        ("mean_balanced_accuracy", "auroc", "auprc"),
    ),
    Table(
        "start",
        "Why soft accuracy gives up more often than in the paper: the initial weights",
        ("creditcard_fraud",),
        STARTS,
        (*_DIRECT, "f1_tuned"),
    ),
    Table(
        "baselines",
        "Supplement: other baselines",
        TABULAR,
        BASELINES,
        ("mean_accuracy", "mean_f1", "mean_balanced_accuracy", "f1_tuned", "auroc"),
    ),
    Table("weighted", "Supplement: weighted losses", ADULT_TWICE, PAIRS, _BALANCED, "weighted"),
    Table("oversampled", "Supplement: oversampling", TABULAR, PAIRS, _BALANCED, "oversampled"),
    Table(
        "cifar10",
        "Table 2 and supplement: CIFAR-10 with Tiny Darknet",
        IMAGES,
        IMAGE_ROWS,
        ("mean_f1", "mean_accuracy", "f1_at_half", "f1_tuned", "auroc", "epochs"),
    ),
)


def configurations() -> list[Configuration]:
    """Lists what the tables need, each once and in order."""
    wanted = (table.configuration(dataset, row) for table in TABLES for dataset in table.datasets for row in table.rows)
    return list(dict.fromkeys(wanted))
