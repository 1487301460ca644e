"""The claims as tables: one for each claim, a column for each data set, a row for each approximation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from benchmarks import markdown
from benchmarks.paper.report.claims import Claim

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
