"""Every recipe of docs/how_to.md runs on its own after the page's first block, and says so if a package is missing."""

import importlib.util
import re
from pathlib import Path

import keras
import pytest

PAGE = Path(__file__).parents[2] / "docs/how_to.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
INTRODUCTION, *SECTIONS = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
RECIPES = {re.search(r"\{#(\S+)\}", section).group(1): section for section in SECTIONS}


@pytest.fixture(scope="module")
def introduced():
    """What the first block defines; loading the data once is enough."""
    (block,) = BLOCK.findall(INTRODUCTION)
    namespace = {"__name__": "__main__"}
    exec(compile(block, "how_to.md", "exec"), namespace)
    return namespace


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_runs(name, introduced, tmp_path, monkeypatch):
    for needed in re.findall(r"<!-- needs: (.*?) -->", RECIPES[name]):
        for module in needed.split(", "):
            if importlib.util.find_spec(module) is None:
                pytest.skip(f"{module} is not installed")
    monkeypatch.chdir(tmp_path)
    keras.utils.set_random_seed(0)
    namespace = dict(introduced)
    for block in BLOCK.findall(RECIPES[name]):
        exec(compile(block, f"how_to.md: {name}", "exec"), namespace)


def test_the_table_at_the_top_names_every_recipe():
    assert sorted(re.findall(r"\]\(#(\S+?)\)", INTRODUCTION)) == sorted(RECIPES)


def test_a_recipe_says_what_it_needs():
    """An import of what neither the package nor its dependencies install is announced."""
    known = {"keras", "keras_softsets", "numpy", "tensorflow"}
    for name, section in RECIPES.items():
        imported = {found.split(".")[0] for found in re.findall(r"^(?:import|from) (\S+)", section, re.MULTILINE)}
        announced = set(", ".join(re.findall(r"<!-- needs: (.*?) -->", section)).split(", "))
        assert imported - known <= announced, name
