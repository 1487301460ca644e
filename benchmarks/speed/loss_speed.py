"""Speed and memory of the losses, forward + gradient, against Keras's own and against peers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from benchmarks.speed import measurements, plan
from benchmarks.speed.cases import Group
from benchmarks.speed.losses import TORCH_BTG
from benchmarks.speed.results import Results, made_on
from benchmarks.speed.timing import Rounds, Times, summary

QUICK_ROUNDS = Rounds(seconds=0.5, most=3)


def run(seconds: float, quick: bool, save: Callable[[Results], None]) -> None:
    """Measures everything, and saves the results after each group."""
    results: Results = {"machine": made_on(), "speed": {}, "memory": {}}
    rounds = QUICK_ROUNDS if quick else Rounds(seconds)
    for group in tqdm(plan.QUICK if quick else plan.GROUPS, "speed"):
        results["speed"][group.title] = summaries(group, measurements.step_times(group, rounds))
        results["growth"] = growth(results["speed"])
        save(results)
    for group in tqdm(plan.QUICK_MEMORY if quick else plan.MEMORY, "memory"):
        results["memory"][group.title] = {
            name: measurements.in_own_process(measurements.memory, case) for name, case in group.cases.items()
        }
        save(results)
    if not quick:
        save(results | compared_with_peers(results["speed"], rounds))


def summaries(group: Group, times: dict[str, Times]) -> dict[str, Any]:
    """Returns the times of each case, and their ratios to those of the group's base."""
    return {name: summary(found, times[group.base]) for name, found in times.items()}


def compared_with_peers(speed: dict[str, Any], rounds: Rounds) -> Results:
    """Returns `speed` with the peers, and how many times as long torch-btg takes as the same loss here."""
    times = measurements.step_times(plan.PEERS, rounds)
    found: Results = {"speed": speed | {plan.PEERS.title: summaries(plan.PEERS, times)}}
    if TORCH_BTG.name in times:
        found["times_torch_btg"] = summary(times[TORCH_BTG.name], times[plan.OURS])["wall"]["ratio"][1]
    return found


def growth(speed: dict[str, Any]) -> dict[str, float]:
    """Returns the exponent of n in the time of some losses, if both sizes were measured."""
    small, large = (speed.get(f"n={n}, compiled") for n in plan.GROWTH)
    if not small or not large:
        return {}
    times = {name: [group[name]["wall"]["ms"][1] for group in (small, large)] for name in plan.GROWING}
    return {name: round(exponent(plan.GROWTH, (a, b)), 3) for name, (a, b) in times.items()}


def exponent(sizes: tuple[int, int], times: tuple[float, float]) -> float:
    """Returns the slope of log time over log n."""
    return math.log(times[1] / times[0]) / math.log(sizes[1] / sizes[0])
