"""What CONTRIBUTING says: rooms in the order of data, imports that point one way, recipes that work to the letter."""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).parents[2] / "keras_softsets"
CONTRIBUTING = PACKAGE.parent / "CONTRIBUTING.md"
FILES = sorted(PACKAGE.rglob("*.py"))
OF_TENSORFLOW = ("_backend", "export", "datasets")


def rooms():
    """The order of each room: the row of the table in CONTRIBUTING."""
    table = CONTRIBUTING.read_text().split("| room | what it knows |")[1].split("\n\n")[0]
    rows = [re.findall(r"`([\w./]+)`", line.split("|")[1]) for line in table.splitlines()[2:]]
    return {name.rstrip("/").removesuffix(".py"): row for row, names in enumerate(rows) for name in names}


def room_of(file):
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(file):
    """What a file imports when it runs; imports for type checkers alone do not count."""
    tree = ast.parse(file.read_text())
    for_types = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    skipped = {id(inner) for node in for_types for inner in ast.walk(node)}
    return [n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) and id(n) not in skipped]


def modules(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names] if node.module else []


def test_every_room_is_in_the_table():
    found = {room_of(file) for file in FILES} - {"__init__", "__main__", "thresholds"}  # the last is a former name
    assert found == set(rooms())


@pytest.mark.parametrize("file", [f for f in FILES if room_of(f) in rooms()], ids=lambda f: str(f.relative_to(PACKAGE)))
def test_imports_point_upwards(file):
    order = rooms()
    imported = {name.split(".")[1] for node in imports_of(file) for name in modules(node) if "keras_softsets." in name}
    below = {room for room in imported & set(order) if order[room] > order[room_of(file)]}
    assert not below, f"{file.name} imports rooms below its own: {below}"
    assert "thresholds" not in imported, f"{file.name} imports `tuning` by its former name"


def test_tensorflow_is_imported_where_contributing_says():
    importing = {
        file.relative_to(PACKAGE).parts[0]
        for file in FILES
        for node in imports_of(file)
        if any(name.split(".")[0] == "tensorflow" for name in modules(node))
    }
    assert importing <= set(OF_TENSORFLOW)
    said = CONTRIBUTING.read_text().split("`import tensorflow` appears only in")[1].split(";")[0]
    assert {name.rstrip("/") for name in re.findall(r"`([\w./]+)`", said)} == set(OF_TENSORFLOW)


def test_only_the_seam_knows_other_backends():
    libraries = ("jax", "torch", "keras_softsets._backend.")
    knowing = {
        file.relative_to(PACKAGE).parts[0]
        for file in FILES
        for node in imports_of(file)
        for name in (*modules(node), getattr(node, "module", None) or "")
        if name.split(".")[0] in libraries or (name.startswith(libraries[2]) and len(name.split(".")) > 3)
    }
    assert knowing == {"_backend"}


def test_no_other_room_asks_which_backend_it_is():
    asked = re.compile(r"config\.backend\b|backend\.backend\(|KERAS_BACKEND|hasattr\([^)]*[\"']numpy[\"']")
    asking = {room_of(file) for file in FILES if asked.search(file.read_text())}
    assert asking == {"_backend"}


def test_tensorflow_is_imported_on_use():
    """Outside its backend, in functions; only TFDS, which `load` imports on use, has modules that need it."""
    at_once = {
        str(file.relative_to(PACKAGE))
        for file in FILES
        for node in ast.parse(file.read_text()).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        and any(name.split(".")[0].startswith("tensorflow") for name in modules(node))
    }
    assert {name for name in at_once if not name.startswith("_backend/tensorflow/")} == {"datasets/_tfds.py"}


def test_no_file_is_long():
    lengths = {file.name: len(file.read_text().splitlines()) for file in FILES}
    assert max(lengths.values()) <= 300, max(lengths, key=lengths.get)


def test_decisions_are_values_that_import_no_kernel():
    imported = {n for f in (PACKAGE / "decisions").glob("*.py") for node in imports_of(f) for n in modules(node)}
    assert imported
    assert not [name for name in imported if "_backend.tensorflow" in name or "operating" in name]


ROOT = pathlib.Path(__file__).parents[2]
TRIED = """
import numpy as np
import keras, keras_softsets as ks
from keras_softsets import scores
y, p = [0, 1, 1, 0], [0.3, 0.4, 0.9, 0.6]
value = ks.evaluate(y, p, "markedness")
assert abs(value - (1 / 2 + 1 / 2 - 1)) < 1e-6, value
loss = ks.SoftMarkedness()
assert abs(float(loss(y, p)) - float(ks.SoftSetLoss("markedness")(y, p))) < 1e-6
again = keras.losses.deserialize(keras.losses.serialize(loss))
assert float(again(y, p)) == float(loss(y, p)) and repr(again) == "SoftMarkedness()"
assert abs(float(ks.metrics.Markedness()(y, p)) - value) < 1e-6
ids, rows = [0, 1, 1], [[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]]
assert ks.evaluate(ids, rows, "smallest_recall") == 0.5
assert "smallest_recall" in scores.names("classes")
assert float(ks.SmoothstepHeaviside()(0.5, 0.5)) == 0.5
assert np.isfinite(float(ks.SoftF1(heaviside=ks.SmoothstepHeaviside())(y, p)))
assert ks.evaluate([[1, 0, 1]], [[0.5, 0.2, 0.4]], "recall", threshold=ks.TopK(2), average="micro") == 1.0
top = ks.SoftF1(threshold=ks.TopK(2))
assert repr(keras.losses.deserialize(keras.losses.serialize(top))) == repr(top) == "SoftF1(threshold=TopK(k=2))"
print("followed")
"""


def append(path, text):
    path.write_text(path.read_text().rstrip() + "\n\n\n" + text)


def export(path, module, name):
    path.write_text(path.read_text() + f"from {module} import {name} as {name}\n")


@pytest.fixture
def blocks():
    """The blocks of code of each recipe."""
    parts = re.split(r"^\*\*(Add [^*]*)\.\*\*", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    return {title: re.findall(r"```python\n(.*?)```", text, re.DOTALL) for title, text in zip(parts[1::2], parts[2::2])}


def test_scores_approximations_and_decisions(tmp_path, blocks):
    package = tmp_path / "keras_softsets"
    shutil.copytree(ROOT / "keras_softsets", package, ignore=shutil.ignore_patterns("__pycache__"))
    formula, exported, named = blocks["Add a score"]
    append(package / "scores" / "_formulas.py", formula)
    export_line = exported.splitlines()[0].split("  #")[0]
    (package / "scores" / "__init__.py").write_text(
        (package / "scores" / "__init__.py").read_text() + export_line + "\n"
    )
    append(package / "losses" / "_named.py", named)
    metric = named.replace("SoftMarkedness", "Markedness").replace("NamedLoss", "NamedMetric")
    append(package / "metrics" / "_named.py", metric)
    export(package / "losses" / "__init__.py", "keras_softsets.losses._named", "SoftMarkedness")
    export(package / "metrics" / "__init__.py", "keras_softsets.metrics._named", "Markedness")
    export(package / "__init__.py", "keras_softsets.losses", "SoftMarkedness")
    append(package / "scores" / "_classes.py", blocks["Add a score of the c x c matrix"][0])
    export(package / "scores" / "__init__.py", "keras_softsets.scores._classes", "smallest_recall")
    (package / "heaviside" / "_smoothstep.py").write_text(blocks["Add an approximation"][0])
    (package / "decisions" / "_top_k.py").write_text(blocks["Add a decision"][0])
    for room, module, name in (("heaviside", "_smoothstep", "SmoothstepHeaviside"), ("decisions", "_top_k", "TopK")):
        export(package / room / "__init__.py", f"keras_softsets.{room}.{module}", name)
        export(package / "__init__.py", f"keras_softsets.{room}", name)
    doctests = "import doctest, keras_softsets.scores._formulas as f, keras_softsets.losses._named as n\n"
    doctests += "assert not sum(doctest.testmod(m).failed for m in (f, n))\n"
    done = subprocess.run(
        [sys.executable, "-c", TRIED + doctests],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert "followed" in done.stdout
