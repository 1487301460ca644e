"""The tables: each says what it shows, and thus what must be trained for it; what several share is trained once."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.paper.plan import rows
from benchmarks.paper.plan.configuration import BATCH_SIZE, Configuration
from benchmarks.paper.plan.datasets import ADULT_TWICE, IMAGES, SYNTHETIC, TABULAR
from benchmarks.paper.plan.rows import Row, soft, unpaired

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
        name: What `--table` calls it; several tables may share a name.
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
    Table("1", "Table 1: losses on tabular data (linear approximation)", ADULT_TWICE, rows.direct("linear"), _DIRECT),
    Table(
        "sigmoid", "Supplement: the same with the sigmoid approximation", ADULT_TWICE, rows.direct("sigmoid"), _DIRECT
    ),
    Table(
        "more",
        "What the paper does not report: decisions at one threshold, and rankings",
        TABULAR,
        unpaired(
            *soft("f1_linear", "accuracy_linear", "auroc_linear", "f1_sigmoid", "auroc_sigmoid"),
            rows.ADVERSARIAL[1],
            rows.WMW[1],
            rows.BCE[1],
            rows.BALANCED_BCE,
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
            rows.PAIRS,
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
        rows.PHANTOMS,
        ("mean_f1", "mean_accuracy", "mean_precision", "mean_recall", "auroc"),
    ),
    Table(
        "auroc",
        "Soft AUROC on the synthetic data (not in the paper)",
        SYNTHETIC,
        unpaired(*soft("auroc_linear", "auroc_sigmoid"), rows.BCE[1]),
        ("mean_balanced_accuracy", "auroc", "auprc"),
    ),
    Table(
        "start",
        "Why soft accuracy gives up more often than in the paper: the initial weights",
        ("creditcard_fraud",),
        rows.STARTS,
        (*_DIRECT, "f1_tuned"),
    ),
    Table(
        "baselines",
        "Supplement: other baselines",
        TABULAR,
        rows.BASELINES,
        ("mean_accuracy", "mean_f1", "mean_balanced_accuracy", "f1_tuned", "auroc"),
    ),
    Table("weighted", "Supplement: weighted losses", ADULT_TWICE, rows.PAIRS, _BALANCED, "weighted"),
    Table("oversampled", "Supplement: oversampling", TABULAR, rows.PAIRS, _BALANCED, "oversampled"),
    Table(
        "cifar10",
        "Table 2 and supplement: CIFAR-10 with Tiny Darknet",
        IMAGES,
        rows.IMAGE_ROWS,
        ("mean_f1", "mean_accuracy", "f1_at_half", "f1_tuned", "auroc", "epochs"),
    ),
)
# The choices of `--table`; the adversarial rows of several tables are a separate choice.
NAMES = (*dict.fromkeys(table.name for table in TABLES), rows.ADVERSARIAL_TABLE)


def configurations(names: list[str]) -> list[Configuration]:
    """Lists what the tables of these names need, each once and in order."""
    wanted = (
        table.configuration(dataset, row)
        for name in names
        for table in TABLES
        for dataset in table.datasets
        for row in table.rows
        if name == (row.trained_by or table.name)
    )
    return list(dict.fromkeys(wanted))
