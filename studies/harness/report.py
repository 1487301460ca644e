"""The one report generator: pages beside the results, figures of the docs, and the marked places of the docs' pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from studies import catalog
from studies.harness.store import RESULTS, ROOT

REPOSITORY = ROOT.parent
Marked = Mapping[str, Callable[[Path], str]]
_TABLE = re.compile(r"(<!-- table: ([\w .]+) -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
_NUMBER = re.compile(r"(<!-- number: ([\w .]+) -->).*?(?=<!-- end -->)", re.DOTALL)


def filled(page: str, marked: Marked, folder: Path = RESULTS) -> str:
    """Returns the text of a page, with its tables and numbers made from the results on disk."""
    page = _TABLE.sub(lambda found: f"{found[1]}{marked[found[2]](folder)}\n", page)
    return _NUMBER.sub(lambda found: f"{found[1]}{marked[found[2]](folder)}", page)


def pages(repository: Path = REPOSITORY) -> list[Path]:
    """Returns the pages that contain such places."""
    every = [repository / "README.md", *sorted((repository / "docs").glob("*.md"))]
    return [page for page in every if re.search(r"<!-- (table|number): ", page.read_text())]


def write(folder: Path = RESULTS, repository: Path = REPOSITORY) -> list[Path]:
    """Writes everything that is generated; returns the files that have changed."""
    for draw in catalog.FIGURES:
        catalog.load(draw)(folder, repository / "docs" / "images")
    changed = []
    for path, text in generated(folder, repository).items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    return changed


def generated(folder: Path = RESULTS, repository: Path = REPOSITORY) -> dict[Path, str]:
    """Returns every generated page, and what it should contain."""
    marked: dict[str, Callable[[Path], Any]] = {}
    for path in catalog.MARKED:
        marked |= catalog.load(path)
    found = {folder / f"{name}.md": catalog.load(path)(folder) for name, path in catalog.PAGES.items()}
    return found | {page: filled(page.read_text(), marked, folder) for page in pages(repository)}
