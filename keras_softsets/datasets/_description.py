"""`Description`: the facts that `describe` shows and that every preparation is checked against."""

from typing import Any, NamedTuple

import numpy as np


class Description(NamedTuple):
    """Facts about one data set: the training, validation and test parts together.

    Attributes:
        name: What `load` takes.
        size: Number of samples.
        positives: Number of samples of the positive class. With more than two classes, each is the positive one
            against the rest in turn: a tuple with the number of samples of each class, in the order of the class ids.
        features: Number of values for each sample.
        source: Where the data come from.
        licence: Licence as listed by the source; check there before you redistribute.
        classes: Number of classes. Defaults to `2`.
    """

    name: str
    size: int
    positives: int | tuple[int, ...]
    features: int
    source: str
    licence: str
    classes: int = 2

    def __str__(self) -> str:
        """Returns one line of a table."""
        if isinstance(self.positives, int):
            balance = f"{self.positives:>6,} positive ({self.positives / self.size:>6.2%})"
        else:
            balance = f"{self.classes} classes, {min(self.positives):,} to {max(self.positives):,}"
        return f"{self.name:<22} {self.size:>7,} samples, {balance:>24}, {self.features:>4} features; {self.licence}"


def check_counts(expected: Description, labels: Any, where: str) -> None:
    """Raises a `ValueError` if the counts of the labels differ from those of the published data set.

    Args:
        expected: The published facts.
        labels: `(samples,)`, class ids; 1 for positive where there are two classes.
        where: The beginning of the error message.
    """
    counts = tuple(np.bincount(np.asarray(labels, "int64"), minlength=expected.classes).tolist())
    positives = counts[1] if expected.classes == 2 else counts
    if (len(labels), positives) != (expected.size, expected.positives):
        of_classes = "of them positive" if expected.classes == 2 else "of the classes in turn"
        raise ValueError(
            f"{where} must hold {expected.size:,} samples, {_listed(expected.positives)} {of_classes}, "
            f"received {len(labels):,} and {_listed(positives)}."
        )


def _listed(counts: int | tuple[int, ...]) -> str:
    return " ".join(f"{count:,}" for count in ((counts,) if isinstance(counts, int) else counts))
