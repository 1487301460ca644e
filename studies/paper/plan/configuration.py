"""A `Configuration`: one loss on one data set, trained over all trials."""

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
