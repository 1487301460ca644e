"""Puts the page together, with a section for each study that has results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import frog
from benchmarks.paper.records.store import read_lines
from benchmarks.recipes import images, methods, plan, unet
from benchmarks.recipes.report import claim, figure, networks, tables
from benchmarks.recipes.report.comparison import compare, compare_by_data
from benchmarks.recipes.report.numbers import Results, methods_at, read, shared_data

_INTRODUCTION = """# Which loss when

Losses for imbalanced classification compared on the same splits, initial weights and batches. The protocol is in
`benchmarks/recipes/__init__.py`; this page is written by `python -m benchmarks.recipes report` from
`benchmarks/results/recipes`. Lower is better for the Brier score and the calibration error. In differences, positive is
better whatever the column; intervals are 95 % bootstrap intervals over paired trials. Seconds are rough: other work ran
on the same two cores, and paused the study now and then."""


def write(folder: Path, path: Path) -> None:
    """Writes the page, and its figure beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(folder, path))


def text(folder: Path, path: Path) -> str:
    """Returns the page; its figure is written beside `path`."""
    left = [*_tabular_left(folder), *_others_left(folder)]
    pending = [f"Planned, and not trained yet: {'; '.join(left)}."] if left else []
    sections = [*_tabular(folder, path), *_images(folder), *_memory(folder), *_stuck(folder)]
    return "\n\n".join([_INTRODUCTION, *pending, *sections]) + "\n"


def _tabular_left(folder: Path) -> Iterator[str]:
    """Says which data sets lack a method, for each batch size."""
    results = read(folder, methods.TABULAR, plan.BATCH_SIZES["tabular"])
    for size in plan.BATCH_SIZES["tabular"]:
        complete = set(shared_data(results, size)) if set(methods_at(results, size)) == set(methods.TABULAR) else set()
        if left := [label for name, label in plan.DATA.items() if name not in complete]:
            yield f"batches of {size:,} of " + (", ".join(left) if complete else "all data sets")


def _others_left(folder: Path) -> Iterator[str]:
    """Says how much of the other studies is missing."""
    every = len(images.VARIANTS) * len(images.METHODS) * images.TRIALS
    trained = [
        frog.finished(images.STUDY, network, name, folder) for network in images.VARIANTS for name in images.METHODS
    ]
    yield from _share("trials on CIFAR-10-Frog", every, sum(map(len, trained)))
    for study, label in (("memory", "rows with a memory of the cells"), ("stuck", "rows of stuck starts")):
        known, sizes = methods.STUDIES[study], plan.BATCH_SIZES[study]
        data = [plan.STUCK_DATA] if study == "stuck" else list(plan.DATA)
        found = read(folder, known, sizes)
        yield from _share(label, len(known) * len(sizes) * len(data), sum(row.data in data for row in found))
    every = len(unet.VARIANTS) * len(unet.METHODS) * unet.TRIALS
    files = (folder / unet.path(variant, name) for variant in unet.VARIANTS for name in unet.METHODS)
    yield from _share("trials of the U-Net", every, sum(len(read_lines(file)) for file in files))


def _share(label: str, every: int, trained: int) -> Iterator[str]:
    if trained < every:
        yield f"{every - trained} of {every} {label}"


def _tabular(folder: Path, path: Path) -> Iterator[str]:
    results = read(folder, methods.TABULAR, plan.BATCH_SIZES["tabular"])
    sizes = [size for size in plan.BATCH_SIZES["tabular"] if shared_data(results, size)]
    if not sizes:
        return
    labels = _labels(methods.TABULAR)
    figure.write(results, labels, sizes, path.parent / "images" / "recipes.svg")
    yield "![F1 at 0.5 against AUROC, and against the calibration error](images/recipes.svg)"
    for size in sizes:
        yield f"## Batches of {size}"
        yield tables.means(results, labels, size)
        yield from _claim(results, size)
        yield tables.by_data(results, labels, size, "f1_at_half")
        yield tables.by_data(results, labels, size, "auroc")
        for other in (claim.BASELINE, claim.BLEND):
            if other in methods_at(results, size):
                yield tables.against(results, labels, size, other)
        yield "Wins / ties / losses of the row against the column, over data sets and trials:"
        yield tables.pairs(results, labels, size, "f1_at_half")


def _claim(results: Results, size: int) -> Iterator[str]:
    found = claim.verdicts(results, size)
    if found:
        yield (
            f"The claim that SoftF1 + BCE at 0.5 has at least the F1 of BCE at its tuned threshold minus "
            f"{claim.F1_MARGIN}, and at least its AUROC minus {claim.AUROC_MARGIN}, holds on "
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
    results = read(folder, methods.MEMORY, plan.BATCH_SIZES["memory"])
    for size in plan.BATCH_SIZES["memory"]:
        if "f1_memory" in methods_at(results, size) and shared_data(results, size):
            yield f"## A memory of the cells, batches of {size}"
            yield tables.means(results, _labels(methods.MEMORY), size)
            yield tables.by_data(results, _labels(methods.MEMORY), size, "f1_at_half")
            yield tables.against_by_data(results, _labels(methods.MEMORY), size, _MEMORY_PAIRS, "f1_at_half")
            yield _memory_verdict(results, size)


_MEMORY_PAIRS = [("f1_memory", "f1"), ("f1_memory", claim.BLEND), ("f1_bce_1_stratified", claim.BLEND)]


def _memory_verdict(results: Results, size: int) -> str:
    """Says where a memory beats the blend, by the rule of the protocol."""
    by_data = compare_by_data(results, "f1_memory", claim.BLEND, size, "f1_at_half")
    ahead = [plan.DATA[name] for name, found in by_data.items() if found and found.low > 0]
    every = compare(results, "f1_memory", claim.BLEND, size, "f1_at_half")
    where = f"on {', '.join(ahead)}" if ahead else "on no data set"
    return (
        f"SoftF1 with a memory minus the blend, over all data sets: {every}; wins / ties / losses "
        f"{every.counts if every else ''}. With an interval above 0, the memory beats the blend {where}."
    )


def _stuck(folder: Path) -> Iterator[str]:
    results = read(folder, methods.STUCK, plan.BATCH_SIZES["stuck"])
    results = {row: lines for row, lines in results.items() if row.data == plan.STUCK_DATA}
    if any(row.method.startswith(("accuracy", "savings")) for row in results):
        yield f"## Stuck starts: recall at 0.5 below {unet.STUCK_BELOW}"
        yield tables.stuck(results, _labels(methods.STUCK), plan.BATCH_SIZES["stuck"][0], unet.STUCK_BELOW)
    if table := networks.of_unet(folder):
        yield "## Stuck starts: a U-Net on masks of 1 %"
        yield table


def _labels(study: dict[str, methods.Method]) -> tables.Labels:
    return {name: method.label for name, method in study.items()}
