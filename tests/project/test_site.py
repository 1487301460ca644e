"""The site: what the API page lists, what the home page leads to, and that no script is published."""

import importlib
import re
from pathlib import Path

import keras_softsets
from benchmarks.docs_hooks import on_config, on_page_markdown

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_version_is_beside_the_name():
    assert on_config({"site_name": "site"})["site_name"] == f"site {keras_softsets.__version__}"


def test_the_api_page_lists_every_public_class_and_function():
    page = on_page_markdown((DOCS / "api.md").read_text())
    modules = dict(re.findall(r"^::: (\S+)(?:\n    options:\n      members: \[(.*)\])?", page, re.MULTILINE))
    for module, members in modules.items():
        for name in filter(None, members.split(", ")):
            assert hasattr(importlib.import_module(module), name)
    listed = {name for members in modules.values() for name in members.split(", ")}
    for module in ("keras_softsets.confusion", "keras_softsets.multiclass", "keras_softsets.models"):
        assert module in modules  # plain modules, of which mkdocstrings shows everything
        listed |= set(vars(importlib.import_module(module)))
    classes = {name for name, value in vars(keras_softsets).items() if callable(value) and not name.startswith("_")}
    assert classes <= listed


def test_the_home_page_answers_three_questions_with_a_click():
    home = (DOCS / "index.md").read_text()
    links = dict(re.findall(r"\[\**([^\]*]+)\**\]\(([^)#]+)", home))
    assert links["What do I gain on my problem, and when not?"] == "gain.md"
    assert links["How do I use it with class ids, logits, weights?"] == "how_to.md"
    assert links["What does it cost?"] == "benchmarks.md"
    assert {"I have a binary problem", "I have many classes", "I have masks"} <= set(links)


def test_every_piece_of_the_readme_that_pages_include_exists():
    readme = (ROOT / "README.md").read_text()
    for page in DOCS.glob("*.md"):
        for piece in re.findall(r'^--8<-- "README\.md:(\S+)"$', page.read_text(), re.MULTILINE):
            assert f"[start:{piece}]" in readme
            assert f"[end:{piece}]" in readme


def test_no_script_is_published():
    assert not list(DOCS.rglob("*.py"))


def test_code_fits_its_column():
    """92 characters on a screen of 1,280 pixels; longer lines would have to be scrolled."""
    for page in [*DOCS.glob("*.md"), ROOT / "README.md"]:
        for block in re.findall(r"^ *```[^\n]*\n(.*?)^ *```$", page.read_text(), re.MULTILINE | re.DOTALL):
            long = [line for line in block.splitlines() if len(line) > 92]
            assert not long, f"{page.name}: {long}"
