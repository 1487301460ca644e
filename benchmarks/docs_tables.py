"""Puts the tables of the studies into the pages that discuss them.

    python -m benchmarks.docs_tables        # after a study has run; the tests fail where a page is not up to date

A page says where a table goes: `<!-- table: operating linear -->`, the table, and `<!-- end of table -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.classes import plan, records
from benchmarks.classes import report as of_classes
from benchmarks.operating import images, small_batches
from benchmarks.operating import report as of_operating
from benchmarks.operating.__main__ import SPLITS
from benchmarks.recipes import methods
from benchmarks.recipes.report import networks, numbers, tables

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
_MARKED = re.compile(r"(?<=<!-- table: )([\w ]+)( -->\n)(.*?)(?=<!-- end of table -->)", re.DOTALL)


def _classes(name: str) -> str:
    return of_classes.table(plan.STUDIES[name], records.read(RESULTS / "classes" / f"{name}.csv"))


def _recipes(batch_size: int) -> str:
    results = numbers.read(RESULTS / "recipes", methods.TABULAR, (batch_size,))
    return tables.means(results, {name: method.label for name, method in methods.TABULAR.items()}, batch_size)


TABLES: dict[str, Callable[[], str]] = {
    "operating linear": lambda: of_operating.table(RESULTS / "operating", "linear", SPLITS),
    "operating mlp": lambda: of_operating.table(RESULTS / "operating", "mlp", SPLITS),
    "operating images": lambda: images.table(RESULTS / "operating"),
    "small batches": lambda: small_batches.table(RESULTS / "operating" / "small_batches"),
    "classes wine_quality": lambda: _classes("wine_quality"),
    "classes wine_quality_as_in_demo": lambda: _classes("wine_quality_as_in_demo"),
    "classes letter": lambda: _classes("letter"),
    "recipes 1024": lambda: _recipes(1024),
    "recipes images": lambda: networks.in_short(RESULTS / "recipes"),
    "stuck masks": lambda: networks.of_unet(RESULTS / "recipes") or "",
}


def filled(page: str) -> str:
    """Returns the text of a page, with its tables made from the results on disk."""
    return _MARKED.sub(lambda found: f"{found[1]}{found[2]}{TABLES[found[1]]()}\n", page)


def pages() -> list[Path]:
    """Returns the pages that contain such tables."""
    every = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in every if "<!-- table: " in page.read_text()]


if __name__ == "__main__":
    for path in pages():
        path.write_text(filled(path.read_text()))
        print(path.relative_to(ROOT))
