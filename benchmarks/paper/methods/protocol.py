"""What every method does: given a `Job`, it yields lines for the CSV file; and which method trains what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.plan.datasets import IMAGES
from benchmarks.paper.records.store import Line


class Job(NamedTuple):
    """What a method is asked to train.

    Attributes:
        configuration: The loss, the data set, and how to train.
        seeds: The trials that are missing.
        raw_dir: Folder of raw data files. Defaults to `None`: the one that the environment names.
        say: Called with the text for a progress bar. Defaults to a function that does nothing.
    """

    configuration: Configuration
    seeds: tuple[int, ...]
    raw_dir: str | None = None
    say: Callable[[str], None] = lambda text: None


class Method(Protocol):
    """A way of training."""

    def __call__(self, job: Job) -> Iterator[list[Line]]:
        """Yields the lines of one or more trials as soon as these are finished."""
        ...


def method_of(configuration: Configuration) -> Method:
    """Returns what trains a configuration; imported here, since not every run has PyTorch or needs images."""
    if configuration.dataset in IMAGES:
        from benchmarks.paper.methods.cifar10.method import train
    elif configuration.loss == "adversarial_f1":
        from benchmarks.paper.methods.adversarial import train
    elif configuration.loss.startswith("svm_"):
        from benchmarks.paper.methods.svm.method import train
    else:
        from benchmarks.paper.methods.side_by_side.method import train
    return train
