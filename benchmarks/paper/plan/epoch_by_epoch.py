"""What is tested after every epoch: networks for CIFAR-10 with more time than a row of table 2 has."""

from __future__ import annotations

from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.plan.datasets import IMAGES

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
