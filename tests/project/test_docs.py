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
MODULES = [  # private ones, too: most classes and functions live there
    module.name
    for module in pkgutil.walk_packages(keras_softsets.__path__, "keras_softsets.")
    if "builder" not in module.name  # these need TensorFlow Datasets, and have tests of their own
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES.remove(ROOT / "docs/how_to.md")  # has a test of its own, in which every recipe runs alone
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
        if "builder" not in path.name:
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    """Blocks of one page share their names, top to bottom, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    namespace = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, f"{page.name}: {block.splitlines()[0]}", "exec"), namespace)


def test_the_table_in_the_readme_is_the_registry():
    rows = re.findall(
        r"^\| `(\w+)` \| `([^`]+)` \| `([^`]+)` \| (.*)\|$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    ours = {name for name in scores.names() if hasattr(scores, name)}  # of both kinds, not what docstrings register
    assert {row[0] for row in rows} == ours
    for name, loss, metric, parameters in rows:
        assert eval(loss, vars(keras_softsets) | {"__builtins__": {}}) is not None
        for text, base in ((loss, losses.NamedLoss), (metric.removeprefix("metrics."), metrics.NamedMetric)):
            named = {c.__name__: c.score_name for c in base.__subclasses__()}
            assert named.get(text, name) == name
            assert text in named or name in text
        defaults = inspect.signature(scores.get(name).function).parameters.values()
        assert parameters.strip().strip("`") == ", ".join(f"{p.name}={p.default}" for p in list(defaults)[1:])


def test_another_backend_is_refused():
    code = "import keras; keras.config.backend = lambda: 'torch'; import keras_softsets"
    out = processes.run_code(code)
    assert out.returncode != 0
    assert "needs Keras's TensorFlow backend. Received: KERAS_BACKEND=torch" in out.stderr


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
