"""The catalog: facts, files and builders of all data sets agree, and listing them is cheap."""

import processes
import pytest

from keras_softsets import datasets
from keras_softsets.datasets import builders
from keras_softsets.datasets._catalog import CATALOG
from keras_softsets.datasets._tables import TableSource
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
