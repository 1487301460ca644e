"""The page of the paper's tables, from the CSV files and from nothing else."""

from __future__ import annotations

from pathlib import Path

from studies.harness import environment, store
from studies.paper.plan.tables import TABLES
from studies.paper.report.claims import claim_tables, claims
from studies.paper.report.more_epochs import equal_epochs_section, more_epochs_section, timing_section
from studies.paper.report.tables import section

TEXT = Path(__file__).with_name("text.md")


def render(folder: Path = store.RESULTS) -> str:
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
