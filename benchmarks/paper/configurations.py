"""What is trained: one `Configuration` for each row, data set and batch size, and how it is called on disk."""

from __future__ import annotations

from typing import NamedTuple

TRIALS = 10
BATCH_SIZE = 1024
TABULAR = ("cocktail_party", "adult", "mammography", "creditcard_fraud")
SYNTHETIC = ("synthetic_05", "synthetic_33")
IMAGES = ("cifar10_transportation", "cifar10_frog")
# Data as the authors' code reads them, and what they are; shown beside the data themselves where that matters most.
PUBLISHED = {"adult_published": "adult"}
ADULT_TWICE = ("cocktail_party", "adult", "adult_published", "mammography", "creditcard_fraud")
BATCH_SIZES = (128, 1024, 2048, 4096)

# Losses that the stacked engine trains; the other methods have modules of their own.
SOFT_PAIRS = ("f1_linear", "f1_sigmoid", "accuracy_linear", "accuracy_sigmoid")
SVMS = ("svm_error", "svm_f1", "svm_roc")


class Configuration(NamedTuple):
    """One loss on one data set, trained over all trials.

    Attributes:
        dataset: A name of `keras_softsets.datasets`.
        loss: A name of `objectives.OBJECTIVES`, or `"adversarial_f1"`, `"svm_..."`.
        balance: `"none"`, `"weighted"` or `"oversampled"`.
        batch_size: Samples in a batch.
        start: Whose initial weights the network has, `"keras"` or `"pytorch"`.
    """

    dataset: str
    loss: str
    balance: str = "none"
    batch_size: int = BATCH_SIZE
    start: str = "keras"

    @property
    def path(self) -> str:
        """Name of the file of its results, relative to the folder of results."""
        parts = [self.loss]
        if self.balance != "none":
            parts.append(self.balance)
        if self.batch_size != BATCH_SIZE:
            parts.append(f"batch{self.batch_size}")
        if self.start != "keras":
            parts.append(f"{self.start}_start")
        return f"{self.dataset}/{'-'.join(parts)}.csv"


def _on(datasets: tuple[str, ...], losses: tuple[str, ...], balance: str = "none") -> list[Configuration]:
    return [Configuration(dataset, loss, balance) for dataset in datasets for loss in losses]


def _batch_sizes() -> list[Configuration]:
    losses = (*SOFT_PAIRS, "bce")
    return [
        Configuration(dataset, loss, batch_size=size)
        for dataset in SYNTHETIC
        for size in BATCH_SIZES
        for loss in losses
    ]


# The tables by name, in the paper's order; what several tables share is trained once.
TABLES: dict[str, list[Configuration]] = {
    "1": _on(ADULT_TWICE, ("f1_linear", "accuracy_linear", "auroc_linear", "wmw", "wmw_published", "bce")),
    "sigmoid": _on(ADULT_TWICE, ("f1_sigmoid", "accuracy_sigmoid", "auroc_sigmoid")),
    "fbeta": _on(TABULAR, ("f1_linear", "f2_linear", "f3_linear")),
    "batch": _batch_sizes(),
    "weighted": _on(ADULT_TWICE, (*SOFT_PAIRS, "bce"), "weighted"),
    "oversampled": _on(TABULAR, (*SOFT_PAIRS, "bce"), "oversampled"),
    "baselines": _on(TABULAR, ("dice_logits", "dice_logits_published", "dice", *SVMS)),
    "adversarial": _on(ADULT_TWICE, ("adversarial_f1",)),
    "cifar10": _on(IMAGES, ("f1_linear", "accuracy_linear", "bce", "dice_logits", "dice")),
    "published": _on(("mammography", "synthetic_05"), ("f1_linear_published", "f1_sigmoid_published")),
    "auroc": _on(SYNTHETIC, ("auroc_linear", "auroc_sigmoid")),
    "start": [
        configuration._replace(start=start)
        for start in ("keras", "pytorch")
        for configuration in _on(("creditcard_fraud",), ("accuracy_linear", "accuracy_sigmoid"))
    ],
}


# Networks that are tested after every epoch, beside the rows of table 2.
NETWORKS = {
    "tiny_darknet": "Tiny Darknet",
    "tiny_darknet_keras": "Tiny Darknet, Keras's initial weights",
    "yolov3_tiny": "backbone of YOLOv3-tiny",
}
EPOCH_BY_EPOCH = _on(IMAGES, ("f1_linear", "f1_linear_mean", "bce"))
# Those of them that are soft F1, by loss and network.
SOFT_F1_BY_EPOCH = {
    (loss, network): f"{label}{suffix}"
    for network, label in NETWORKS.items()
    for loss, suffix in (("f1_linear", ""), ("f1_linear_mean", ", mean over thresholds"))
}


def configurations(tables: list[str], datasets: list[str] | None = None, losses: list[str] | None = None):
    """Lists what `tables` need, each once and in order, only on `datasets` and for `losses` where these are given."""
    return only([configuration for table in tables for configuration in TABLES[table]], datasets, losses)


def only(wanted: list[Configuration], datasets: list[str] | None, losses: list[str] | None) -> list[Configuration]:
    """Returns those on `datasets` and for `losses` where these are given, each once."""
    found = dict.fromkeys(wanted)
    return [c for c in found if (not datasets or c.dataset in datasets) and (not losses or c.loss in losses)]
