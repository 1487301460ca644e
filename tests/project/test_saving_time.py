"""How the tests save time: what they turn off in TensorFlow, the quick core, and pairs instead of products."""

import itertools
import re
from pathlib import Path

import pytest
import tensorflow as tf
import thrift
from cases import paired

NAME = "_apply_debug_options"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    monkeypatch.setattr(tf.data.Dataset, NAME, getattr(tf.data.Dataset, NAME))


def test_thrift_can_be_turned_off(monkeypatch):
    original = lambda dataset: dataset
    monkeypatch.setattr(tf.data.Dataset, NAME, original)
    monkeypatch.setenv("KERAS_SOFTSETS_THRIFT", "0")
    thrift.spare()
    assert getattr(tf.data.Dataset, NAME) is original
    monkeypatch.setenv("KERAS_SOFTSETS_THRIFT", "1")
    thrift.spare()
    assert getattr(tf.data.Dataset, NAME) is not original


def test_a_renamed_function_is_a_warning_and_nothing_else(monkeypatch):
    for each in tf.data.Dataset.__mro__:
        if NAME in vars(each):
            monkeypatch.delattr(each, NAME)
    with pytest.warns(UserWarning, match=NAME):
        thrift.spare()
    assert not hasattr(tf.data.Dataset, NAME)


def test_the_quick_core_is_there():
    """`make quick` selects files by name; one that is renamed would silently be left out."""
    package = Path(__file__).parents[1] / "package"
    names = re.search(r"^QUICK = \((.*?)^\)", (package.parent / "conftest.py").read_text(), re.DOTALL | re.MULTILINE)[1]
    assert len(names.split()) > 5
    assert not [name for name in re.findall(r"test_\w+\.py", names) if not (package / name).exists()]


def test_all_pairs_are_in_what_is_not_slow():
    axes = (list("abcdefg"), [0, 1], [0.1, 0.2, 0.3])
    kept = [param.values for param in paired(*axes) if not param.marks]
    assert len(paired(*axes)) == 42
    assert len(kept) == 21
    for k, m in itertools.combinations(range(3), 2):
        assert {(values[k], values[m]) for values in kept} == set(itertools.product(axes[k], axes[m]))
