"""Hooks of mkdocs: the version, the source's address, pages from outside of docs/, the public names of each module."""

from __future__ import annotations

import ast
import functools
import os
import re
from pathlib import Path
from typing import Any

try:
    from griffe import Extension
except ModuleNotFoundError:  # the tests need only the functions
    Extension = object

ROOT = Path(__file__).parents[1]
# Bases that named classes share, and constants: exported for the package's own rooms.
NOT_FOR_USERS = re.compile(
    r"Named\w+|CellsMetric|OperatingPointMetric|AtRate|Thresholds|[A-Z_]+_[A-Z]+|COLOURS|STYLES|GRID"
)
DIRECTIVE = r"^::: (keras_softsets\.\w+)$((?:\n    .*$)*)"
PROJECT_PAGES = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def on_config(config: Any) -> Any:
    """Adds the version, which is stated only in `keras_softsets/__init__.py`, to the name that every page shows.

    A site that GitHub builds links to its repository; elsewhere nobody knows the address.
    """
    text = (ROOT / "keras_softsets/__init__.py").read_text()
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found, "keras_softsets/__init__.py must state __version__"
    config["site_name"] += f" {found.group(1)}"
    if repository := os.environ.get("GITHUB_REPOSITORY"):
        config["repo_url"] = f"{os.environ['GITHUB_SERVER_URL']}/{repository}"
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the changelog and the notes for contributors as pages."""
    from mkdocs.structure.files import File

    for page, source in PROJECT_PAGES.items():
        files.append(File.generated(config, page, content=as_page((ROOT / source).read_text())))
    return files


def as_page(text: str) -> str:
    """Returns a file of the repository's root as a page: links to docs/ become relative, others plain text."""
    text = re.sub(
        r"^```mermaid\n.*?^```\n\n", "", text, flags=re.DOTALL | re.MULTILINE
    )  # its script is on another server
    text = re.sub(r"\[([^\]]*)\]\((?!https?://|#|docs/|\w+\.md)[^)\s]*\)", r"\1", text)
    return re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", text)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lists the members of each package: mkdocstrings leaves out what is imported from private modules."""
    markdown = markdown.replace("<!-- colab -->\n", colab_badge())
    # A line that begins with a comment would end its paragraph.
    markdown = re.sub(r"<!-- (number: [^>]*|end) -->", "", markdown)
    markdown = re.sub(DIRECTIVE, lambda found: with_members(*found.groups()), markdown, flags=re.M)
    return markdown.replace("<!-- names -->", table_of_names(markdown))


def table_of_names(markdown: str) -> str:
    """Returns a table of everything that the page's directives show: a link, and the first line of the docstring."""
    rows = ["| name | what it is |", "|---|---|"]
    for path, options in re.findall(DIRECTIVE, markdown, flags=re.M):
        listed = re.search(r"members: \[(.*)\]", options)
        paths = [f"{path}.{name}" for name in listed[1].split(", ")] if listed else [path]
        rows += [f"| [`{each.rpartition('.')[2]}`][{each}] | {first_line(each)} |" for each in paths]
    return "\n".join(rows)


def first_line(path: str) -> str:
    """Returns the first line of a docstring, where the name is defined in or below its module, or else anywhere."""
    module, _, name = path.rpartition(".")
    below = str(ROOT / module.replace(".", "/"))
    found = sorted(first_lines().get(name, []), key=lambda each: not each[0].startswith(below))
    assert found, f"{path} has no docstring"
    return found[0][1].replace("|", "\\|")


@functools.cache
def first_lines() -> dict[str, list[tuple[str, str]]]:
    """Returns the files that define a class or function of each name, with the first line of its docstring."""
    found: dict[str, list[tuple[str, str]]] = {}
    for file in sorted((ROOT / "keras_softsets").rglob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                found.setdefault(node.name, []).append((str(file), text.splitlines()[0]))
    return found


def colab_badge() -> str:
    """Returns a badge that opens the notebook in Colab, which reads it from the repository on GitHub."""
    if not (repository := os.environ.get("GITHUB_REPOSITORY")):
        return ""
    colab = "https://colab.research.google.com"
    badge = f"[![Open in Colab]({colab}/assets/colab-badge.svg)]"
    return f"{badge}({colab}/github/{repository}/blob/main/examples/quickstart.ipynb)\n\n"


def with_members(module: str, options: str) -> str:
    """Returns the directive for a module, with the public names that its options do not list or leave out."""
    if "members:" in options:
        return f"::: {module}{options}"
    path = ROOT / module.replace(".", "/") / "__init__.py"
    path = path if path.exists() else path.parent.with_suffix(".py")
    if not path.exists():  # a class or a function
        return f"::: {module}{options}"
    text = path.read_text()
    public = re.search(r"^__all__ = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    names = (
        re.findall(r"\w+", public[1]) if public else re.findall(r"^from \S+ import (\w+) as \1$", text, re.MULTILINE)
    )
    everywhere = public_names()
    if module.removeprefix("keras_softsets.") not in everywhere:  # its names are public where the package exports them
        names = [name for name in names if name in everywhere]
    names = [name for name in names if not NOT_FOR_USERS.fullmatch(name)]
    if not names:
        return f"::: {module}{options}"
    return f"::: {module}{options or chr(10) + '    options:'}\n      members: [{', '.join(names)}]"


def public_names() -> set[str]:
    """Returns what `keras_softsets.__all__` lists."""
    text = (ROOT / "keras_softsets/__init__.py").read_text()
    listed = re.search(r"^__all__ = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    assert listed, "keras_softsets/__init__.py must state __all__"
    return set(re.findall(r"\w+", listed[1]))


class Signatures(Extension):  # type: ignore[misc]
    """Leaves out of signatures what only explains a mistake to the caller: parameters of the type `Never`."""

    def on_function_instance(self, *, func: Any, **_: Any) -> None:
        """Called by griffe for each function that it has read."""
        for parameter in list(func.parameters):
            if str(parameter.annotation) == "Never":
                func.parameters._params.remove(parameter)
