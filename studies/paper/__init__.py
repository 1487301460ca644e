"""The paper: its tables with corrected baselines, and networks for CIFAR-10 that were given more time.

`plan` says what is trained, `methods` trains it, and `report` writes `results/paper.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

from studies.harness.store import Line
from studies.harness.study import Job, Study
from studies.paper import plan

PLAN_KEYS = ("data", "loss", "balance", "batch_size", "start")


def _train(job: Job) -> Iterator[Line]:
    """Calls what trains a configuration; imported here, since not every run has PyTorch or needs images."""
    if job.key["data"] in plan.IMAGES:
        from studies.paper.methods.cifar10 import train
    elif job.key["loss"] == "adversarial_f1":
        from studies.paper.methods.adversarial import train
    elif job.key["loss"].startswith("svm_"):
        from studies.paper.methods.svm import train
    else:
        from studies.paper.methods.side_by_side import train
    return train(job)


def _train_by_epoch(job: Job) -> Iterator[Line]:
    from studies.paper.methods.epoch_by_epoch import train

    return train(job)


TABLES = Study(
    "paper",
    "every table of the paper, with corrected baselines",
    (*PLAN_KEYS, "reading", "trial"),
    [each._asdict() for each in plan.configurations()],
    _train,
    trials=plan.TRIALS,
    together=True,
    threads=1,
)
EPOCHS = Study(
    "paper_epochs",
    "CIFAR-10 with more time: networks tested after every epoch",
    ("data", "network", "loss", "balance", "trial", "epoch"),
    [
        {"data": each.data, "network": network, "loss": each.loss, "balance": each.balance}
        for each in plan.CONFIGURATIONS
        for network in plan.NETWORKS
    ],
    _train_by_epoch,
    trials=1,
    epochs=100,
    minutes=150.0,
)
