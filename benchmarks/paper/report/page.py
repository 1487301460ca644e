"""Writes `docs/results.md` and its figures from the CSV files, and from nothing else."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper.plan.tables import TABLES
from benchmarks.paper.records import environment, store
from benchmarks.paper.report.claim_tables import claim_tables
from benchmarks.paper.report.claims import claims
from benchmarks.paper.report.more_epochs import equal_epochs_section, more_epochs_section
from benchmarks.paper.report.tables import section
from benchmarks.paper.report.timing import timing_section

PAGE = Path(__file__).parents[3] / "docs" / "results.md"
TEXT = Path(__file__).with_name("text.md")


def write(folder: Path = store.FOLDER, page: Path = PAGE) -> None:
    """Writes the page and the figures that it shows."""
    from benchmarks.paper.report import figures

    page.parent.mkdir(exist_ok=True)
    figures.write(folder, page.parent / "images")
    page.write_text(render(folder))


def render(folder: Path = store.FOLDER) -> str:
    """Returns the page: the written part with the checked claims in it, then every table of the paper."""
    parts = {"{claims}": claim_tables(claims(folder)), "{environment}": _environment(folder)}
    text = TEXT.read_text()
    for name, part in parts.items():
        text = text.replace(name, part)
    images = [more_epochs_section(folder), equal_epochs_section(folder)]
    sections = [*(section(table, folder) for table in TABLES), *images, timing_section(folder)]
    return "\n".join([text.rstrip(), "", "## Tables", "", *sections]).rstrip() + "\n"


def _environment(folder: Path) -> str:
    return ", ".join(f"{name} {version}" for name, version in environment.read(folder).items())
