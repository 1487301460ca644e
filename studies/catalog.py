"""All studies and their reports, by name. A study is added here in one line; nothing slow is imported before use."""

from __future__ import annotations

import importlib
from typing import Any

from studies.harness.study import Study

# The name of a study and of its table: where its `Study` is.
STUDIES = {
    "paper": "studies.paper:TABLES",
    "paper_epochs": "studies.paper:EPOCHS",
    "recipes": "studies.recipes.plan:STUDY",
    "recipes_images": "studies.recipes.images:STUDY",
    "recipes_unet": "studies.recipes.unet:STUDY",
    "guided": "studies.guided.tables:STUDY",
    "guided_few_rows": "studies.guided.tables:FEW_STUDY",
    "guided_images": "studies.guided.images:STUDY",
    "guided_head": "studies.guided.head:STUDY",
    "operating": "studies.operating:STUDY",
    "operating_weights": "studies.operating.weights:STUDY",
    "operating_images": "studies.operating.images:STUDY",
    "operating_small_batches": "studies.operating.small_batches:STUDY",
    "classes": "studies.classes.study:STUDY",
}
# The name of a generated page in `results`: a function from the folder of results to its text.
PAGES = {
    "paper": "studies.paper.report:render",
    "recipes": "studies.recipes.report:text",
    "guided": "studies.guided.report:page",
    "operating": "studies.operating.report:page",
    "classes": "studies.classes.report:page",
}
# Functions that draw figures, from the folder of results into a folder of images.
FIGURES = ("studies.paper.report.figures:write", "studies.recipes.report:figures", "studies.evidence:figures")
# Tables and numbers for the marked places of the docs: dictionaries of functions of the folder of results.
MARKED = ("studies.evidence:MARKED",)


def study(name: str) -> Study:
    """Returns a study."""
    found = load(STUDIES[name])
    assert found.name == name, f"{STUDIES[name]} is called {found.name}"
    return found


def load(path: str) -> Any:
    """Returns what `module:name` says."""
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)
