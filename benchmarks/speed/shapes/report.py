"""From results to tables: every goal with what was measured, and how time grows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import markdown
from benchmarks.speed.losses import BASE
from benchmarks.speed.pages import made_by, spread
from benchmarks.speed.results import Results
from benchmarks.speed.shapes import first_epoch, metrics, plan, sizes

HEADER = ("work", "loss", "ratio, median [quartiles]", "ms", "goal", "met")


def page(results: Results) -> str:
    """Returns the page of all parts that were measured."""
    parts = ["# Speed with other shapes", made_by(results), goals(results)]
    if "sizes" in results:
        parts += ["## New batch sizes", new_sizes(results["sizes"])]
    if "metrics" in results:
        parts += ["## Five scores of the same cells in `fit`", shared(results["metrics"])]
    if "tuner" in results:
        parts += ["## `tune_threshold`", tuner(results["tuner"])]
    for number, found in results.get("growth", {}).items():
        parts += [f"## Growth with {number}", growth(number, found)]
    return "\n\n".join(parts) + "\n"


def goals(results: Results) -> str:
    """Returns the table of everything that is compared with cross-entropy."""
    return markdown.table(HEADER, [*_steps(results), *_first_epochs(results)])


def _steps(results: Results) -> Iterator[list[str]]:
    for goal in (*plan.GOALS, *plan.QUICK):
        found = results.get("steps", {}).get(goal.group.title, {})
        for name, limit in goal.limits.items():
            if name in found:
                yield _row(goal.group.title, name, found[name], limit)


def _first_epochs(results: Results) -> Iterator[list[str]]:
    for compiled, limits in first_epoch.LIMITS.items():
        found = results.get("first epoch", {}).get(first_epoch.title(compiled))
        if found:
            yield from (
                _row(first_epoch.title(compiled), name, found[name], limit)
                for name, limit in zip(first_epoch.NAMES[1:], limits)
            )


def _row(work: str, name: str, case: dict[str, Any], limit: float | None) -> list[str]:
    measured = case["wall"]["ratio"][1]
    met = "" if limit is None else "yes" if measured <= limit else "**no**"
    return [work, name, spread(case), f"{case['wall']['ms'][1]:.3g}", "" if limit is None else f"{limit:g}", met]


def new_sizes(found: dict[str, Any]) -> str:
    """Returns the table of new batch sizes."""
    header = ["loss", "ms, median [quartiles]", "mean", "all sizes, s", "programs", "MB"]
    rows = [
        [name, "{1:.2f} [{0:.2f}, {2:.2f}]".format(*case["ms"]), str(case.get("mean_ms", "")), str(case["total_s"])]
        + [str(case.get(field, "")) for field in ("programs", "MB")]
        for name, case in found.items()
    ]
    ms, mean, programs, megabytes = (f"{limit:g}" for limit in sizes.LIMITS.values())
    limits = ["goal", ms, mean, "", programs, megabytes]
    return markdown.table(header, [*rows, limits])


def shared(found: dict[str, Any]) -> str:
    """Returns the table of metrics."""
    rows = [
        [
            name,
            f"{case['wall']['ms'][1]:.0f}",
            spread(case),
            str(metrics.LIMITS.get(name, "")),
        ]
        for name, case in found.items()
    ]
    return markdown.table(["metrics", "ms an epoch", f"ratio to {metrics.NONE}", "goal"], rows)


def tuner(found: dict[str, Any]) -> str:
    """Returns what the tuner takes, and may take."""
    goal = ["goal", *(f"{limit:g}" for limit in metrics.TUNER_LIMITS.values())]
    row = [f"{found['samples']:,}", *(str(found.get(name, "")) for name in metrics.TUNER_LIMITS)]
    return markdown.table(["samples", *metrics.TUNER_LIMITS], [row, goal])


def growth(number: str, found: dict[str, Any]) -> str:
    """Returns the table of how time grows with a number."""
    names = [name for name in next(iter(found.values())) if name != BASE]
    header = [number, f"{BASE}, ms", *(f"{name}, {unit}" for name in names for unit in ("ms", "ratio"))]
    rows = []
    for count, cases in found.items():
        cells = [f"{float(cases[BASE]['wall']['ms'][1]):.3g}"]
        for name in names:
            cells += [f"{cases[name]['wall']['ms'][1]:.3g}", f"{cases[name]['wall']['ratio'][1]:.2f}"]
        rows.append([f"{int(count):,}", *cells])
    return markdown.table(header, rows)
