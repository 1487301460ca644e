"""Writes `docs/results.md` and its pictures from the CSV files, and from nothing else."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper import environment, store
from benchmarks.paper.claims import claims
from benchmarks.paper.configurations import IMAGES, PUBLISHED, TRIALS, Configuration
from benchmarks.paper.convergence import convergence_section
from benchmarks.paper.layout import COLUMNS, DATASETS, LAYOUT, REASONS, Row, Table
from benchmarks.paper.summary import measured, published
from benchmarks.paper.timing import timing_section

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "results.md"
TEXT = Path(__file__).with_name("results_text.md")


def write(folder: Path = store.FOLDER, page: Path = PAGE) -> None:
    """Writes the page and the pictures that it shows."""
    from benchmarks.paper import pictures

    page.parent.mkdir(exist_ok=True)
    pictures.write(folder, page.parent / "images")
    page.write_text(render(folder))


def render(folder: Path = store.FOLDER) -> str:
    """Returns the page: the written part with the checked claims in it, then every table of the paper."""
    text = TEXT.read_text().replace("{claims}", _claims(folder)).replace("{environment}", _environment(folder))
    sections = [_section(table, folder) for table in LAYOUT]
    return (
        "\n".join(
            [text.rstrip(), "", "## Tables", "", *sections, convergence_section(folder), timing_section(folder)]
        ).rstrip()
        + "\n"
    )


def _claims(folder: Path) -> str:
    return markdown(["claim", "data set", "measured", "verdict"], claims(folder))


def _environment(folder: Path) -> str:
    return ", ".join(f"{name} {version}" for name, version in environment.read(folder).items())


def _section(table: Table, folder: Path) -> str:
    parts = [f"### {table.title}", ""]
    for dataset in table.datasets:
        header = [DATASETS[dataset], *(COLUMNS[column] for column in table.columns)]
        parts += [markdown(header, [_line(table, dataset, row, folder) for row in table.rows]), ""]
    missing = [
        text for dataset in table.datasets for row in table.rows for text in _missing(table, dataset, row, folder)
    ]
    return "\n".join(parts + ([f"- {text}" for text in dict.fromkeys(missing)] + [""] if missing else []))


def _line(table: Table, dataset: str, row: Row, folder: Path) -> list[str]:
    return [row.label, *(_cell(table, dataset, row, column, folder) for column in table.columns)]


def _cell(table: Table, dataset: str, row: Row, column: str, folder: Path) -> str:
    ours = measured(configuration_of(table, dataset, row), row.reading, column, folder)
    paper = published(row.paper_table or table.name, PUBLISHED.get(dataset, dataset), row.paper, column)
    if paper is None:
        return str(ours) if ours else "not run"
    spread = "" if paper.deviation != paper.deviation else f" ± {paper.deviation:.2f}"
    text = f"{paper.mean:.2f}{spread}"
    return f"{ours} ({text}, {ours.mean - paper.mean:+.2f})" if ours else f"not run ({text})"


def configuration_of(table: Table, dataset: str, row: Row) -> Configuration:
    """Returns what a row of a table was trained as."""
    return Configuration(dataset, row.loss, table.balance, table.batch_size, row.start)


def _missing(table: Table, dataset: str, row: Row, folder: Path) -> list[str]:
    configuration = configuration_of(table, dataset, row)
    if not store.missing_trials(configuration, TRIALS, folder):
        return []
    reason = REASONS.get("cifar10" if dataset in IMAGES else row.loss)
    name = "batch" if table.name.startswith("batch") else "1" if table.name == "more" else table.name
    command = f"`python -m benchmarks.paper --table {name} --dataset {dataset} --loss {row.loss}`"
    return [reason or f"Not all trials of {row.label} on {DATASETS[dataset]} have run: {command}"]


def markdown(header: list[str], rows: list) -> str:
    """Returns a markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
