"""A `Case` is one contender on one `Batch`; a `Group` holds the cases that are timed in turn and compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benchmarks.speed.timing import Rounds, Run

BASE = "Keras BinaryCrossentropy"


@dataclass(frozen=True)
class Batch:
    """A kind of batch.

    Attributes:
        samples: Number of samples.
        classes: Number of classes; arrays have the shape (samples, classes).
        weighted: Whether samples have weights.
        soft_labels: Whether labels are smoothed, 0.05 and 0.95 instead of 0 and 1.
        sides: Of images, between samples and classes.
        exclusive: Whether each sample is of one class, with probabilities that add up to 1.
    """

    samples: int
    classes: int = 1
    weighted: bool = False
    soft_labels: bool = False
    sides: tuple[int, ...] = ()
    exclusive: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of labels and probabilities."""
        return (self.samples, *self.sides, self.classes)

    @property
    def size(self) -> int:
        """Number of labels."""
        return math.prod(self.shape)

    def arrays(self) -> list[np.ndarray]:
        """Returns labels (10 % positive), probabilities and perhaps weights, the same in every call."""
        rng, shape = np.random.default_rng(0), self.shape
        if self.exclusive:
            scores = np.exp(rng.normal(size=shape))
            p = (scores / scores.sum(-1, keepdims=True)).astype("float32")
            return [np.eye(self.classes, dtype="float32")[rng.integers(0, self.classes, shape[:-1])], p]
        y = (rng.random(shape) < 0.1).astype("float32")
        p = np.clip(rng.beta(1, 3, shape) + 0.2 * y, 0, 1).astype("float32")
        w = [rng.uniform(0.5, 1.5, (*shape[:-1], 1)).astype("float32")] if self.weighted else []
        return [0.9 * y + 0.05 if self.soft_labels else y, p, *w]


class Contender(Protocol):
    """A loss, ours or someone else's."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def step(self, batch: Batch, compiled: bool) -> Run | None:
        """Returns forward + gradient on a batch; None if it cannot run."""
        ...


@dataclass(frozen=True)
class Case:
    """One contender on one batch, in a step that is compiled as a whole, or not."""

    contender: Contender
    batch: Batch
    compiled: bool = True

    def step(self) -> Run | None:
        """Returns what is measured; None if it cannot run."""
        return self.contender.step(self.batch, self.compiled)


@dataclass(frozen=True)
class Group:
    """Cases that are measured on the same batch.

    Attributes:
        batch: Labels, probabilities, and perhaps weights.
        contenders: Who is compared.
        compiled: Whether the step is compiled as a whole.
        base: The name of the contender to which ratios are taken.
        rounds: How often all are timed. Defaults to `None`, what the command line says.
        remark: The end of its title, instead of `compiled` or `uncompiled`.
    """

    batch: Batch
    contenders: tuple[Contender, ...]
    compiled: bool = True
    base: str = BASE
    rounds: Rounds | None = None
    remark: str = ""

    @property
    def title(self) -> str:
        """Its heading, and its key among the results."""
        words = ["n=" + " x ".join(map(str, (self.batch.samples, *self.batch.sides)))]
        words += [f"{self.batch.classes} classes"] * (self.batch.classes > 1)
        words += [self.remark or ("compiled" if self.compiled else "uncompiled")]
        words += ["weights"] * self.batch.weighted + ["soft labels"] * self.batch.soft_labels
        return ", ".join(words)

    @property
    def cases(self) -> dict[str, Case]:
        """Its cases by the names of their contenders."""
        return {c.name: Case(c, self.batch, self.compiled) for c in self.contenders}
