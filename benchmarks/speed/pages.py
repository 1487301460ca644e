"""From results to pages in Markdown: all groups with their spread, and each target with what was measured."""

from __future__ import annotations

from typing import Any

from benchmarks import markdown
from benchmarks.speed.fit_speed import MOST
from benchmarks.speed.results import Results
from benchmarks.speed.targets import Target, targets

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
