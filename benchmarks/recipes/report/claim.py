"""The claim: the blend at 0.5 decides like a tuned BCE, and ranks like BCE; decided for each data set."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.recipes.plan import Row
from benchmarks.recipes.report.numbers import Results, shared_data, values

BLEND, BASELINE = "f1_bce_1", "bce"
F1_MARGIN, AUROC_MARGIN = 0.01, 0.005


class Verdict(NamedTuple):
    """The means that decide."""

    data: str
    blend_f1: float
    tuned_f1: float
    blend_auroc: float
    auroc: float

    @property
    def holds(self) -> bool:
        """Whether both halves of the claim hold."""
        ranks = self.blend_auroc >= self.auroc - AUROC_MARGIN
        return self.blend_f1 >= self.tuned_f1 - F1_MARGIN and ranks


def verdicts(results: Results, batch_size: int) -> list[Verdict]:
    """Returns one for each data set that has both methods."""
    return [_verdict(results, data, batch_size) for data in shared_data(results, batch_size, (BLEND, BASELINE))]


def _verdict(results: Results, data: str, batch_size: int) -> Verdict:
    def of(method: str, column: str) -> float:
        return float(values(results, Row(data, method, batch_size), column).mean())

    f1 = of(BLEND, "f1_at_half"), of(BASELINE, "f1_tuned")
    return Verdict(data, *f1, of(BLEND, "auroc"), of(BASELINE, "auroc"))
