import atexit
import gc
import os
import shutil
import tempfile
from unittest import mock

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

if "TFDS_DATA_DIR" not in os.environ:  # examples in docs prepare small data sets; not in the user's home
    os.environ["TFDS_DATA_DIR"] = tempfile.mkdtemp(prefix="keras_softsets_")
    atexit.register(shutil.rmtree, os.environ["TFDS_DATA_DIR"], ignore_errors=True)

import pytest

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
    "test_first_samples.py",
    "test_distributions.py",
    "test_how_to.py",
    "test_backups.py",
)


def pytest_collection_modifyitems(items):
    """The longest files first: each file goes to one pytest worker, and none should get them at the end."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


def pytest_collection_finish():
    """What importing has left lives to the end; looking through it again and again would only take time."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _thrift():
    import thrift

    thrift.spare()


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
def rng():
    import numpy as np

    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def trials():
    """Trials for the tests of the reproduction of the paper, which must not change them."""
    from paper_trials import two_trials

    return two_trials()
