"""The catalog: facts, files and builders of all data sets agree; the recipe for another one works to the letter."""

import hashlib
import re
import shutil
from pathlib import Path

import numpy as np
import processes
import pytest

from keras_softsets import datasets
from keras_softsets.datasets import builders
from keras_softsets.datasets._catalog import CATALOG
from keras_softsets.datasets._data_set import TableSource
from keras_softsets.datasets.builders import BUILDERS

LETTERS = (
    789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792,
    783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734,
)  # fmt: skip


def test_import_is_cheap():
    """The import and `describe` need nothing that only the extra installs. (Keras itself tries to import Pillow.)"""
    code = """
import sys
sys.modules.update(dict.fromkeys(["tensorflow_datasets", "importlib_resources", "etils", "PIL", "tqdm"]))
import keras_softsets.datasets
print(len(keras_softsets.datasets.describe()), "keras_softsets.datasets.builders" in sys.modules)
"""
    assert processes.run_code(code).stdout.split() == [str(len(CATALOG)), "False"]


def test_describe_states_the_published_numbers_in_alphabetical_order():
    numbers = {
        facts.name: (facts.size, facts.positives, facts.features, facts.classes) for facts in datasets.describe()
    }
    assert numbers == {
        "adult": (48_842, 11_687, 13, 2),
        "cifar10_frog": (60_000, 6_000, 3_072, 2),
        "cifar10_transportation": (60_000, 24_000, 3_072, 2),
        "cocktail_party": (4_800, 1_454, 22, 2),
        "creditcard_fraud": (284_807, 492, 29, 2),
        "letter": (20_000, LETTERS, 16, 26),
        "mammography": (11_183, 260, 6, 2),
        "spambase": (4_601, 1_813, 57, 2),
        "synthetic_05": (5_250, 250, 3, 2),
        "synthetic_33": (7_500, 2_500, 3, 2),
        "wine_quality": (4_898, (183, 1_457, 2_198, 880, 180), 11, 5),
    }
    assert list(numbers) == sorted(numbers)


@pytest.mark.parametrize("name", CATALOG)
def test_facts_agree_with_each_other_and_with_the_source(name):
    data_set = CATALOG[name]
    facts, source = data_set.facts, data_set.source
    assert facts.name == name
    assert facts.licence
    assert facts.source.startswith("https://") or facts.source == "generated"
    if facts.classes > 2:
        assert len(facts.positives) == facts.classes
        assert sum(facts.positives) == facts.size
    if isinstance(source, TableSource):
        assert len(set(source.columns)) == len(source.columns) == facts.features
        assert len(set(source.classes)) == len(source.classes) == facts.classes
        assert all(file.url or file.page for file in source.files)


@pytest.mark.parametrize(
    ("positives", "classes", "line"),
    [
        (12, 2, "toy                        100 samples,     12 positive (12.00%),    3 features; free"),
        ((60, 25, 15), 3, "toy                        100 samples,      3 classes, 15 to 60,    3 features; free"),
    ],
)
def test_a_description_is_printed_as_a_line(positives, classes, line):
    facts = datasets.Description("toy", 100, positives, 3, source="here", licence="free", classes=classes)
    assert str(facts) == line


def test_a_description_without_classes_is_binary():
    assert datasets.Description("toy", 100, 12, 3, "here", "free").classes == 2


def test_every_data_set_has_a_builder_that_the_module_exports():
    assert list(BUILDERS) == list(CATALOG)
    for name, builder in BUILDERS.items():
        assert builder.__name__.lower() == name.replace("_", "")
        assert getattr(builders, builder.__name__) is builder
        assert builder.data_set is CATALOG[name]


def test_no_builder_takes_a_name_from_tfds():
    """TFDS imports its own builders when it is first asked for a list, and refuses names that are taken."""
    code = (
        "import keras_softsets.datasets.builders as b, tensorflow_datasets as tfds; known = tfds.list_builders();"
        "print(len(known), all(tfds.builder_cls(each.name) is each for each in b.BUILDERS.values()))"
    )
    known, ours = processes.run_code(code).stdout.split()
    assert int(known) > 100 + len(BUILDERS)
    assert ours == "True"


def test_official_digests_are_registered_with_tfds():
    tables = [builder for name, builder in BUILDERS.items() if not name.startswith("cifar10")]  # TFDS has its own.
    registered = {url: (info.size, info.checksum) for table in tables for url, info in table.url_infos.items()}
    uci = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
    assert registered == {
        uci + "adult/adult.data": (
            3_974_305, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        ),
        uci + "adult/adult.test": (
            2_003_153, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        ),
        uci + "letter-recognition/letter-recognition.data": (
            712_565, "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
        ),
        uci + "spambase/spambase.data": (
            702_942, "b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12",
        ),
        uci + "wine-quality/winequality-white.csv": (
            264_426, "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
        ),
        "https://storage.googleapis.com/download.tensorflow.org/data/creditcard.csv": (
            150_828_752, "76274b691b16a6c49d3f159c883398e03ccd6d1ee12d9d8ee38f4b4b98551a89",
        ),
    }  # fmt: skip


ROOT = Path(__file__).parents[2]
LINES = [f"{x},{(7 * x) % 100},{int(x >= 50)}" for x in range(100)]
WRONG = {"label": (7, "7,49,2"), "number": (9, "9,sixty,0"), "digest": (11, "11,78,0")}
USE = """
import sys
import numpy as np
import tensorflow_datasets as tfds
import keras_softsets
import keras_softsets.datasets.builders
from keras_softsets import datasets

assert keras_softsets.__file__.startswith(sys.path[0])
(facts,) = [each for each in datasets.describe() if each.name == "toy"]
print(facts.size, facts.positives, facts.features, facts.licence)
train, validation, test = datasets.load("toy", raw_dir="raw", data_dir="prepared")
print(*(len(y) for _, y in (train, validation, test)))
rows = tfds.load("toy", split="train", data_dir="prepared", as_supervised=True).as_numpy_iterator()
np.save("rows.npy", [[*x, y] for x, y in rows])
for folder in ("label", "number", "digest"):
    try:
        datasets.load("toy", raw_dir=folder, data_dir=f"prepared_{folder}")
    except ValueError as error:
        print(str(error).split("toy.csv")[1])
"""


def recipe():
    """The code of the file, and the line that the catalog gets."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    (section,) = re.findall(r"^\*\*Add a data set\.\*\*(.*?)^\*\*Conventions", page, re.MULTILINE | re.DOTALL)
    assert "keras_softsets/datasets/sets/<name>.py" in section
    (code,) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    (line,) = re.findall(r"add its line to `datasets/_catalog\.py`, `([^`]+)`", section)
    return code, line


@pytest.fixture
def with_toy(tmp_path):
    """A copy of the package with the data set, and its file; only the digest and the size are filled in."""
    code, line = recipe()
    content = "".join(row + "\n" for row in LINES).encode()
    facts = {"<the digest of the official file>": hashlib.sha256(content).hexdigest(), "1_600": str(len(content))}
    for blank, fact in facts.items():
        assert code.count(blank) == 1
        code = code.replace(blank, fact)
    package = tmp_path / "keras_softsets"
    shutil.copytree(ROOT / "keras_softsets", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "datasets/sets/toy.py").write_text(code)
    catalog = package / "datasets/_catalog.py"
    before = "from keras_softsets.datasets.sets.wine_quality"
    assert before in catalog.read_text()
    catalog.write_text(catalog.read_text().replace(before, f"{line}\n{before}"))
    for folder, (place, wrong) in {"raw": (0, LINES[0]), **WRONG}.items():
        (tmp_path / folder / "toy").mkdir(parents=True)
        rows = [*LINES[:place], wrong, *LINES[place + 1 :]]
        (tmp_path / folder / "toy" / "toy.csv").write_text("".join(row + "\n" for row in rows))
    (tmp_path / "use.py").write_text(USE)
    return tmp_path


def test_a_data_set_made_by_the_recipe_is_listed_loaded_and_known_to_tfds(with_toy):
    printed = processes.run_well(with_toy / "use.py", cwd=with_toy)
    facts, parts, label, number, digest = printed.splitlines()
    assert (facts, parts) == ("100 50 2 CC0", "64 16 20")
    np.testing.assert_array_equal(np.load(with_toy / "rows.npy"), [list(map(int, row.split(","))) for row in LINES])
    assert label == ", line 8: column label must be 0 or 1, received '2'."
    assert number == ", line 10: column y must be a finite number, received 'sixty'."
    assert digest.startswith(" must have the sha256 ")
