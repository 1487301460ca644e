"""What is compared, and the most it should cost: add a `Loss` in `losses`, or a group here, and it gets its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.speed.cases import BASE, Batch, Group
from benchmarks.speed.losses import AP_PERF, LOSSES, TORCH_BTG, named
from benchmarks.speed.results import Results
from benchmarks.speed.timing import Rounds

MILLION = 1_000_000
SIZES = (1024, 65_536, MILLION, 10_000_000)  # those that the documentation shows
GROWTH = (100_000, 10_000_000)  # between these the exponent of n is measured
GROWING = (BASE, "linear, 1 threshold", "linear, 9 thresholds", "linear, 99 thresholds")
OURS = "linear, 9 thresholds"  # what peers are compared with

_ALL = tuple(LOSSES.values())
_FAST = tuple(loss for loss in _ALL if loss.name != "sigmoid, 99 thresholds")  # that one takes a quarter of a second

GROUPS = (
    *(Group(Batch(n), _ALL if n <= MILLION else _FAST) for n in (100_000, *SIZES)),
    Group(Batch(1024, weighted=True), _ALL),
    Group(Batch(MILLION, weighted=True), _FAST),
    Group(Batch(MILLION, soft_labels=True), _FAST),
    Group(Batch(1024), _ALL, compiled=False),
    Group(Batch(MILLION), _FAST, compiled=False),
)
MEMORY = (
    Group(
        Batch(MILLION),
        named(*GROWING, "linear, 9 uneven thresholds", "sigmoid, 9 thresholds", "tabulated, 9 thresholds"),
    ),
)
# Peers take seconds for what takes milliseconds here, so three rounds must be enough.
PEERS = Group(
    Batch(MILLION), (TORCH_BTG, AP_PERF, *named(BASE, OURS)), rounds=Rounds(seconds=0, least=3), remark="peers"
)
QUICK = (Group(Batch(256), named(BASE, "linear, 1 threshold", "linear, 9 thresholds")),)
QUICK_MEMORY = (Group(Batch(MILLION), named("linear, 1 threshold")),)  # smaller ones drown in pages of memory


LARGE = {
    "linear, 1 threshold": 1.0,
    "linear, 9 thresholds": 3.0,
    "linear, 99 thresholds": 3.0,
    "linear, 9 uneven thresholds": 5.0,
    "sigmoid, 9 thresholds": 12.0,
}
SMALL = ("linear", "tabulated", "sigmoid, 1 ", "sigmoid, 9 ")  # how the names of losses begin
MOST_SMALL, MOST_MEMORY, MOST_GROWTH, MOST_THRESHOLDS, LEAST_TORCH_BTG = 1.25, 6, 1.1, 2, 500


class Target(NamedTuple):
    """A limit and what was measured; `upper` says whether it is the most that is allowed, or the least."""

    name: str
    limit: float
    measured: float | None
    upper: bool = True

    @property
    def verdict(self) -> str:
        """Whether the limit is met; empty if nothing was measured."""
        if self.measured is None:
            return ""
        return "yes" if (self.measured <= self.limit) == self.upper else "**no**"


def targets(results: Results) -> list[Target]:
    """Returns all targets."""
    peer = Target(
        "times faster than torch-btg; n=1000000, 9 thresholds", LEAST_TORCH_BTG, results.get("times_torch_btg"), False
    )
    nine, many = (ratio(results, "n=1000000, compiled", f"linear, {k} thresholds") for k in (9, 99))
    flat = Target("99 thresholds against 9: times as long", MOST_THRESHOLDS, many / nine if nine and many else None)
    return [*_large(results), *_small(results), peer, *_memory(results), *_growth(results), flat]


def ratio(results: Results, group: str, name: str) -> float | None:
    """Returns the median ratio of a case to the base of its group, if it was measured."""
    case = results["speed"].get(group, {}).get(name)
    return case["wall"]["ratio"][1] if case else None


def _large(results: Results) -> Iterator[Target]:
    for group in ("n=1000000, compiled", "n=1000000, compiled, weights"):
        for name, limit in LARGE.items():
            yield Target(f"{name}; {group}: ratio", limit, ratio(results, group, name))


def _small(results: Results) -> Iterator[Target]:
    for group in ("n=1024, compiled", "n=1024, compiled, weights"):
        for name in results["speed"].get(group, {}):
            if name.startswith(SMALL):
                yield Target(f"{name}; {group}: ratio", MOST_SMALL, ratio(results, group, name))


def _memory(results: Results) -> Iterator[Target]:
    for group, losses in results.get("memory", {}).items():
        for name, arrays in losses.items():
            yield Target(f"{name}; {group}: float32 arrays of length n", MOST_MEMORY, arrays)


def _growth(results: Results) -> Iterator[Target]:
    for name, exponent in results.get("growth", {}).items():
        yield Target(f"{name}: exponent of n, 1e5 to 1e7", MOST_GROWTH, exponent)
