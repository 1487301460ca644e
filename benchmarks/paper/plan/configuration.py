"""A `Configuration`: one loss on one data set, trained over all trials, and the name of the file of its results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

TRIALS = 10
BATCH_SIZE = 1024


class Configuration(NamedTuple):
    """One loss on one data set, trained over all trials.

    Attributes:
        dataset: A name of `keras_softsets.datasets`, or of `datasets.READ_BY_AUTHORS`.
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


def only(
    wanted: Iterable[Configuration], datasets: list[str] | None = None, losses: list[str] | None = None
) -> list[Configuration]:
    """Returns those on `datasets` and for `losses`, if given, each once and in order."""
    found = dict.fromkeys(wanted)
    return [c for c in found if (not datasets or c.dataset in datasets) and (not losses or c.loss in losses)]
