"""What should hold, checked on the results: each claim has its numbers and a verdict for each data set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

import numpy as np

from benchmarks import markdown
from studies.harness import store
from studies.paper import plan
from studies.paper.plan import IMAGES, LABELS, READ_BY_AUTHORS, SYNTHETIC, TABULAR, TRIALS, Configuration
from studies.paper.report.numbers import (
    Number,
    at_best_epoch,
    difference,
    epochs,
    in_paper,
    measured,
    span,
    values,
)

ALL = (*TABULAR, *SYNTHETIC, *IMAGES)
Claim = tuple[str, str, str, str]  # claim, data set, numbers, verdict


def claims(folder: Path = store.RESULTS) -> list[Claim]:
    """Returns all claims whose trials are finished."""
    found = [_as_good_as_the_paper, _above_bce, _no_collapse, _ranks_like_bce, _trades, _tuned_baseline]
    return [claim for check in found for dataset in ALL for claim in check(dataset, folder)]


def _as_good_as_the_paper(dataset: str, folder: Path) -> Iterator[Claim]:
    table = "batch 1024" if dataset in SYNTHETIC else "cifar10" if dataset in IMAGES else "1"
    paper = in_paper(table, dataset, "f1_linear", "mean_f1")
    for name in (dataset, *(reading for reading, original in READ_BY_AUTHORS.items() if original == dataset)):
        if ours := measured(Configuration(name, "f1_linear"), "probabilities", "mean_f1", folder):
            yield _reaches(paper, name, ours, " (table 2)" if name in IMAGES else "")
    for (loss, network), label in plan.SOFT_F1.items():
        if trials := epochs(Configuration(dataset, loss), folder, network):
            length = span([len(lines) for lines in trials])
            yield _reaches(paper, dataset, at_best_epoch(trials, "mean_f1"), f" ({label}, {length} epochs)")


def _reaches(paper: Number, dataset: str, f1: Number, network: str) -> Claim:
    *claim, verdict = _claim(
        "soft F1 (linear) reaches the paper's F1 minus one standard deviation",
        dataset,
        f"{f1.mean:.3f}{network}, paper {paper.mean:.2f} - {paper.deviation:.2f}",
        f1.mean >= paper.mean - paper.deviation,
    )
    few = {1: " (one trial)", TRIALS: ""}.get(f1.count, f" ({f1.count} trials)")
    return *claim, verdict + few


def _above_bce(dataset: str, folder: Path) -> Iterator[Claim]:
    for loss in ("f1_linear", "f1_sigmoid"):
        gap = difference(Configuration(dataset, loss), Configuration(dataset, "bce"), ("mean_f1",) * 2, folder)
        if gap:
            name = f"soft F1 ({loss[3:]}) is above BCE on probabilities, mean F1 over thresholds"
            yield _paired_claim(name, dataset, gap, 0.0)


def _no_collapse(dataset: str, folder: Path) -> Iterator[Claim]:
    linear = measured(Configuration(dataset, "f1_linear"), "probabilities", "mean_f1", folder)
    trials = values(Configuration(dataset, "f1_sigmoid"), "probabilities", "mean_f1", folder)
    if linear and trials:
        worst = min(trials.values())
        numbers = f"worst of {len(trials)} trials {worst:.3f}, linear's mean {linear.mean:.3f}"
        yield _claim(
            "no trial of soft F1 (sigmoid) collapses (below half of linear)", dataset, numbers, worst > linear.mean / 2
        )


def _ranks_like_bce(dataset: str, folder: Path) -> Iterator[Claim]:
    for loss in ("auroc_linear", "auroc_sigmoid"):
        gap = difference(Configuration(dataset, loss), Configuration(dataset, "bce"), ("auroc",) * 2, folder)
        if gap:
            name = f"soft AUROC ({loss[6:]}) has a true AUROC of at least BCE's minus 0.02"
            yield _paired_claim(name, dataset, gap, -0.02)


def _trades(dataset: str, folder: Path) -> Iterator[Claim]:
    betas = [Configuration(dataset, f"f{beta}_linear") for beta in (1, 2, 3)]
    precision, recall = (
        [measured(c, "probabilities", metric, folder) for c in betas] for metric in ("mean_precision", "mean_recall")
    )
    if all(precision):
        falls, rises = (np.array([n.mean for n in column]) for column in (precision, recall))
        numbers = f"precision {_list(falls)}; recall {_list(rises)}"
        holds = bool((np.diff(falls) < 0).all() and (np.diff(rises) > 0).all())
        yield _claim("F1, F2, F3 trade precision for recall monotonically", dataset, numbers, holds)


def _tuned_baseline(dataset: str, folder: Path) -> Iterator[Claim]:
    gap = difference(
        Configuration(dataset, "f1_linear"), Configuration(dataset, "bce"), ("f1_at_half", "f1_tuned"), folder
    )
    if gap:
        name = "soft F1 (linear) at 0.5 is at least BCE with a threshold tuned on validation data"
        yield _paired_claim(name, dataset, gap, 0.0)


def _claim(name: str, dataset: str, numbers: str, holds: bool) -> Claim:
    return name, LABELS[dataset], numbers, "holds" if holds else "**does not hold**"


def _paired_claim(name: str, dataset: str, gap: Number, bound: float) -> Claim:
    """A verdict needs two standard errors: closer to the bound, ten trials cannot decide, and one trial never can."""
    if gap.count == 1:
        return name, LABELS[dataset], f"{gap.mean:+.3f}", "undecided (one trial)"
    error = gap.deviation / np.sqrt(gap.count)
    numbers = f"{gap.mean:+.3f} ± {error:.3f}" + ("" if gap.count == TRIALS else f" (n = {gap.count})")
    if abs(gap.mean - bound) < 2 * error:
        return name, LABELS[dataset], numbers, "undecided (within two standard errors)"
    return _claim(name, dataset, numbers, gap.mean >= bound)


def _list(numbers: np.ndarray) -> str:
    return ", ".join(f"{n:.2f}" for n in numbers)


_APPROXIMATION = re.compile(r" \((linear|sigmoid)\)")
Cells = dict[str, dict[str, list[str]]]  # approximation, data set: what was measured, and the verdict


def claim_tables(claims: Iterable[Claim]) -> str:
    """Returns a heading and a table for each claim; data sets with several networks have another table."""
    return "\n\n".join(part for name, cells in _grouped(claims).items() for part in _tables(name, cells))


def _grouped(claims: Iterable[Claim]) -> dict[str, Cells]:
    found: dict[str, Cells] = {}
    for name, dataset, numbers, verdict in claims:
        match = _APPROXIMATION.search(name)
        row = found.setdefault(_APPROXIMATION.sub("", name, count=1), {}).setdefault(match[1] if match else "", {})
        row.setdefault(dataset, []).append(f"{numbers}: {verdict}")
    return found


def _tables(name: str, cells: Cells) -> Iterator[str]:
    yield f"**{name[0].upper()}{name[1:]}:**"
    datasets = dict.fromkeys(dataset for row in cells.values() for dataset in row)
    several = [d for d in datasets if any(len(row.get(d, [])) > 1 for row in cells.values())]
    for columns in ([d for d in datasets if d not in several], several):
        if columns:
            lines = [
                [approximation, *line]
                for approximation, row in cells.items()
                for line in zip_longest(*(row.get(dataset, [""]) for dataset in columns), fillvalue="")
            ]
            yield markdown.table(["", *columns], lines)
