"""Other shapes: batches of any size, the wait for the first step, many classes, masks, weights.

`plan` says what is compared and what each may cost at most; `sizes`, `fits` and `growth` measure everything that is not
the time of one step. `run` measures all parts, or some, and keeps the earlier results of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tqdm import tqdm

from benchmarks.speed import measurements
from benchmarks.speed.results import Results, made_on
from benchmarks.speed.shapes import fits, growth, plan, sizes
from benchmarks.speed.timing import Rounds, summary

DOCUMENTED = ("steps", "sizes", "first epoch", "metrics", "growth")
PARTS = (*DOCUMENTED, "tuner")
SHORT = ("steps", "sizes", "metrics")  # the other parts start many processes, or need several devices


def run(seconds: float, quick: bool, parts: Sequence[str], before: Results, save: Callable[[Results], None]) -> None:
    """Measures the parts one after the other, and saves after each.

    Args:
        seconds: Time for each group of losses.
        quick: Whether a quick look is enough.
        parts: What to measure.
        before: What was measured before.
        save: What to do with the results.
    """
    results = before | {"machine": made_on()}
    rounds = Rounds(0.2, 3, 3) if quick else Rounds(seconds)
    measure: dict[str, Callable[[], Results]] = {
        "steps": lambda: steps(plan.QUICK if quick else plan.GOALS, rounds),
        "sizes": lambda: sizes.run(5 if quick else 60),
        "first epoch": lambda: fits.first_epochs(2 if quick else max(2, min(5, round(seconds / 4)))),
        "metrics": lambda: fits.five_metrics(1000 if quick else 50_000, rounds),
        "growth": lambda: growth.run(rounds, quick),
        "tuner": lambda: fits.tuner(10_000 if quick else 10_000_000),
    }
    for part in tqdm(parts, "parts"):
        results[part] = measure[part]()
        save(results)


def steps(goals: Sequence[plan.Goal], rounds: Rounds) -> Results:
    """Returns times and ratios of one step, by group."""
    found: Results = {}
    for goal in goals:
        times = measurements.step_times(goal.group, rounds)
        found[goal.group.title] = {name: summary(times[name], times[goal.base]) for name in times}
    return found
