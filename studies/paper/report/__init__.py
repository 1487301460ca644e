"""The page of the paper's tables, from the CSV files and from nothing else: ours, and the paper's in brackets."""

from __future__ import annotations

from pathlib import Path

from benchmarks import markdown
from studies.harness import environment, store
from studies.paper.plan import COLUMNS, IMAGES, LABELS, READ_BY_AUTHORS, TABLES, TRIALS, Row, Table
from studies.paper.report import claims, more_epochs
from studies.paper.report.numbers import in_paper, measured, values

TEXT = Path(__file__).with_name("text.md")


def render(folder: Path = store.RESULTS) -> str:
    """Returns the page: the written part with the checked claims in it, then every table of the paper."""
    parts = {"{claims}": claims.claim_tables(claims.claims(folder)), "{environment}": _environment(folder)}
    text = TEXT.read_text()
    for name, part in parts.items():
        text = text.replace(name, part)
    images = [more_epochs.more_epochs_section(folder), more_epochs.equal_epochs_section(folder)]
    sections = [*(section(table, folder) for table in TABLES), *images, more_epochs.timing_section(folder)]
    return "\n".join([text.rstrip(), "", "## Tables", "", *sections]).rstrip() + "\n"


def _environment(folder: Path) -> str:
    return ", ".join(f"{name} {version}" for name, version in environment.read(folder).items())


# Why a row may have fewer than ten trials; any other row has simply not been run yet.
REASONS = {
    "adversarial_f1": "The adversarial F1 has n trials of five minutes of one core each: AP-Perf needs 0.1 s for a "
    "batch of 20. `python -m studies run paper --only loss=adversarial_f1` runs all ten.",
    "cifar10": "Rows have n trials of 15 minutes of processor time each: ten of them took two cores of a shared "
    "machine 99 minutes. They were trained while the network still started with Keras's initial weights; the next "
    "table shows it as it is now, and has balanced BCE. On a GPU, `python -m studies run paper --only "
    "data=cifar10_frog` runs the full protocol.",
}


def section(table: Table, folder: Path) -> str:
    """Returns a table, repeated for each data set, and says which trials are missing."""
    parts = [f"### {table.title}", ""]
    for dataset in table.datasets:
        header = [LABELS[dataset], *(COLUMNS[column] for column in table.columns)]
        parts += [markdown.table(header, [_line(table, dataset, row, folder) for row in table.rows]), ""]
    notes = [_missing(table, dataset, row, folder) for dataset in table.datasets for row in table.rows]
    missing = [f"- {text}" for text in dict.fromkeys(notes) if text]
    return "\n".join(parts + ([*missing, ""] if missing else []))


def _line(table: Table, dataset: str, row: Row, folder: Path) -> list[str]:
    return [row.label, *(_cell(table, dataset, row, column, folder) for column in table.columns)]


def _cell(table: Table, dataset: str, row: Row, column: str, folder: Path) -> str:
    ours = measured(table.configuration(dataset, row), row.reading, column, folder)
    paper = in_paper(table.paper_key(row), READ_BY_AUTHORS.get(dataset, dataset), row.paper, column)
    if paper is None:
        return str(ours) if ours else "not run"
    spread = "" if paper.deviation != paper.deviation else f" ± {paper.deviation:.2f}"
    text = f"{paper.mean:.2f}{spread}"
    return f"{ours} ({text}, {ours.mean - paper.mean:+.2f})" if ours else f"not run ({text})"


def _missing(table: Table, dataset: str, row: Row, folder: Path) -> str | None:
    """Returns why not all trials have run, if they have not."""
    if len(values(table.configuration(dataset, row), row.reading, "mean_f1", folder)) >= TRIALS:
        return None
    command = f"`python -m studies run paper --only data={dataset} loss={row.loss}`"
    reason = REASONS.get("cifar10" if dataset in IMAGES else row.loss)
    return reason or f"Not all trials of {row.label} on {LABELS[dataset]} have run: {command}"
