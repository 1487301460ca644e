"""What is written down runs: docstring examples, code blocks of README and docs, and every public name is explained."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import keras
import processes
import pytest
from keras import ops

import keras_softsets
from keras_softsets import losses, metrics, scores

ROOT = Path(__file__).parents[2]
ELSEWHERE = re.compile(r"builder|_backend/_?(jax|torch)")  # what needs TFDS or another backend than TensorFlow
MODULES = [  # private ones, too: most classes and functions live there
    module.name
    for module in pkgutil.walk_packages(keras_softsets.__path__, "keras_softsets.")
    if not ELSEWHERE.search(module.name.replace(".", "/"))
]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# A block and what a page says that it prints; numbers may differ by so much on another machine.
PRINTS = re.compile(
    r"^```python\n((?:(?!^```).)*)^```\n\n<!-- prints, within ([\d.]+) -->\n```text\n(.*?)^```",
    re.DOTALL | re.MULTILINE,
)
NUMBER = re.compile(r"-?\d+\.\d+")
PAGES = [  # with Python in them; the recipes of how_to.md have a test of their own, in which each runs alone
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if page.name != "how_to.md" and BLOCK.search(page.read_text())
]
GLOBALS = {"keras": keras, "ops": ops}


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=GLOBALS):
        assert not runner.run(test).failed, test.name


def test_no_docstring_example_is_forgotten():
    """Every example that is written in the package belongs to an object that the finder finds in some module."""
    tested = set()
    for name in MODULES:
        module = importlib.import_module(name)
        tested |= {example.source for test in doctest.DocTestFinder().find(module) for example in test.examples}
    package = Path(keras_softsets.__path__[0])
    written = doctest.DocTestParser()
    for path in package.rglob("*.py"):
        if not ELSEWHERE.search(path.as_posix()):
            text = path.read_text().replace('"""', "\n\n")
            missing = [e.source for e in written.get_examples(text) if e.source not in tested]
            assert not missing, f"{path.relative_to(package)}: {missing}"


def public_objects():
    for name, value in vars(keras_softsets).items():
        if not name.startswith("_"):
            yield name, value
    for module in (keras_softsets.metrics, keras_softsets.scores, keras_softsets.decisions):
        for name, value in vars(module).items():
            if not name.startswith("_") and str(getattr(value, "__module__", "")).startswith(module.__name__):
                yield f"{module.__name__}.{name}", value


@pytest.mark.parametrize(("name", "value"), list(public_objects()), ids=lambda v: v if isinstance(v, str) else "")
def test_every_public_name_is_explained(name, value):
    assert inspect.getdoc(value), f"{name} has no docstring"
    classes_and_scores = inspect.isclass(value) or isinstance(value, keras_softsets.scores.Score)
    bases = (
        "NamedMetric",
        "CellsMetric",
        "ConfusionMatrix",
        "MulticlassMatrix",
        "Decision",
        "AtRate",
        "Thresholds",
        "OperatingPointMetric",
    )
    if classes_and_scores and not name.endswith(bases):
        assert ">>>" in value.__doc__, f"{name} has no example"
    if isinstance(value, keras_softsets.scores.Score) and value.function.__module__.startswith("keras_softsets.scores"):
        assert "Formula:" in value.__doc__
        assert "Reference:" in value.__doc__


def test_pages_with_code_are_found():
    """One that is written in another way, such as with tildes, would not be run."""
    assert len(PAGES) > 8
    other = {p.name for p in (ROOT / "docs").glob("*.md") if re.search(r"^ *(~~~|```py$)", p.read_text(), re.MULTILINE)}
    assert other == {"serving.md"}  # a client of a server that runs elsewhere


@pytest.mark.pages
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch, capsys):
    """Blocks of one page share their names, top to bottom, as a reader would type them; they print what pages show."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    expected = {code: (float(within), text) for code, within, text in PRINTS.findall(page.read_text())}
    for block in BLOCK.findall(page.read_text()):
        capsys.readouterr()
        exec(compile(block, f"{page.name}: {block.splitlines()[0]}", "exec"), namespace)
        if block in expected:
            within, text = expected.pop(block)
            shown = capsys.readouterr().out
            assert NUMBER.sub("#", shown) == NUMBER.sub("#", text)
            found, said = ([float(number) for number in NUMBER.findall(each)] for each in (shown, text))
            assert found == pytest.approx(said, abs=within), shown
    assert not expected


def test_every_example_that_trains_shows_what_it_prints():
    """A page that trains a model without saying what came out may have trained one that knows nothing."""
    shown = {page.name for page in PAGES if PRINTS.search(page.read_text())}
    assert {"README.md", "getting_started.md", "operating_points.md"} <= shown


def test_the_table_of_scores_is_the_registry():
    page = (ROOT / "docs/api/scores.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| `([^`]+)` \| (.*)\|$", page, re.MULTILINE)
    ours = {name for name in scores.names() if hasattr(scores, name)}  # of both kinds, not what docstrings register
    assert {row[0] for row in rows} == ours
    for name, loss, metric, parameters in rows:
        made = eval(loss, vars(keras_softsets) | {"__builtins__": {}})
        made = made() if inspect.isclass(made) else made
        assert isinstance(made, keras_softsets.SoftSetLoss)
        assert (
            made.get_config()["score"] == name if type(made) is keras_softsets.SoftSetLoss else made.score_name == name
        )
        for text, base in ((loss, losses.NamedLoss), (metric.removeprefix("metrics."), metrics.NamedMetric)):
            named = {c.__name__: c.score_name for c in base.__subclasses__()}
            assert named.get(text, name) == name
            assert text in named or name in text
        defaults = inspect.signature(scores.get(name).function).parameters.values()
        assert parameters.strip().strip("`") == ", ".join(f"{p.name}={p.default}" for p in list(defaults)[1:])


def test_another_backend_is_refused():
    code = "import keras; keras.config.backend = lambda: 'numpy'; import keras_softsets"
    out = processes.run_code(code)
    assert out.returncode != 0
    assert "Received: KERAS_BACKEND=numpy" in out.stderr


def test_the_public_names_exist():
    names = """
        LinearHeaviside SigmoidHeaviside StepHeaviside TabulatedHeaviside confusion_matrix scores score SoftSetLoss
        SoftFBeta SoftF1 SoftAccuracy SoftBalancedAccuracy SoftPrecision SoftRecall SoftSpecificity SoftJaccard
        SoftGMean SoftMCC SoftTversky SoftAUROC SoftAUPRC metrics WindowedEarlyStopping tune_threshold
        export_classifier check_score datasets models plots
    """
    assert not [name for name in names.split() if not hasattr(keras_softsets, name)]
    names = """
        SoftSetMetric FBeta F1 Accuracy BalancedAccuracy Precision Recall Specificity Jaccard GMean MCC Tversky AUROC
        AUPRC Confusion
    """
    assert not [name for name in names.split() if not hasattr(keras_softsets.metrics, name)]
