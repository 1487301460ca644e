"""What is compared: add a `Loss` in `losses`, or a group here, and it gets its rows on the page."""

from __future__ import annotations

from benchmarks.speed.batch import Batch
from benchmarks.speed.cases import Group
from benchmarks.speed.losses import BASE, LOSSES, named
from benchmarks.speed.peers import AP_PERF, TORCH_BTG
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
