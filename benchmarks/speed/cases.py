"""A `Case` is one contender on one batch; a `Group` holds those that are timed in turn and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from benchmarks.speed.batch import Batch
from benchmarks.speed.losses import BASE
from benchmarks.speed.timing import Rounds, Run


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
