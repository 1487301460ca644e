import atexit
import gc
import os
import re
import shutil
import tempfile
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

if "TFDS_DATA_DIR" not in os.environ:  # examples in docs prepare small data sets; not in the user's home
    os.environ["TFDS_DATA_DIR"] = tempfile.mkdtemp(prefix="keras_softsets_")
    atexit.register(shutil.rmtree, os.environ["TFDS_DATA_DIR"], ignore_errors=True)

import pytest

# On another backend than TensorFlow, files that import it are left out: `make test-jax` and `make test-torch` run the
# rest where TensorFlow is not installed.
BACKEND = os.environ.get("KERAS_BACKEND", "tensorflow")
_NEEDS_TENSORFLOW = re.compile(
    r"^(import|from) (tensorflow|tf2onnx|exported_models|serving_messages|processes|thrift)", re.MULTILINE
)


def pytest_ignore_collect(collection_path):
    """Leaves out files whose tests are TensorFlow's alone."""
    if BACKEND == "tensorflow" or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    other = collection_path.parent.name != "package" or collection_path.name in OF_TENSORFLOW
    return True if other or _NEEDS_TENSORFLOW.search(collection_path.read_text()) else None


# They do not import TensorFlow, but run scripts that do, or mypy, which is installed beside it.
OF_TENSORFLOW = ("test_backups.py", "test_contributing.py")

# Functions import TensorFlow: the process that only hands out files to pytest's workers does without.
LONGEST = (
    "test_replicas.py",
    "test_examples.py",
    "test_training.py",
    "test_kernels.py",
    "test_operating_losses.py",
    "test_sizes.py",
    "test_docs.py",
    "test_scores.py",
    "test_operating_points.py",
    "test_definition.py",
    "test_saving.py",
    "test_losses.py",
    "test_kept_samples.py",
    "test_distributions.py",
    "test_pages.py",
    "test_backups.py",
)


# The core of the package: what nearly every change touches, in about a minute (`make quick`).
QUICK = (
    "test_confusion.py",
    "test_scores.py",
    "test_evaluation.py",
    "test_inputs.py",
    "test_heaviside.py",
    "test_repr.py",
)

# The core on another backend, for `make test-all`: one file. JAX compiles every step, and leaves these out.
QUICK_ELSEWHERE = "test_backends.py"
LONG_ON_JAX = re.compile(
    r"float64_oracle\[Soft(?!F1|MCC|Tversky)|second_derivatives|move_from_the_list|\[(AUROC|Calib)|keeps_all|empty_batch|command_line"
)


# Coverage makes a test a third slower. What these run, others run too, so it is not counted here.
UNCOUNTED = (
    "test_backends.py",
    "test_definition.py",
    "test_guided_training.py",
    "test_kernels.py",
    "test_operating_losses.py",
    "test_replicas.py",
    "test_saving.py",
    "test_sizes.py",
    "test_training.py",
)


def pytest_collection_modifyitems(items):
    """The longest files first: each file goes to one pytest worker, and none should get them at the end."""
    for item in items:
        if _is_quick(item):
            item.add_marker("quick")
        if item.path.name in UNCOUNTED or item.path.parent.name not in ("package", "datasets"):
            item.add_marker("no_cover")
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


def _is_quick(item):
    if item.path.parent.name != "package":
        return False
    if BACKEND == "tensorflow":
        return item.path.name in QUICK
    return item.path.name == QUICK_ELSEWHERE and not (BACKEND == "jax" and LONG_ON_JAX.search(item.name))


def pytest_collection_finish():
    """What importing has left lives to the end; looking through it again and again would only take time."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _thrift():
    if BACKEND == "tensorflow":
        import thrift

        thrift.spare()


@pytest.fixture(scope="module", autouse=True)
def _compiled_steps():
    """JAX keeps all that it has compiled: 4 GB for each pytest worker, if nothing let go of it."""
    yield
    if BACKEND == "jax":
        import jax

        jax.clear_caches()


@pytest.fixture(autouse=True)
def _fresh_state():
    """A test's seed, dtype policy and scores of its own are gone after it."""
    import keras

    from keras_softsets.scores import _registry

    keras.utils.set_random_seed(0)
    with mock.patch.dict(_registry._REGISTRY):
        yield
    keras.config.set_dtype_policy("float32")


@pytest.fixture
def eagerly():
    """No graphs: tracing takes nearly all of the time of tests that train a few steps and look at what follows."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(0)
