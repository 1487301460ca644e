"""Speed and memory of the losses, forward + gradient, against Keras's own and against peers: `make bench`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import _report
import _timing
from _losses import BASE, LOSSES, batch, runner

HERE = Path(__file__).resolve().parent
SIZES = (1024, 65_536, 1_000_000, 10_000_000)
GROWTH = ("linear, 1 threshold", "linear, 9 thresholds", "linear, 99 thresholds")
MEMORY = (BASE, *GROWTH, "linear, 9 uneven thresholds", "sigmoid, 9 thresholds", "tabulated, 9 thresholds")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small batches and few rounds: seconds, for a look")
    parser.add_argument("--seconds", type=float, default=20.0, help="time for each group of losses (default: 20)")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder of the results")
    parser.add_argument("--memory", metavar="LOSS", help="print the peak memory of one loss, in arrays of n, and stop")
    return parser.parse_args()


def groups(quick: bool) -> list[dict[str, Any]]:
    """What is compared: batch size, weights, soft labels, compiled or not."""
    if quick:
        return [{"n": 256, "compiled": True}]
    chosen: list[dict[str, Any]] = [{"n": n, "compiled": True} for n in (100_000, *SIZES)]
    chosen += [{"n": n, "compiled": True, "weighted": True} for n in (1024, 1_000_000)]
    chosen += [{"n": 1_000_000, "compiled": True, "soft": True}]
    return chosen + [{"n": n, "compiled": False} for n in (1024, 1_000_000)]


def title(n: int, compiled: bool, weighted: bool = False, soft: bool = False) -> str:
    words = [f"n={n}", "compiled" if compiled else "uncompiled"]
    return ", ".join(words + ["weights"] * weighted + ["soft labels"] * soft)


def names(group: dict[str, Any], quick: bool) -> list[str]:
    if quick:
        return [BASE, "linear, 1 threshold", "linear, 9 thresholds"]
    slow = group["n"] >= 1_000_000 and group != {"n": 1_000_000, "compiled": True}
    return [name for name in LOSSES if not (slow and "sigmoid, 99" in name)]


def measure(group: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    arrays = batch(group["n"], weighted=group.get("weighted", False), soft=group.get("soft", False))
    cases = {name: runner(name, arrays, compiled=group["compiled"]) for name in names(group, options.quick)}
    times = _timing.interleaved(
        cases, seconds=0.5 if options.quick else options.seconds, most=3 if options.quick else 500
    )
    return {name: _timing.summary(times[name], times[BASE]) for name in cases}


def peers(results: dict[str, Any]) -> None:
    """Peers take seconds for what takes milliseconds here, so three rounds must do."""
    from _peers import AP_PERF_BATCH, ap_perf, torch_btg

    arrays = batch(1_000_000)
    ours = "linear, 9 thresholds"
    found = {"torch-btg, 9 thresholds": torch_btg(arrays), f"AP-Perf, batch of {AP_PERF_BATCH}": ap_perf(arrays)}
    cases = {name: run for name, run in found.items() if run is not None}
    cases |= {name: runner(name, arrays, compiled=True) for name in (BASE, ours)}
    times = _timing.interleaved(cases, seconds=0, least=3)
    results["speed"]["n=1000000, peers"] = {name: _timing.summary(times[name], times[BASE]) for name in cases}
    if "torch-btg, 9 thresholds" in cases:
        peer = _timing.summary(times["torch-btg, 9 thresholds"], times[ours])
        results["times_torch_btg"] = peer["wall"]["ratio"][1]


def memory(name: str) -> float:
    """Peak of one loss in a process of its own, in float32 arrays of length n; its gradient is one of them."""
    command = [sys.executable, str(HERE / "loss_speed.py"), "--memory", name]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def growth(speed: dict[str, Any]) -> dict[str, float]:
    small, large = (speed.get(title(n, True)) for n in (100_000, 10_000_000))
    if not small or not large:
        return {}
    best = {name: [group[name]["wall"]["ms"][1] for group in (small, large)] for name in (BASE, *GROWTH)}
    return {name: round(_report.exponent((10**5, a), (10**7, b)), 3) for name, (a, b) in best.items()}


def save(results: dict[str, Any], folder: Path) -> None:
    results["growth"] = growth(results["speed"])
    _timing.write(folder / "loss_speed.json", results)
    (folder / "loss_speed.md").write_text(_report.page(results))
    _report.picture(results, folder / "loss_speed.png")


def main() -> None:
    options = arguments()
    if options.memory:
        n = 1_000_000
        print(_timing.peak_memory(runner(options.memory, batch(n), compiled=True)) / (4 * n))
        return
    results: dict[str, Any] = {"machine": _timing.machine(), "speed": {}, "memory": {}}
    for group in _timing.progress(groups(options.quick), "speed"):
        results["speed"][title(**group)] = measure(group, options)
        save(results, options.output)
    if not options.quick:
        for name in _timing.progress(MEMORY, "memory"):
            results["memory"][name] = round(memory(name), 2)
            save(results, options.output)
        peers(results)
    save(results, options.output)
    print(f"Results are in {options.output / 'loss_speed.md'}")


if __name__ == "__main__":
    main()
