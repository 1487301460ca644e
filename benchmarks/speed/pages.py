"""From results to pages in Markdown: all groups with their spread, and each target with what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import markdown
from benchmarks.speed.cases import BASE
from benchmarks.speed.fit_speed import MOST
from benchmarks.speed.plan import Target, targets
from benchmarks.speed.results import Results
from benchmarks.speed.shapes import fits, plan, sizes

_INTRODUCTION = """\
Forward + gradient. Ratio: to Keras's BinaryCrossentropy in the same round, median [quartiles].
CPU ratio: the same in processor time, which other programs on the machine disturb less."""


def loss_page(results: Results) -> str:
    """Returns the page of the losses."""
    limits = markdown.table(["target", "limit", "measured", "met"], map(_target_row, targets(results)))
    parts = ["# Speed of the losses", made_by(results), _INTRODUCTION, "## Targets", limits]
    for group, cases in results["speed"].items():
        rows = [_loss_row(name, case) for name, case in cases.items()]
        parts += [f"## {group}", markdown.table(["loss", "ms", "ratio", "CPU ratio", "rounds"], rows)]
    return "\n\n".join(parts) + "\n"


def fit_page(results: Results) -> str:
    """Returns the page of training."""
    goal = f"s to F1 >= {results['goal']}"
    header = ["setup", "s per epoch", "ratio to BCE", "CPU ratio", "best validation F1", goal]
    setups = markdown.table(header, [_fit_row(name, case) for name, case in results["setups"].items()])
    limits = markdown.table(
        ["target", "limit", "measured, median [quartiles]", "in CPU time"],
        [[name, f"at most {MOST}", spread(case), _processor(case)] for name, case in results["targets"].items()],
    )
    return "\n\n".join(["# Speed of training", made_by(results), setups, limits]) + "\n"


def spread(case: dict[str, Any]) -> str:
    """Returns the ratio as its median and quartiles."""
    low, middle, high = case["wall"]["ratio"]
    return f"{middle:.2f} [{low:.2f}, {high:.2f}]"


def made_by(results: Results) -> str:
    """Returns the line about machine, versions and command."""
    made = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in made["packages"].items() if version)
    return (
        f"Made by `{made['command']}` on {made['date']}: {made['processor']}, {made['cores']} cores, "
        f"load {made['load']}, Python {made['python']}, {versions}."
    )


def _target_row(target: Target) -> list[str]:
    limit = f"{'at most' if target.upper else 'at least'} {target.limit:g}"
    measured = "not measured" if target.measured is None else f"{target.measured:.3g}"
    return [target.name, limit, measured, target.verdict]


def _loss_row(name: str, case: dict[str, Any]) -> list[str]:
    return [name, f"{case['wall']['ms'][1]:.3g}", spread(case), _processor(case), str(case["rounds"])]


def _fit_row(name: str, case: dict[str, Any]) -> list[str]:
    reached = str(case["seconds_to_goal"] or "not reached")
    seconds, f1 = f"{case['wall']['ms'][1] / 1e3:.2f}", f"{max(case['validation_f1']):.3f}"
    return [name, seconds, spread(case), _processor(case), f1, reached]


def _processor(case: dict[str, Any]) -> str:
    return f"{case['processor']['ratio'][1]:.2f}"


HEADER = ("work", "loss", "ratio, median [quartiles]", "ms", "goal", "met")


def shape_page(results: Results) -> str:
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
    for compiled, limits in fits.FIRST_EPOCH_LIMITS.items():
        found = results.get("first epoch", {}).get(fits.title(compiled))
        if found:
            yield from (
                _row(fits.title(compiled), name, found[name], limit) for name, limit in zip(fits.NAMES[1:], limits)
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
            str(fits.METRICS_LIMITS.get(name, "")),
        ]
        for name, case in found.items()
    ]
    return markdown.table(["metrics", "ms an epoch", f"ratio to {fits.NONE}", "goal"], rows)


def tuner(found: dict[str, Any]) -> str:
    """Returns what the tuner takes, and may take."""
    goal = ["goal", *(f"{limit:g}" for limit in fits.TUNER_LIMITS.values())]
    row = [f"{found['samples']:,}", *(str(found.get(name, "")) for name in fits.TUNER_LIMITS)]
    return markdown.table(["samples", *fits.TUNER_LIMITS], [row, goal])


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
