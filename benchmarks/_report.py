"""From the results of `loss_speed.py` to a page and a picture: tables, and each target with what was measured."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

ARRAYS = "float32 arrays of length n"
BASE = "Keras BinaryCrossentropy"
COLOURS = {BASE: "#000000", "linear": "#0072B2", "sigmoid": "#D55E00", "tabulated": "#009E73"}  # safe for colour-blind


def targets(results: dict[str, Any]) -> list[tuple[str, float, float | None, bool]]:
    """Name, limit, measured value, and whether the limit is an upper one."""
    rows: list[tuple[str, float, float | None, bool]] = []
    limits = {"linear, 1 threshold": 1.0, "linear, 9 thresholds": 3.0, "linear, 99 thresholds": 3.0}
    limits |= {"linear, 9 uneven thresholds": 5.0, "sigmoid, 9 thresholds": 12.0}
    for group in ("n=1000000, compiled", "n=1000000, compiled, weights"):
        for name, limit in limits.items():
            rows.append((f"{name}; {group}: ratio", limit, _ratio(results, group, name), True))
    for group in ("n=1024, compiled", "n=1024, compiled, weights"):
        for name in results["speed"].get(group, {}):
            if name.startswith(("linear", "tabulated", "sigmoid, 1 ", "sigmoid, 9 ")):
                rows.append((f"{name}; {group}: ratio", 1.25, _ratio(results, group, name), True))
    rows.append(("times faster than torch-btg; n=1000000, 9 thresholds", 500, results.get("times_torch_btg"), False))
    for name, arrays in results.get("memory", {}).items():
        rows.append((f"{name}; n=1000000: {ARRAYS}", 6, arrays, True))
    for name, exponent in results.get("growth", {}).items():
        rows.append((f"{name}: exponent of n, 1e5 to 1e7", 1.1, exponent, True))
    nine, many = (_ratio(results, "n=1000000, compiled", f"linear, {k} thresholds") for k in (9, 99))
    rows.append(("99 thresholds against 9: times as long", 2, many / nine if nine and many else None, True))
    return rows


def _ratio(results: dict[str, Any], group: str, name: str) -> float | None:
    case = results["speed"].get(group, {}).get(name)
    return case["wall"]["ratio"][1] if case else None


def exponent(first: tuple[int, float], last: tuple[int, float]) -> float:
    """Slope of log time over log n."""
    return math.log(last[1] / first[1]) / math.log(last[0] / first[0])


def page(results: dict[str, Any]) -> str:
    """All results in Markdown."""
    made = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in made["packages"].items() if version)
    lines = ["# Speed of the losses", "", f"Made by `{made['command']}` on {made['date']}: {made['processor']}, "]
    lines[-1] += (
        f"{made['cores']} cores, load {made['load_at_start']} at the start, Python {made['python']}, {versions}."
    )
    lines += ["", "Forward + gradient. Ratio: to Keras's BinaryCrossentropy in the same round, median [quartiles]."]
    lines += ["CPU ratio: the same in processor time, which other programs on the machine disturb less.", ""]
    lines += ["## Targets", "", "| target | limit | measured | met |", "|---|---|---|---|"]
    for name, limit, value, upper in targets(results):
        met = "" if value is None else "yes" if (value <= limit) == upper else "**no**"
        lines.append(f"| {name} | {'at most' if upper else 'at least'} {limit:g} | {_number(value)} | {met} |")
    for group, cases in results["speed"].items():
        lines += ["", f"## {group}", "", "| loss | ms | ratio | CPU ratio | rounds |", "|---|---|---|---|---|"]
        lines += [_row(name, case) for name, case in cases.items()]
    return "\n".join(lines) + "\n"


def _row(name: str, case: dict[str, Any]) -> str:
    low, middle, high = case["wall"]["ratio"]
    ms, processor = case["wall"]["ms"][1], case["processor"]["ratio"][1]
    return f"| {name} | {ms:.3g} | {middle:.2f} [{low:.2f}, {high:.2f}] | {processor:.2f} | {case['rounds']} |"


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3g}"


def picture(results: dict[str, Any], path: Path) -> None:
    """Time over n, compiled; nothing happens without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    curves: dict[str, list[tuple[int, float]]] = {}
    for group, cases in results["speed"].items():
        if group.endswith(", compiled"):
            n = int(group.split(",")[0].removeprefix("n="))
            for name, case in cases.items():
                curves.setdefault(name, []).append((n, case["wall"]["ms"][1]))
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for name, points in curves.items():
        kind, _, thresholds = name.partition(", ")
        if kind not in COLOURS or "uneven" in thresholds:
            continue
        style = {"9": "s--", "99": "^:"}.get(thresholds.split(" ")[0], "o-")
        axes.loglog(*zip(*sorted(points)), style, label=name, color=COLOURS[kind], ms=5, lw=3 if kind == BASE else 1.3)
    axes.set(xlabel="samples in the batch", ylabel="ms, forward + gradient", title="Compiled losses on a CPU")
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
