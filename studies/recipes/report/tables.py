"""The tables of the page."""

from __future__ import annotations

import numpy as np

from benchmarks import markdown
from studies.engine.evaluation import COLUMNS, LOWER_IS_BETTER
from studies.recipes.plan import DATA, Row
from studies.recipes.report import numbers
from studies.recipes.report.numbers import Results, compare, compare_by_data, mean, methods_at, shared_data, values

Labels = dict[str, str]  # a method's name to what it is called


def means(results: Results, labels: Labels, batch_size: int) -> str:
    """Returns methods by columns, means over the data sets that all of them have; the best of a column in bold."""
    methods, data = methods_at(results, batch_size), shared_data(results, batch_size)
    numbers = {name: [mean(results, name, batch_size, column, data) for column in COLUMNS] for name in methods}
    shown = _bold(np.array(list(numbers.values())), list(COLUMNS))
    rows = [[labels[name], *cells] for name, cells in zip(methods, shown, strict=True)]
    names = ", ".join(DATA[name] for name in data)
    return markdown.table(["", *COLUMNS.values()], rows) + f"\n\nMeans over {names}; of the seconds, medians."


def by_data(results: Results, labels: Labels, batch_size: int, column: str) -> str:
    """Returns methods by data sets, one column of the study: mean and standard deviation over trials."""
    methods = methods_at(results, batch_size)
    data = [name for name in DATA if any(Row(name, method, batch_size) in results for method in methods)]
    rows = [
        [labels[m], *(_with_deviation(results, Row(name, m, batch_size), column) for name in data)] for m in methods
    ]
    return markdown.table([COLUMNS[column], *(DATA[name] for name in data)], rows)


def pairs(results: Results, labels: Labels, batch_size: int, column: str) -> str:
    """Returns wins / ties / losses of the row's method against the column's, for each pair."""
    methods = methods_at(results, batch_size)
    found = {(a, b): compare(results, a, b, batch_size, column) for a in methods for b in methods if a != b}
    rows = [[f"**{k}** {labels[a]}", *(_counts(found.get((a, b))) for b in methods)] for k, a in enumerate(methods, 1)]
    return markdown.table([COLUMNS[column], *(f"**{k}**" for k in range(1, len(methods) + 1))], rows)


def against(results: Results, labels: Labels, batch_size: int, other: str) -> str:
    """Returns each method's mean difference from another one in each column, with its interval; positive is better."""
    columns = [column for column in COLUMNS if column != "seconds"]
    rows = []
    for method in methods_at(results, batch_size):
        found = [compare(results, method, other, batch_size, column) for column in columns]
        if method != other:
            rows.append([labels[method], *(str(each) if each else "" for each in found)])
    return markdown.table([f"minus {labels[other]}", *(COLUMNS[column] for column in columns)], rows)


def against_by_data(
    results: Results, labels: Labels, batch_size: int, pairs: list[tuple[str, str]], column: str
) -> str:
    """Returns the difference of each pair of methods in one column, data set by data set, with its interval."""
    found = {pair: compare_by_data(results, *pair, batch_size, column) for pair in pairs}
    data = [name for name in DATA if any(name in each for each in found.values())]
    rows = [
        [f"{labels[a]} minus {labels[b]}", *(str(each.get(d) or "") for d in data)] for (a, b), each in found.items()
    ]
    return markdown.table([COLUMNS[column], *(DATA[name] for name in data)], rows)


def claims(results: Results, batch_size: int) -> str:
    """Returns the verdicts."""
    rows = [
        [
            DATA[verdict.data],
            *(f"{value:.3f}" for value in verdict[1:]),
            "holds" if verdict.holds else "**does not hold**",
        ]
        for verdict in numbers.verdicts(results, batch_size)
    ]
    header = ["", "blend: F1 at 0.5", "BCE: F1, tuned", "blend: AUROC", "BCE: AUROC", "claim"]
    return markdown.table(header, rows)


def stuck(results: Results, labels: Labels, batch_size: int, below: float) -> str:
    """Returns how many trials of each method end with a recall at 0.5 below a number."""
    rows = []
    for row in (row for row in results if row.batch_size == batch_size):
        recall = values(results, row, "recall_at_half")
        f1 = values(results, row, "f1_at_half").mean()
        rows.append([DATA[row.data], labels[row.method], f"{np.sum(recall < below)} of {len(recall)}", f"{f1:.3f}"])
    return markdown.table(["", "", "stuck", "F1 at 0.5"], rows)


def _counts(found: object) -> str:
    return getattr(found, "counts", "")


def _with_deviation(results: Results, row: Row, column: str) -> str:
    if row not in results:
        return ""
    found = values(results, row, column)
    return f"{found.mean():.3f} ± {found.std(ddof=1):.3f}" if len(found) > 1 else f"{found.mean():.3f}"


def _bold(numbers: np.ndarray, columns: list[str]) -> list[list[str]]:
    best = [np.min(c) if name in LOWER_IS_BETTER else np.max(c) for c, name in zip(numbers.T, columns, strict=True)]
    best = [np.nan if name == "seconds" else b for b, name in zip(best, columns, strict=True)]  # rough: none is best
    digits = [1 if name == "seconds" else 3 for name in columns]
    return [
        [f"**{x:.{d}f}**" if x == b else f"{x:.{d}f}" for x, b, d in zip(line, best, digits, strict=True)]
        for line in numbers
    ]
