"""The page `results/recipes.md` and its figure, with a section for each study that has results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

from studies.harness.store import RESULTS
from studies.recipes import images, plan, unet
from studies.recipes.report import networks, numbers, tables
from studies.recipes.report.numbers import Results, compare, compare_by_data, mean, methods_at, read, shared_data
from studies.recipes.report.tables import Labels

_PANELS = {"auroc": "AUROC", "calibration_error": "calibration error"}
_COLOURS = {"bce": "#c0392b", "f1": "#1b6ca8"}
_BLEND = "#1e8449"
_MARKS = "oPXsDv^<>phd*8"


def write(results: Results, labels: Labels, batch_size: int, path: Path) -> None:
    """Writes two panels for a batch size, the same file for the same results."""
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "recipes"
    figure, axes = plt.subplots(1, 2, figsize=(8, 5.4), sharey=True, constrained_layout=True)
    for axis, (column, label) in zip(axes, _PANELS.items(), strict=True):
        _draw(axis, results, labels, batch_size, column)
        axis.set(xlabel=f"{label}, batches of {batch_size:,}")
        axis.locator_params("x", nbins=5)
    axes[0].set(ylabel="F1 at 0.5")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def _draw(axis: plt.Axes, results: Results, labels: Labels, batch_size: int, column: str) -> None:
    data = shared_data(results, batch_size)
    for number, method in enumerate(methods_at(results, batch_size)):
        point = [mean(results, method, batch_size, each, data) for each in (column, "f1_at_half")]
        mark = _MARKS[number % len(_MARKS)]
        axis.scatter(*point, color=_colour(method), marker=mark, s=70, label=labels[method], alpha=0.85)


def _colour(method: str) -> str:
    """One colour for each family: cross-entropies, set losses and blends."""
    if "_bce" in method:
        return _BLEND
    return next((colour for start, colour in _COLOURS.items() if method.startswith(start)), "#7f8c8d")


_INTRODUCTION = """# Which loss when

Losses for imbalanced classification compared on the same splits, initial weights and batches. The protocol is in
`studies/recipes/__init__.py`; this page is written by `python -m studies report` from the tables beside it. Lower is
better for the Brier score and the calibration error. In differences, positive is better whatever the column; intervals
are 95 % bootstrap intervals over paired trials. Seconds are rough: other work ran on the same two cores, and paused the
study now and then."""


def text(folder: Path = RESULTS) -> str:
    """Returns the page."""
    left = [*_tabular_left(folder), *_others_left(folder)]
    pending = [f"Planned, and not trained yet: {'; '.join(left)}."] if left else []
    sections = [*_tabular(folder), *_images(folder), *_memory(folder), *_stuck(folder)]
    return "\n\n".join([_INTRODUCTION, *pending, *sections]) + "\n"


def figures(folder: Path, images: Path) -> None:
    """Draws the figure, the same file for the same results."""
    results = read(plan.TABULAR, plan.BATCH_SIZES["tabular"], folder)
    if sizes := [size for size in plan.BATCH_SIZES["tabular"] if shared_data(results, size)]:
        write(results, _labels(plan.TABULAR), max(sizes), images / "recipes.svg")


def _tabular_left(folder: Path) -> Iterator[str]:
    """Says which data sets lack a method, for each batch size."""
    results = read(plan.TABULAR, plan.BATCH_SIZES["tabular"], folder)
    for size in plan.BATCH_SIZES["tabular"]:
        complete = set(shared_data(results, size)) if set(methods_at(results, size)) == set(plan.TABULAR) else set()
        if left := [label for name, label in plan.DATA.items() if name not in complete]:
            yield f"batches of {size:,} of " + (", ".join(left) if complete else "all data sets")


def _others_left(folder: Path) -> Iterator[str]:
    """Says how much of the other studies is missing."""
    every = len(images.VARIANTS) * len(images.METHODS) * images.TRIALS
    trained = [networks.best_epochs(folder, network, name) for network in images.VARIANTS for name in images.METHODS]
    yield from _share("trials on CIFAR-10-Frog", every, sum(map(len, trained)))
    for study, label in (("memory", "rows with a memory of the cells"), ("stuck", "rows of stuck starts")):
        known, sizes = plan.STUDIES[study], plan.BATCH_SIZES[study]
        data = [plan.STUCK_DATA] if study == "stuck" else list(plan.DATA)
        found = read(known, sizes, folder)
        yield from _share(label, len(known) * len(sizes) * len(data), sum(row.data in data for row in found))
    every = len(unet.VARIANTS) * len(unet.METHODS) * unet.TRIALS
    yield from _share("trials of the U-Net", every, len(unet.STUDY.store(folder).read()))


def _share(label: str, every: int, trained: int) -> Iterator[str]:
    if trained < every:
        yield f"{every - trained} of {every} {label}"


def _tabular(folder: Path) -> Iterator[str]:
    results = read(plan.TABULAR, plan.BATCH_SIZES["tabular"], folder)
    sizes = [size for size in plan.BATCH_SIZES["tabular"] if shared_data(results, size)]
    if not sizes:
        return
    labels = _labels(plan.TABULAR)
    yield "![F1 at 0.5 against AUROC, and against the calibration error](../../docs/images/recipes.svg)"
    for size in sizes:
        yield f"## Batches of {size}"
        yield tables.means(results, labels, size)
        yield from _claim(results, size)
        yield tables.by_data(results, labels, size, "f1_at_half")
        yield tables.by_data(results, labels, size, "auroc")
        for other in (numbers.BASELINE, numbers.BLEND):
            if other in methods_at(results, size):
                yield tables.against(results, labels, size, other)
        yield "Wins / ties / losses of the row against the column, over data sets and trials:"
        yield tables.pairs(results, labels, size, "f1_at_half")


def _claim(results: Results, size: int) -> Iterator[str]:
    found = numbers.verdicts(results, size)
    if found:
        yield (
            f"The claim that SoftF1 + BCE at 0.5 has at least the F1 of BCE at its tuned threshold minus "
            f"{numbers.F1_MARGIN}, and at least its AUROC minus {numbers.AUROC_MARGIN}, holds on "
            f"{sum(verdict.holds for verdict in found)} of {len(found)} data sets:"
        )
        yield tables.claims(results, size)


def _images(folder: Path) -> Iterator[str]:
    for network in images.VARIANTS:
        table = networks.of_images(folder, network)
        if table:
            yield f"## CIFAR-10-Frog, {networks.LABELS[network]}: {images.STUDY.epochs} epochs for every method"
            yield table
            yield from _images_against_bce(folder, network)


def _images_against_bce(folder: Path, network: str) -> Iterator[str]:
    if pairs := networks.against_bce(folder, network):
        yield "Seed by seed: the mean difference from BCE, the least and the most."
        yield pairs
    if found := networks.verdict(folder, network):
        yield (
            f"The claim {'holds' if found.holds else '**does not hold**'} here: SoftF1 + BCE has {found.blend_f1:.3f} "
            f"at 0.5, BCE {found.tuned_f1:.3f} at its tuned threshold; AUROC {found.blend_auroc:.3f} and "
            f"{found.auroc:.3f}."
        )


def _memory(folder: Path) -> Iterator[str]:
    results = read(plan.MEMORY, plan.BATCH_SIZES["memory"], folder)
    for size in plan.BATCH_SIZES["memory"]:
        if "f1_memory" in methods_at(results, size) and shared_data(results, size):
            yield f"## A memory of the cells, batches of {size}"
            yield tables.means(results, _labels(plan.MEMORY), size)
            yield tables.by_data(results, _labels(plan.MEMORY), size, "f1_at_half")
            yield tables.against_by_data(results, _labels(plan.MEMORY), size, _MEMORY_PAIRS, "f1_at_half")
            yield _memory_verdict(results, size)


_MEMORY_PAIRS = [("f1_memory", "f1"), ("f1_memory", numbers.BLEND), ("f1_bce_1_stratified", numbers.BLEND)]


def _memory_verdict(results: Results, size: int) -> str:
    """Says where a memory beats the blend, by the rule of the protocol."""
    by_data = compare_by_data(results, "f1_memory", numbers.BLEND, size, "f1_at_half")
    ahead = [plan.DATA[name] for name, found in by_data.items() if found and found.low > 0]
    every = compare(results, "f1_memory", numbers.BLEND, size, "f1_at_half")
    where = f"on {', '.join(ahead)}" if ahead else "on no data set"
    return (
        f"SoftF1 with a memory minus the blend, over all data sets: {every}; wins / ties / losses "
        f"{every.counts if every else ''}. With an interval above 0, the memory beats the blend {where}."
    )


def _stuck(folder: Path) -> Iterator[str]:
    results = read(plan.STUCK, plan.BATCH_SIZES["stuck"], folder)
    results = {row: lines for row, lines in results.items() if row.data == plan.STUCK_DATA}
    if any(row.method.startswith(("accuracy", "savings")) for row in results):
        yield f"## Stuck starts: recall at 0.5 below {unet.STUCK_BELOW}"
        yield tables.stuck(results, _labels(plan.STUCK), plan.BATCH_SIZES["stuck"][0], unet.STUCK_BELOW)
    if table := networks.of_unet(folder):
        yield "## Stuck starts: a U-Net on masks of 1 %"
        yield table


def _labels(study: dict[str, plan.Method]) -> tables.Labels:
    return {name: method.label for name, method in study.items()}
