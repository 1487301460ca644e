"""The pages of the documentation: the tasks of the how-to, the table of the migration, and the site."""

import hashlib
import importlib
import importlib.util
import json
import re
import runpy
from pathlib import Path

import keras
import numpy as np
import pytest
from class_cases import classes_batch

import keras_softsets
from keras_softsets import metrics
from tools.docs_hooks import PROJECT_PAGES, as_page, on_config, on_page_markdown

ROOT = Path(__file__).resolve().parents[2]
HOW_TO = ROOT / "docs/how_to.md"
DEMO = ROOT / "studies/results/demo.json"  # what `make demo` wrote to runs/demo
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
INTRODUCTION, *SECTIONS = re.split(r"^## ", HOW_TO.read_text(), flags=re.MULTILINE)
RECIPES = {re.search(r"\{#(\S+)\}", section).group(1): section for section in SECTIONS}


@pytest.fixture(scope="module")
def introduced():
    """What the first block defines; loading the data once is enough."""
    (block,) = BLOCK.findall(INTRODUCTION)
    namespace = {"__name__": "__main__"}
    exec(compile(block, "how_to.md", "exec"), namespace)
    return namespace


# What some recipes arrive at: one that trains nothing useful teaches nothing.
REACHED = {"scikit-learn": lambda names: names["found"].mean() > 0.45}


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
    assert REACHED.get(name, lambda names: True)(namespace)


def test_the_table_at_the_top_names_every_recipe():
    assert sorted(re.findall(r"\]\(#(\S+?)\)", INTRODUCTION)) == sorted(RECIPES)


def test_a_recipe_says_what_it_needs():
    """An import of what neither the package nor its dependencies install is announced."""
    known = {"keras", "keras_softsets", "numpy", "tensorflow"}
    for name, section in RECIPES.items():
        imported = {found.split(".")[0] for found in re.findall(r"^(?:import|from) (\S+)", section, re.MULTILINE)}
        announced = set(", ".join(re.findall(r"<!-- needs: (.*?) -->", section)).split(", "))
        assert imported - known <= announced, name


MIGRATION = ROOT / "docs/migration.md"
ROWS = re.findall(r"^\| (ids|one-hot|one|several) \| `(.*?)` \| `(.*?)` \|$", MIGRATION.read_text(), re.MULTILINE)


def data(labels):
    ids, p, _ = classes_batch(n=120)
    p = np.where(np.isin(p, (0.3, 0.4, 0.5)), p + 1e-3, p)  # theirs is p > threshold, ours p >= threshold
    hot = np.eye(4, dtype="float32")[ids]
    return {"ids": (ids, p), "one-hot": (hot, p), "several": (hot, p), "one": (hot[:, 0], p[:, 0])}[labels]


@pytest.mark.parametrize(("labels", "theirs", "ours"), ROWS, ids=lambda value: value.split("(")[0])
def test_the_same_numbers(labels, theirs, ours):
    y, p = data(labels)
    found = []
    for name, module in ((theirs, keras.metrics), (ours, metrics)):
        metric = eval(name, vars(module))
        for rows in (slice(0, 7), slice(7, 120)):
            metric.update_state(y[rows], p[rows])
        found.append(np.asarray(metric.result()))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    assert np.all(found[0] > 0)


def test_no_row_is_forgotten():
    table = MIGRATION.read_text().split("## keras.metrics")[1]
    assert len(ROWS) == len(re.findall(r"^\| ", table, re.MULTILINE)) - 1  # without the head
    assert len(ROWS) > 15


DOCS = ROOT / "docs"


def test_the_version_is_beside_the_name():
    assert on_config({"site_name": "site"})["site_name"] == f"site {keras_softsets.__version__}"


def test_the_api_page_lists_every_public_class_and_function():
    pages = "\n".join(on_page_markdown(path.read_text()) for path in (DOCS / "api").glob("*.md"))
    modules = dict(
        re.findall(r"^::: (\S+)(?:\n    options:\n(?: .*\n)*?      members: \[(.*)\])?", pages, re.MULTILINE)
    )
    for module, members in modules.items():
        for name in filter(None, members.split(", ")):
            assert hasattr(importlib.import_module(module), name)
    listed = {name for members in modules.values() for name in members.split(", ")}
    listed |= {path.removeprefix("keras_softsets.") for path in modules}  # one class or function
    assert "keras_softsets.models" in modules  # a plain module, of which mkdocstrings shows everything
    listed |= set(vars(importlib.import_module("keras_softsets.models")))
    private = {
        "Scored",
        "sum_cells",
        "Evaluation",
        "resolve",
        "Thresholds",
        "NamedLoss",
        "CellsMetric",
        "PAPER_THRESHOLDS",
    }
    assert not private & listed  # not for users
    classes = {name for name, value in vars(keras_softsets).items() if callable(value) and not name.startswith("_")}
    assert classes <= listed


@pytest.mark.parametrize("page", ["losses", "metrics", "tools"])
def test_an_api_page_has_a_row_for_each_of_its_names(page):
    text = on_page_markdown((DOCS / "api" / f"{page}.md").read_text())
    members = re.findall(r"^::: (\S+)\n(?: .*\n)*?      members: \[(.*)\]", text, re.MULTILINE)
    paths = [f"{module}.{name}" for module, names in members for name in names.split(", ")]
    assert len(paths) > 20
    for path in paths:
        (line,) = re.findall(rf"^\| \[`\w+`\]\[{re.escape(path)}\] \| (.+) \|$", text, re.MULTILINE)
        found = getattr(importlib.import_module(path.rpartition(".")[0]), path.rpartition(".")[2])
        assert line == found.__doc__.splitlines()[0]


def test_no_marker_of_a_number_ends_a_paragraph():
    text = "found is\n<!-- number: kappa gain -->0.036 ± 0.008<!-- end --> here\n"
    assert on_page_markdown(text) == "found is\n0.036 ± 0.008 here\n"


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


def test_files_of_the_root_become_pages():
    text = "See [Evidence](docs/evidence.md#paper), [the studies](studies/README.md), [a](a.md)."
    assert as_page(text) == "See [Evidence](evidence.md#paper), the studies, [a](a.md)."
    for name in PROJECT_PAGES.values():
        linked = re.findall(r"\]\(([^)#]+\.md)", as_page((ROOT / name).read_text()))
        assert [link for link in linked if not (DOCS / link).exists()] == []


def test_a_site_that_github_builds_links_to_its_repository(monkeypatch):
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert "repo_url" not in on_config({"site_name": "site"})
    page = (DOCS / "getting_started.md").read_text()
    assert "colab" not in on_page_markdown(page)
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/somewhere")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    assert on_config({"site_name": "site"})["repo_url"] == "https://github.com/someone/somewhere"
    assert "/github/someone/somewhere/blob/main/examples/quickstart.ipynb)" in on_page_markdown(page)


def test_no_script_is_published():
    assert not list(DOCS.rglob("*.py"))


def test_code_fits_its_column():
    """92 characters on a screen of 1,280 pixels; longer lines would have to be scrolled."""
    for page in [*DOCS.rglob("*.md"), ROOT / "README.md"]:
        for block in re.findall(r"^ *```[^\n]*\n(.*?)^ *```$", page.read_text(), re.MULTILINE | re.DOTALL):
            long = [line for line in block.splitlines() if len(line) > 92]
            assert not long, f"{page.name}: {long}"


def test_the_table_of_the_demo_is_what_it_printed(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")  # as `python examples/demo.py` does
    table = runpy.run_path(str(ROOT / "examples/demo.py"))["table"]
    section = re.search(r"\[start:demo\] -->\n(.*?)\n<!--", (ROOT / "README.md").read_text(), re.DOTALL).group(1)
    assert section == table(json.loads(DEMO.read_text()))


def test_the_figure_of_the_demo_was_drawn_from_its_numbers():
    digest = hashlib.sha256(DEMO.read_bytes()).hexdigest()
    assert f"results.json, sha256 {digest}".encode() in (ROOT / "docs/images/demo.png").read_bytes()
