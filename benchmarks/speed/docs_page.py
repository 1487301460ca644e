"""Writes `docs/benchmarks.md` and its figure: the text beside this file, with its numbers from the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import markdown
from benchmarks.speed import fit_speed, pages, plan
from benchmarks.speed.cases import BASE
from benchmarks.speed.losses import AP_PERF, TORCH_BTG
from benchmarks.speed.pages import spread
from benchmarks.speed.results import FOLDER, Results, read
from benchmarks.speed.shapes import DOCUMENTED

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
TEXT = Path(__file__).with_name("docs_text.md")
ROWS = (
    "linear, 1 threshold",
    "linear, 9 thresholds",
    "linear, 9 uneven thresholds",
    "linear, 99 thresholds",
    "sigmoid, 1 threshold",
    "sigmoid, 9 thresholds",
    "tabulated, 99 thresholds",
    "Keras Dice",
)
_PLAIN, _WEIGHTS, _SOFT = "n=1000000, compiled", "n=1000000, compiled, weights", "n=1000000, compiled, soft labels"
_ONE, _NINE, _MANY = "linear, 1 threshold", "linear, 9 thresholds", "linear, 99 thresholds"


def write(folder: Path = FOLDER, page: Path = PAGE) -> None:
    """Writes the page and its figure."""
    from benchmarks.speed import figure

    figure.write(read("loss_speed", folder), page.parent / "images" / "loss_speed.png")
    figure.write_growth(read("shape_speed", folder)["growth"], page.parent / "images" / "growth_speed.png")
    page.write_text(render(folder))


def lacking(folder: Path = FOLDER) -> list[str]:
    """Returns what the page needs but the results lack: not every machine has the peers, or runs Linux."""
    results = read("loss_speed", folder)
    peers = results["speed"].get(plan.PEERS.title, {})
    names = [peer.name for peer in (TORCH_BTG, AP_PERF) if peer.name not in peers]
    known = read("shape_speed", folder) if (folder / "shape_speed.json").exists() else {}
    parts = [part for part in DOCUMENTED if part not in known]
    return names + ["memory"] * (None in results["memory"].get(_PLAIN, {None: None}).values()) + parts


def render(folder: Path = FOLDER) -> str:
    """Returns the page."""
    loss, fit = (read(name, folder) for name in ("loss_speed", "fit_speed"))
    shape = shape_facts(read("shape_speed", folder), folder)
    return TEXT.read_text().format_map(_made_facts(loss) | loss_facts(loss) | _fit_facts(fit) | shape)


def shape_facts(results: Results, folder: Path) -> dict[str, str]:
    """Returns the tables of other shapes, and those of a GPU if they were measured."""
    gpu = folder / "shape_speed_gpu.json"
    growth = [f"With {number}:\n\n{pages.growth(number, found)}" for number, found in results["growth"].items()]
    return {
        "shape_goals": pages.goals(results),
        "new_sizes": pages.new_sizes(results["sizes"]),
        "shared_metrics": pages.shared(results["metrics"]),
        "growth_tables": "\n\n".join(growth),
        "gpu": pages.goals(read(gpu.stem, folder)) if gpu.exists() else "(No table yet.)",
    }


def loss_facts(results: Results) -> dict[str, str]:
    """Returns the facts about the losses, by their names in the text; the README states some of them, too."""
    ratio = {group: _medians(cases, "ratio") for group, cases in results["speed"].items()}
    ms = {group: _medians(cases, "ms") for group, cases in results["speed"].items()}
    small, step = ms["n=1024, compiled"], ms["n=1024, uncompiled"]
    memory, growth, peers = results["memory"][_PLAIN], results["growth"], ms[plan.PEERS.title]
    return {
        "ratios": _ratios(ratio),
        "linear_ratios": _span(_linear(ratio[_PLAIN]), ".1f"),
        "weighted_linear_ratios": _span(_linear(ratio[_WEIGHTS]), ".1f"),
        "many_against_nine": f"{ratio[_PLAIN][_MANY] / ratio[_PLAIN][_NINE]:.2f}",
        "many_sigmoids": f"{ratio[_PLAIN]['sigmoid, 99 thresholds']:.0f}",
        "memory": _span([arrays for name, arrays in memory.items() if name != BASE], ".0f"),
        "memory_of_bce": f"{memory[BASE]:.0f}",
        "growth": _span([exponent for name, exponent in growth.items() if name != BASE], ".1f"),
        "growth_of_bce": f"{growth[BASE]:.2f}",
        "soft_against_hard_labels": f"{ms[_SOFT][_NINE] / ms[_PLAIN][_NINE]:.1f}",
        "torch_btg_seconds": f"{peers[TORCH_BTG.name] / 1e3:.1f}",
        "times_torch_btg": f"{float(format(results['times_torch_btg'], '.2g')):.0f}",
        "ap_perf_seconds": f"{peers[AP_PERF.name] / 1e3:.2f}",
        "weighted_one": f"{ratio[_WEIGHTS][_ONE]:.1f}",
        "weighted_several": _span([ratio[_WEIGHTS][name] for name in (_NINE, _MANY)], ".1f"),
        **{f"ms_{key}": _from_to(ms, name) for key, name in (("one", _ONE), ("nine", _NINE), ("bce", BASE))},
        "small_many": f"{ratio['n=1024, compiled'][_MANY]:.1f}",
        "small_many_ms": f"{small[_MANY] - small[BASE]:.1f}",
        "uncompiled": _span(_linear(ratio["n=1024, uncompiled"]), ".1f"),
        "uncompiled_ms": _span([time - step[BASE] for time in _linear(step)], ".1f"),
    }


def _made_facts(results: Results) -> dict[str, str]:
    made, packages = results["machine"], results["machine"]["packages"]
    versions = {name: str(packages[name]).partition("+")[0] for name in ("tensorflow", "keras", "torch")}
    return versions | {"cores": str(made["cores"]), "processor": made["processor"]}


def _fit_facts(results: Results) -> dict[str, str]:
    epoch, metric = (results["targets"][name] for name in fit_speed.TARGETS)
    return {
        "fit": spread(epoch),
        "fit_processor": f"{epoch['processor']['ratio'][1]:.2f}",
        "fit_auroc": f"{results['setups'][fit_speed.AUROC]['wall']['ratio'][1]:.2f}",
        "fit_metric": spread(metric),
        "fit_metric_processor": f"{metric['processor']['ratio'][1]:.2f}",
    }


def _medians(cases: dict[str, Any], field: str) -> dict[str, float]:
    return {name: case["wall"][field][1] for name, case in cases.items()}


def _linear(values: dict[str, float]) -> list[float]:
    return [value for name, value in values.items() if name.startswith("linear")]


def _span(values: list[float], form: str) -> str:
    """Returns numbers as `"1.3 to 1.5"`, or `"1.3"` if they are the same."""
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _from_to(ms: dict[str, dict[str, float]], name: str) -> str:
    """Returns the time without and with weights."""
    return f"{ms[_PLAIN][name]:.1f} to {ms[_WEIGHTS][name]:.1f}"


def _ratios(ratio: dict[str, dict[str, float]]) -> str:
    header = ["ratio to BinaryCrossentropy", *(f"{'n = ' * (k == 0)}{n:,}" for k, n in enumerate(plan.SIZES))]
    rows = [
        [name.replace("Dice", "`Dice`"), *(f"{ratio[f'n={n}, compiled'][name]:.2f}" for n in plan.SIZES)]
        for name in ROWS
    ]
    return markdown.table(header, rows)
