"""Speed of training: epochs of the paper's MLP at credit-card size with different losses and metrics: `make bench`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import _timing
import keras
import numpy as np

from keras_softsets import SoftAUROC, SoftF1, confusion_matrix, metrics, models, scores

HERE = Path(__file__).resolve().parent
NINE = [k / 10 for k in range(1, 10)]
POSITIVE_RATE = 0.0017
GOAL = 0.6
BCE, F1, AUROC = "BinaryCrossentropy", "SoftF1", "SoftAUROC"
WITH_AUC, WITH_NINE = "SoftF1, keras.metrics.AUC", "SoftF1, metrics.F1 at nine thresholds"
SETUPS: dict[str, Callable[[], dict[str, Any]]] = {
    BCE: lambda: {"loss": keras.losses.BinaryCrossentropy()},
    F1: lambda: {"loss": SoftF1()},
    AUROC: lambda: {"loss": SoftAUROC()},
    WITH_AUC: lambda: {"loss": SoftF1(), "metrics": [keras.metrics.AUC()]},
    WITH_NINE: lambda: {"loss": SoftF1(), "metrics": [metrics.F1(threshold=NINE)]},
}
TARGETS = {
    "epoch of SoftF1 against BinaryCrossentropy": (F1, BCE),
    "nine-threshold metric against AUC": (WITH_NINE, WITH_AUC),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data and two epochs: seconds, for a look")
    parser.add_argument("--epochs", type=int, default=12, help="epochs of each setup (default: 12)")
    parser.add_argument("--output", type=Path, default=HERE / "results", help="folder of the results")
    return parser.parse_args()


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Made-up transactions: 29 features, one in six hundred is fraud, which moves six of them by two."""
    rng = np.random.default_rng(0)
    y = (rng.random((n, 1)) < POSITIVE_RATE).astype("float32")
    x = rng.normal(size=(n, 29)).astype("float32")
    x[:, :6] += 2 * y
    return x, y


def model(setup: str) -> keras.Model:
    keras.utils.set_random_seed(0)
    network = models.mlp(29, positive_rate=POSITIVE_RATE)
    network.compile(keras.optimizers.Adam(1e-3), **SETUPS[setup]())
    return network


def train(epochs: int, n: int, batch_size: int) -> dict[str, dict[str, Any]]:
    """One epoch of each setup in turn, so that all meet the same machine; validation is outside the clock."""
    x, x_val, y, y_val = (part for a in data(n + n // 4) for part in (a[:n], a[n:]))
    networks = {setup: model(setup) for setup in SETUPS}
    for network in networks.values():  # traces and compiles, for the full and for the last, partial batch
        weights = network.get_weights()
        network.fit(x[: batch_size + n % batch_size], y[: batch_size + n % batch_size], batch_size, verbose=0)
        network.set_weights(weights)
    runs: dict[str, dict[str, Any]] = {setup: {"times": [], "f1": []} for setup in SETUPS}
    for _ in _timing.progress(range(epochs), "epochs"):
        for setup, network in networks.items():
            clock = _timing.timed(lambda network=network: network.fit(x, y, batch_size, verbose=0))
            runs[setup]["times"].append(clock)
            cells = confusion_matrix(y_val, network.predict(x_val, 8192, verbose=0), heaviside="step")
            runs[setup]["f1"].append(round(float(scores.f1(cells)[0, 0]), 4))
    return runs


def seconds_to(goal: float, run: dict[str, Any]) -> float | None:
    """Training time until the validation F1 first reached the goal."""
    for k, value in enumerate(run["f1"]):
        if value >= goal:
            return round(sum(wall for wall, _ in run["times"][: k + 1]), 2)
    return None


def report(runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    base = runs[BCE]["times"]
    results: dict[str, Any] = {"machine": _timing.machine(), "goal": GOAL, "setups": {}, "targets": {}}
    for setup, run in runs.items():
        results["setups"][setup] = _timing.summary(run["times"], base)
        results["setups"][setup] |= {"validation_f1": run["f1"], "seconds_to_goal": seconds_to(GOAL, run)}
    for name, (ours, other) in TARGETS.items():
        results["targets"][name] = _timing.summary(runs[ours]["times"], runs[other]["times"])
    return results


def page(results: dict[str, Any]) -> str:
    made = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in made["packages"].items() if version)
    lines = ["# Speed of training", "", f"Made by `{made['command']}` on {made['date']}: {made['processor']}, "]
    lines[-1] += f"{made['cores']} cores, load {made['load_at_start']} at the end, Python {made['python']}, {versions}."
    lines += ["", f"| setup | s per epoch | ratio to BCE | CPU ratio | best validation F1 | s to F1 >= {GOAL} |"]
    lines += ["|---|---|---|---|---|---|"]
    for setup, case in results["setups"].items():
        low, middle, high = case["wall"]["ratio"]
        row = [setup, f"{case['wall']['ms'][1] / 1e3:.2f}", f"{middle:.2f} [{low:.2f}, {high:.2f}]"]
        reached = case["seconds_to_goal"] or "not reached"
        row += [f"{case['processor']['ratio'][1]:.2f}", f"{max(case['validation_f1']):.3f}", reached]
        lines.append("| " + " | ".join(map(str, row)) + " |")
    lines += ["", "| target | limit | measured, median [quartiles] | in CPU time |", "|---|---|---|---|"]
    for name, case in results["targets"].items():
        low, middle, high = case["wall"]["ratio"]
        cpu = case["processor"]["ratio"][1]
        lines.append(f"| {name} | at most 1.15 | {middle:.2f} [{low:.2f}, {high:.2f}] | {cpu:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    options = arguments()
    size = {"epochs": 2, "n": 640, "batch_size": 64} if options.quick else {"n": 182_000, "batch_size": 1024}
    results = report(train(**{"epochs": options.epochs, **size}))
    _timing.write(options.output / "fit_speed.json", results)
    (options.output / "fit_speed.md").write_text(page(results))
    print(f"Results are in {options.output / 'fit_speed.md'}")


if __name__ == "__main__":
    main()
